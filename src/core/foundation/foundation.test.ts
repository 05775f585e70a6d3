import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporaryDirectory } from '#tests/temporary.ts'
import { formatDuration, measuredTime, parseDuration, parseSince, sinceMs } from './duration.ts'
import { renameOver, replaceFile } from './file-system.ts'
import { escapeHtml } from './html.ts'
import { curlCommand, fillPath, isLoopback, pathPattern, retryAfterMs, withoutQuery } from './http.ts'
import { parseExactly } from './json/exact-numbers.ts'
import {
  isObject,
  nestsDeeper,
  parseAnyJson,
  parseJson,
  parseJsonObject,
  readableJson,
  setValue,
  valueAt,
  withoutValue,
  withValue,
} from './json.ts'
import { ownerOnly } from './permissions.ts'
import {
  mayHoldSecrets,
  redactSecrets,
  replaceSecrets,
  secretKind,
  shownCommand,
  withoutAssetTokens,
} from './redaction.ts'
import { isRefusedPort } from './refused-ports.ts'

test('a rename over a file that is open elsewhere is tried again, for a while; other failures are not', () => {
  const rename = (codes: string[]) => {
    let calls = 0
    const once = () => {
      const code = codes[calls++]
      if (code !== undefined) throw Object.assign(new Error(code), { code })
    }
    const run = () => {
      try {
        renameOver('a', 'b', once)
        return 'done'
      } catch (error) {
        return (error as Error).message
      }
    }
    return [run(), calls]
  }
  expect(rename(['EPERM', 'EBUSY', 'EACCES'])).toEqual(['done', 4])
  expect(rename(Array.from({ length: 20 }, () => 'EBUSY'))).toEqual(['EBUSY', 10])
  expect(rename(['ENOENT'])).toEqual(['ENOENT', 1])
})

test('a file is replaced as a whole; a failure keeps the old one and leaves nothing behind', () => {
  const directory = temporaryDirectory()
  const file = join(directory, 'deep/er/qa.html')
  replaceFile(file, 'old')
  replaceFile(file, 'new')
  expect(readFileSync(file, 'utf8')).toBe('new')
  expect(readdirSync(join(directory, 'deep/er'))).toEqual(['qa.html'])

  writeFileSync(join(directory, 'file'), 'old')
  expect(() => replaceFile(join(directory, 'deep'), 'over a directory')).toThrow()
  expect(() => replaceFile(join(directory, 'file/qa.html'), 'under a file')).toThrow()
  expect(readdirSync(directory)).toEqual(['deep', 'file'])
  expect(() => replaceFile('/proc/none/qa.html', 'where no directory can be made')).toThrow('ENOENT')
})

test('a file with keys is for its owner only, even if a crash left one behind that others could read', () => {
  const file = join(temporaryDirectory(), 'state/keys.json')
  replaceFile(file, '{}', ownerOnly)
  writeFileSync(`${file}.${process.pid}.new`, '', { mode: 0o644 })
  replaceFile(file, '{"key":1}', ownerOnly)
  const readMode = (path: string) => statSync(path).mode & 0o777
  expect([readMode(join(file, '..')), readMode(file)]).toEqual([0o700, 0o600])
})

describe('json', () => {
  test('text that is not JSON is undefined; null is a value', () => {
    expect([parseJson('{"a":1}'), parseJson('null'), parseJson('{')]).toEqual([{ a: 1 }, null, undefined])
    // Nesting is counted outside strings: 64 levels are read, as in bodies of the API, and a deeper text is none for any reader.
    const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
    const quoted = JSON.stringify({ a: '\\"['.repeat(1_000) })
    expect(
      [nested(64), quoted, '[],'.repeat(99), nested(65), nested(100_000)].map((text) => nestsDeeper(text)),
    ).toEqual([false, false, false, true, true])
    expect([parseJson(nested(64)), parseJson(quoted)]).toEqual([JSON.parse(nested(64)), JSON.parse(quoted)])
    for (const deep of [nested(65), nested(100_000), `[1234567890123456789,${nested(100_000)}]`])
      expect([parseJson(deep), parseExactly(deep)]).toEqual([undefined, undefined])
    // Only known fields are read of such a file.
    expect(parseAnyJson(`{"a":1,"b":${nested(100_000)}}`)).toMatchObject({ a: 1 })
    expect([parseJsonObject('{"a":1}'), parseJsonObject('[1]'), parseJsonObject('x')]).toEqual([{ a: 1 }, null, null])
  })

  test('an array and null are not objects', () => {
    expect([{}, [], null, 'a', undefined].map((value) => isObject(value))).toEqual([true, false, false, false, false])
  })
})

