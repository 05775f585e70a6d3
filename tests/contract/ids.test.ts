import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  decodeId,
  decodeInteger,
  encodeId,
  encodeInteger,
  formatToken,
  type IdPrefix,
  parseToken,
} from '#contract/ids.ts'
import { redactSecrets } from '#foundation/redaction.ts'

const id = fc.oneof(fc.maxSafeNat(), fc.integer({ min: 0, max: 4096 }), fc.constant(Number.MAX_SAFE_INTEGER))
const prefix = fc.constantFrom<IdPrefix>('job', 'slot', 'req', 'key', 'ten', 'cns', 'ast', 'at', 'bt')

test('an identifier decodes to the integer it was made of', () => {
  fc.assert(fc.property(prefix, id, (kind, value) => decodeId(kind, encodeId(kind, value)) === value))
})

test('identifiers sort as their integers do', () => {
  fc.assert(
    fc.property(id, id, (a, b) => {
      const [textA, textB] = [encodeInteger(a), encodeInteger(b)]
      expect(textA < textB).toBe(a < b)
      expect(textA === textB).toBe(a === b)
    }),
  )
})

test('an identifier has one form on the wire', () => {
  expect(encodeId('slot', 7)).toBe('slot_00000000007')
  expect(encodeId('req', Number.MAX_SAFE_INTEGER)).toBe('req_7zzzzzzzzzz')
  fc.assert(fc.property(id, (value) => /^[0-9a-hjkmnp-tv-z]{11}$/.test(encodeInteger(value))))
})

test.each([
  ['another kind', 'job_00000000007'],
  ['no prefix', '00000000007'],
  ['too short', 'slot_7'],
  ['too long', 'slot_000000000007'],
  ['upper case', 'slot_0000000000A'],
  ['a letter outside the alphabet', 'slot_0000000000u'],
  ['more than 53 bits', 'slot_80000000000'],
  ['nothing', ''],
])('not an identifier: %s', (_, text) => {
  expect(decodeId('slot', text)).toBeNull()
})

test('any text decodes to null or encodes back to itself', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 14 }), (text) => {
      const value = decodeInteger(text)
      return value === null || encodeInteger(value) === text
    }),
  )
})

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
