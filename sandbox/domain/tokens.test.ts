import fc from 'fast-check'
import { expect, test } from 'vitest'
import { redactSecrets } from '../../src/foundation/redaction.ts'
import { formatToken, parseToken } from './tokens.ts'

const secret = fc.stringMatching(/^[A-Za-z0-9_-]{43}$/)
const token = fc
  .tuple(
    fc.constantFrom('ast' as const, 'at' as const, 'bt' as const),
    fc.nat({ max: Number.MAX_SAFE_INTEGER }),
    secret,
  )
  .map(([kind, id, text]) => formatToken(kind, id, text))

test('a token is parsed as it was formatted', () => {
  fc.assert(
    fc.property(fc.nat({ max: Number.MAX_SAFE_INTEGER }), secret, (id, text) => {
      expect(parseToken(formatToken('at', id, text))).toEqual({ kind: 'at', id, secret: text })
    }),
  )
})

test('no secret of a token survives, wherever it is', () => {
  const noise = fc.constantFrom('', ' ', '"', 't_', 'format_', 'ast_', 'a\nb', '\\n', 'client_id":"', 'a')
  fc.assert(
    fc.property(fc.array(fc.tuple(noise, token), { maxLength: 6 }), noise, (parts, end) => {
      const text = parts.map(([before, inner]) => `${before}${inner} `).join('') + end
      const redacted = redactSecrets(text)
      for (const [, inner] of parts) expect(redacted).not.toContain(inner.slice(-43))
      const simple = text.replace(/((?:ast|at|bt)_[0-9a-z]{11}_)[A-Za-z0-9_-]{43}/g, '$1redacted')
      expect(redacted).toBe(simple)
    }),
  )
})

test('keys are cut to their prefix; other text is unchanged', () => {
  expect(redactSecrets('{"k":"sk_test_sandbox_demo","p":"pk_live_x"}')).toBe(
    '{"k":"sk_test_redacted","p":"pk_live_redacted"}',
  )
  expect(redactSecrets('first_name, at_ms, ast_, t_')).toBe('first_name, at_ms, ast_, t_')
})