test('readable JSON hides nothing, and is the same value', () => {
  expect(readableJson('a\u202eb\u200bc\ufeff')).toBe('"a\\u202eb\\u200bc\\ufeff"')
  expect(readableJson('\u001b[31m\u009b')).toBe('"\\u001b[31m\\u009b"')
  for (const text of ['広告 "tea"\n', '\u2066x\u2069', '👩‍🚀']) expect(JSON.parse(readableJson(text))).toBe(text)
  expect(readableJson('👩‍🚀 می‌خواهم')).toBe('"👩‍🚀 می‌خواهم"')
})

test('a curl command hides nothing, and a shell reads it as the same bytes in any locale', () => {
  const body = '{\n\t\'a\\n\': "b\u202ec\u200bd\r\u009b\u2028\u{e0041}e\u00ad 👩‍🚀"\n}'
  const url = 'http://127.0.0.1/\u200f'
  const command = curlCommand({ method: 'POST', url, headers: { 'x-a': 'b\nc\u2066' }, body })
  expect(command.match(/(?![\n\t\u200d])[\p{C}\p{Zl}]/gu)).toBe(null)
  expect(command).toContain("$'http://127.0.0.1/\\xe2\\x80\\x8f'")
  const script = `curl() { printf '%s|' "$@"; }\n${command}`
  const read = execFileSync('bash', ['-c', script], { env: { ...process.env, LC_ALL: 'C' }, encoding: 'utf8' })
  expect(read.split('|')).toEqual(['-sS', '-X', 'POST', url, '-H', 'x-a: b\nc\u2066', '--data-raw', body, ''])
})

test('hidden characters in a JSON body are JSON escapes, which do not need bash', () => {
  const body = JSON.stringify({ "it's": 'b\u202ec\u2028\u{e0041}\u009b\\' })
  const command = curlCommand({ method: 'POST', url: 'http://127.0.0.1/', headers: {}, body })
  expect(command).toContain('b\\u202ec\\u2028\\udb40\\udc41\\u009b')
  const read = execFileSync('sh', ['-c', `curl() { printf '%s' "$6"; }\n${command}`], { encoding: 'utf8' })
  expect(parseJson(read)).toEqual(parseJson(body))
})

describe('paths into JSON', () => {
  const body = { decision: { assets: { title: 'Tea' } }, slot_ids: ['a', 'b'] }

  test('a value is found by names and numbers, own properties only', () => {
    expect(valueAt(body, 'decision.assets.title')).toBe('Tea')
    expect(valueAt(body, 'slot_ids.1')).toBe('b')
    expect(valueAt(body, '')).toBe(body)
    expect([valueAt(body, 'decision.none.title'), valueAt(body, 'constructor')]).toEqual([undefined, undefined])
  })

  test('a copy with or without one value leaves the original unchanged', () => {
    expect(withValue(body, 'decision.assets.title', 'Mate')).toEqual({
      ...body,
      decision: { assets: { title: 'Mate' } },
    })
    expect(withValue({}, 'list.0.name', 'x')).toEqual({ list: [{ name: 'x' }] })
    expect(withoutValue(body, 'slot_ids.0')).toEqual({ ...body, slot_ids: ['b'] })
    expect(withoutValue(body, 'toString')).toBe(body)
    expect(body.decision.assets.title).toBe('Tea')
  })

  test('a value is written in place; missing objects and arrays are created', () => {
    const target = {}
    expect(setValue(target, ['overrides', 'allowed_formats', '0'], 'clip')).toBe(true)
    expect(target).toEqual({ overrides: { allowed_formats: ['clip'] } })
    expect(setValue(target, ['overrides', 'allowed_formats', '7'], 'clip')).toBe(false)
  })

  test('a property named __proto__ is a property, not a prototype', () => {
    const target = {}
    setValue(target, ['__proto__', 'polluted'], true)
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
    expect(Object.keys(target)).toEqual(['__proto__'])
  })
})

describe('durations', () => {
  test('are read with their unit', () => {
    expect(['500ms', '90s', '31m', '2h', '7d', '1.5s'].map(parseDuration)).toEqual([
      500, 90_000, 1_860_000, 7_200_000, 604_800_000, 1_500,
    ])
    expect(['', '5', '5 s', '-5s', '5w'].map(parseDuration)).toEqual([null, null, null, null, null])
  })

  test('are written in their largest units', () => {
    expect([formatDuration(0), formatDuration(31 * 60_000), formatDuration(612_000_000, 2)]).toEqual([
      '0ms',
      '31m',
      '7d 2h',
    ])
    expect([measuredTime(412), measuredTime(1_240), measuredTime(123_000)]).toEqual(['412 ms', '1.24 s', '2 min 3 s'])
  })

  test('since is a time, or a span back from now', () => {
    expect(sinceMs(parseSince('10m')!, 1_000_000)).toBe(400_000)
    expect(sinceMs(parseSince('123')!, 1_000_000)).toBe(123)
    expect(parseSince('yesterday')).toBeNull()
  })
})

test('path templates are filled, routed and matched', () => {
  const template = '/v1/projects/{client_id}/config'
  expect(fillPath(template, { client_id: 'a/b' })).toBe('/v1/projects/a%2Fb/config')
  expect(pathPattern(template).exec('/v1/projects/proj_demo/config')?.groups).toEqual({ client_id: 'proj_demo' })
  expect(pathPattern('/v1/render.js').test('/v1/renderXjs')).toBe(false)
  expect(withoutQuery('/v1/x?wait_ms=1#a')).toBe('/v1/x')
})

test('HTML is escaped', () => {
  expect(escapeHtml(`<a href="x">Tom's & co</a>`)).toBe('&lt;a href=&quot;x&quot;&gt;Tom&#39;s &amp; co&lt;/a&gt;')
})

test('loopback has several names', () => {
  for (const host of ['localhost', 'LOCALHOST', 'app.localhost', '127.0.0.1', '127.8.0.1', '::1', '[::1]'])
    expect(isLoopback(host), host).toBe(true)
  for (const host of ['0.0.0.0', '127.evil.example', 'localhost.example.com', '10.0.0.1', ''])
    expect(isLoopback(host), host).toBe(false)
})

test('the ports that browsers refuse are those of the Fetch standard', () => {
  const { badPorts } = createRequire(import.meta.url)('undici/lib/web/fetch/constants.js') as { badPorts: string[] }
  const all = Array.from({ length: 65_536 }, (_, port) => String(port))
  expect(all.filter(isRefusedPort)).toEqual(badPorts)
})

test('keys and tokens are redacted anywhere in a text', () => {
  const token = `ast_${'0'.repeat(11)}_${'x'.repeat(43)}`
  expect(redactSecrets(`{"a":"\\n${token}","k":"sk_test_sandbox_demo"}`)).toBe(
    '{"a":"\\nast_00000000000_redacted","k":"sk_test_redacted"}',
  )
  expect(redactSecrets('t_ at_ nothing here')).toBe('t_ at_ nothing here')
  expect(redactSecrets(`x-api-key: sbx_${'x'.repeat(32)}, sbx_`)).toBe('x-api-key: sbx_redacted, sbx_')
  expect(replaceSecrets(`Bearer sk_live_a and ${token}`, ({ kind, mode }) => `$${kind}${mode ?? ''}`)).toBe(
    'Bearer $sklive and $ast',
  )
})

test('encoded keys and tokens are found however often they are encoded', () => {
  const secret = `at_${'0'.repeat(11)}_${'x'.repeat(43)}`
  const once = secret.replaceAll('_', '%5F')
  const escaped = secret.replaceAll('_', '\\u005f')
  const encoded = [once, once.replaceAll('%', '%25'), encodeURIComponent(encodeURIComponent(once)), escaped]
  encoded.push(secret.replace('t', '%74'), once.replaceAll('5', '%35'), escaped.replaceAll('\\', '\\\\'))
  for (const text of encoded) {
    expect(redactSecrets(`{"a":"${text}"}`), text).not.toMatch(/x{8}/)
    expect([mayHoldSecrets(text), secretKind(text)], text).toEqual([true, 'activation token'])
    const asset = text.replace(/^at|^a%74/, 'ast')
    expect([mayHoldSecrets(asset), withoutAssetTokens(asset)], asset).toEqual([true, 'ast_00000000000_redacted'])
  }
  expect(JSON.parse(redactSecrets('{"a":"%22sk%5Ftest%5Fabc%22"}'))).toEqual({ a: '%22sk_test_redacted%22' })
  expect(redactSecrets('100% of the 5%20 %5F')).toBe('100% of the 5%20 %5F')
})

test('a long row of escapes takes no longer to search than any other text', () => {
  // With its square it would take hours.
  const row = `%${'\\'.repeat(4_000_000)}`
  expect(redactSecrets(row) === row && secretKind(row) === null).toBe(true)
})

test('a secret is distinguished from words that look like one', () => {
  expect(secretKind('sk_live_a')).toBe('secret key')
  expect(secretKind('a sk_test_a, b')).toBe('secret key')
  expect(secretKind(`desk_test_${'a'.repeat(32)}`)).toBe('secret key')
  expect(secretKind(`bt_${'7'.repeat(11)}_${'x'.repeat(43)}`)).toBe('beacon token')
  expect(secretKind(`sbx_${'x'.repeat(32)}`)).toBe('control-plane token')
  for (const text of ['task_test_1', 'sk_test_redacted', 'sk_test_', 'pk_test_a', 'look_at_impressions_per_placement'])
    expect(secretKind(text), text).toBeNull()
  for (const text of [
    'format_combination_unsupported',
    ...['task_test_1', 'task_test_2', 'mask_live_region', '/assets/disk_test_suite.png', '{"a":"\\task_test_1"}'],
    ...['task_test_regression_suite', 'desk_test_v2_regression_1', 'risk_live_monitoring-dashboard'],
  ])
    expect(redactSecrets(text), text).toBe(text)
  const cut: [string, string][] = [
    ...['"', '1', '_', '\\n', '\\u000a', '%0A', '\\u00e9', ' '].map((before): [string, string] => [
      before,
      'sk_test_a1',
    ]),
    ['de', `sk_test_${'a'.repeat(32)}`],
    ['', 'pk_live_a'],
  ]
  for (const [before, secret] of cut) {
    expect(redactSecrets(before + secret), before).toBe(`${before}${secret.slice(0, 8)}redacted`)
  }
})

test('a body whose only secret is an asset token in its field needs no closer look', () => {
  const asset_token = `ast_${'0'.repeat(11)}_${'x'.repeat(43)}`
  expect(mayHoldSecrets(JSON.stringify({ asset_token, occurred_at_ms: 1 }))).toBe(false)
  expect(mayHoldSecrets(JSON.stringify({ asset_token }, null, 1))).toBe(false)
  expect(mayHoldSecrets(JSON.stringify({ asset_token, beacon_id: asset_token }))).toBe(true)
})

test('Retry-After is seconds or a date', () => {
  const now_ms = Date.parse('Fri, 31 Dec 1999 23:59:50 GMT')
  expect(retryAfterMs('7', now_ms)).toBe(7_000)
  expect(retryAfterMs('Fri, 31 Dec 1999 23:59:59 GMT', now_ms)).toBe(9_000)
  expect(retryAfterMs('Fri, 31 Dec 1999 23:59:00 GMT', now_ms)).toBe(0)
  expect([retryAfterMs('soon', now_ms), retryAfterMs(null, now_ms), retryAfterMs(undefined, now_ms)]).toEqual([
    null,
    null,
    null,
  ])
})

test('a command is shown without the passwords of its URLs, even unencoded ones, and with ports and paths', () => {
  const shown = {
    'http://127.0.0.1:4010/x?u=a@b': null,
    'http://localhost:4010/users/a@b': null,
    'wss://[::1]:4010/x?u=a@b': null,
    'https://app/a:b@c npm@11': null,
    'http://app:3000?u=a@b': null,
    'http://u:3000?pw@h': 'http://u:***@h',
    'http://app:4010/?db=postgres://u:zq7@h': 'http://app:4010/?db=postgres://u:***@h',
    'postgres://u:zq7@h:5432/svc': 'postgres://u:***@h:5432/svc',
    'postgres://u:zq7/xk9@xk9@h:5432/svc': 'postgres://u:***@h:5432/svc',
    'postgres://u:12/34/56@h': 'postgres://u:***@h',
    'redis://:12?34@h': 'redis://:***@h',
    'http://u:12/34@h:80/': 'http://u:***@h:80/',
    'http://u:123456/7/8@h': 'http://u:***@h',
    'https://u:zq7@[::1]:80/': 'https://u:***@[::1]:80/',
  }
  for (const [word, expected] of Object.entries(shown)) expect(shownCommand([word])).toBe(expected ?? word)
})
