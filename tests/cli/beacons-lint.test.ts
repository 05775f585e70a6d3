/** `svc beacons lint`: what it finds and where, and that the service agrees. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { PlacementResponse } from '#contract/resources/placements.ts'
import { lintBeacons } from '#diagnosis/lint.ts'
import { noon, startTestCli, svc, temporaryDirectory } from './test-cli.ts'

const home = temporaryDirectory()
const seen = { visible_ratio: 1, visible_ms: 1_200, width_px: 300, height_px: 250, page_visible: true }
const render = { beacon_id: 'instance-1:render', asset_token: 'ast_a', event: 'render', occurred_at_ms: noon - 2_000 }
const visible = {
  ...render,
  beacon_id: 'instance-1:visible',
  event: 'visible',
  occurred_at_ms: noon,
  measurements: seen,
}

interface Found {
  line: number
  column: number
  severity: string
  code: string
  path: string | null
  message: string
  fix: string
}

const lint = (text: string, flags = '') => svc(`beacons lint - ${flags}`, { env: { SVC_HOME: home }, stdin: text })
const lines = (...bodies: unknown[]) => bodies.map((body) => `${JSON.stringify(body)}\n`).join('')
async function found(text: string, flags = ''): Promise<Found[]> {
  const { stdout } = await lint(text, `${flags} -o jsonl`)
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Found)
}
const codes = async (text: string, flags = '') => (await found(text, flags)).map(({ code }) => code)

test('a correct file has no findings, in every form', async () => {
  for (const text of [
    lines(render, visible),
    JSON.stringify([render, visible], null, 2),
    `\uFEFF${lines(render, visible)}`,
    `${lines(render, visible)}${' '.repeat(300_000)}`,
  ]) {
    expect(await lint(text)).toEqual({ code: 0, stdout: '', stderr: '2 beacons: nothing wrong\n' })
  }
  expect(await lint(JSON.stringify(render))).toMatchObject({ code: 0, stderr: '1 beacon: nothing wrong\n' })
})

test('each finding has its place, its code and what to do', async () => {
  const file = join(home, 'beacons.jsonl')
  const { beacon_id, ...rest } = visible
  const misspelt = { beaconId: beacon_id, ...rest, measurements: { ...seen, visibel_ms: 3 } }
  const text = lines(render, misspelt, { ...render, event: 'clicked', beacon_id: 'instance-1:click' })
  const column = (line: number, what: string) => text.split('\n')[line]!.indexOf(what) + 1
  writeFileSync(file, text)
  const result = await svc(`beacons lint beacons.jsonl`, { env: { SVC_HOME: home }, cwd: home })
  expect(result).toEqual({
    code: 5,
    stdout: `\
beacons.jsonl:2:2  error  field_unknown  beaconId is unknown.
  fix: Its name is beacon_id.
beacons.jsonl:2:${column(1, '"visibel_ms')}  error  field_unknown  measurements.visibel_ms is unknown.
  fix: Its name is visible_ms.
beacons.jsonl:3:${column(2, '"clicked')}  warning  event_spelling_deprecated  clicked is an old spelling, stored as click.
  fix: Send click.
`,
    stderr: '3 beacons: 2 errors, 1 warning\n',
  })
})

test('personal data in metadata is named by its field, never repeated', async () => {
  const metadata = { turn_id: 'm1', user: { email: 'ann@example.org' }, 'bob@example.org': 1 }
  const file = lines({ ...render, metadata })
  const results = await found(file)
  expect(results).toMatchObject([
    { severity: 'warning', path: 'metadata', message: 'metadata.[name] seems to contain an e-mail address.' },
    {
      column: file.indexOf('"ann@') + 1,
      path: 'metadata.user.email',
      message: 'metadata.user.email seems to contain an e-mail address.',
    },
  ])
  expect(results.map(({ code }) => code)).toEqual(['personal_data', 'personal_data'])
  expect(JSON.stringify(results)).not.toMatch(/ann@|bob@/)
})

test('warnings do not fail; with -o json stdout is one document', async () => {
  const { code, stdout } = await lint(lines(visible), '-o json')
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({
    ok: true,
    file: 'stdin',
    beacons: 1,
    summary: { error: 0, warning: 1 },
    findings: [{ line: 1, severity: 'warning', code: 'AWAITING_RENDER', path: 'event' }],
  })
})

test.each([
  ['a wrong type', { ...render, seq: 'one' }, 'schema_invalid', 'seq', 'Send seq as a number, not text: 0.'],
  [
    'a number as text',
    { ...visible, measurements: { visible_ratio: '0.7' } },
    'schema_invalid',
    'measurements.visible_ratio',
    'Send measurements.visible_ratio as a number, not text: 0.7.',
  ],
  [
    'an id that is a number',
    { ...render, beacon_id: 5 },
    'schema_invalid',
    'beacon_id',
    'Send beacon_id as text, not a number: "mount_1:render".',
  ],
  [
    'a percentage',
    { ...visible, measurements: { visible_ratio: 80 } },
    'schema_invalid',
    'measurements.visible_ratio',
    'Send a share from 0 to 1, not a percentage: 0.8.',
  ],
  ['a misspelt event', { ...render, event: 'visable' }, 'schema_invalid', 'event', 'Send visible.'],
  ['a name of another API', { ...render, beacon_type: 'x' }, 'field_unknown', 'beacon_type', 'Its name is event.'],
  [
    'a name of nothing',
    { ...render, colour: 'x' },
    'field_unknown',
    'colour',
    /^Leave it out, or put it into metadata/,
  ],
  [
    'a measurement outside',
    { ...render, visible_ms: 5 },
    'field_unknown',
    'visible_ms',
    'Its name is measurements.visible_ms.',
  ],
  ['seconds', { ...render, occurred_at_ms: noon / 1000 }, 'occurred_at_in_seconds', 'occurred_at_ms', /milliseconds/],
  [
    'two times that differ',
    { ...render, occurred_at: '2026-01-31T11:59:00Z' },
    'occurred_at_conflict',
    'occurred_at_ms',
    /one of them/,
  ],
  ['the future', { ...render, occurred_at_ms: noon + 60_001 }, 'beacon_in_future', 'occurred_at_ms', /ahead/],
  ['no time', { ...render, occurred_at_ms: undefined }, 'schema_invalid', null, /occurred_at/],
  ['a key', { ...render, asset_token: 'sk_test_secret' }, 'asset_token_invalid', 'asset_token', /asset_token/],
  [
    'another contract',
    { ...render, contract_version: 'a/v2' },
    'contract_version_unsupported',
    'contract_version',
    /v1/,
  ],
  ['too much', { ...render, metadata: { text: 'x'.repeat(9_000) } }, 'payload_too_large', null, /8192/],
  ['a batch', [render], 'batch_not_supported', null, /its own request/],
])('refused: %s', async (_, body, code, path, fix) => {
  const errors = await found(lines(render, body).replace('"render"', '"heartbeat"'))
  expect(errors).toHaveLength(1)
  expect(errors[0]).toMatchObject({ line: 2, severity: 'error', code, path })
  expect(errors[0]!.fix).toMatch(fix)
  expect(errors[0]!.message).not.toContain('sk_test')
})

test.each([
  ['below the bar', [{ ...visible, measurements: { ...seen, visible_ms: 900 } }], 'BELOW_THRESHOLD'],
  ['a pixel', [{ ...visible, measurements: { ...seen, width_px: 1, height_px: 1 } }], 'TOO_SMALL'],
  ['no check', [{ ...visible, measurements: { ...seen, visibility_check: 'none' } }], 'VISIBILITY_UNMEASURED'],
  ['a hidden page', [{ ...visible, measurements: { ...seen, page_visible: false } }], 'PAGE_HIDDEN'],
  ['twice the same beacon', [visible, visible], 'DUPLICATE'],
  ['twice the same event', [visible, { ...visible, beacon_id: 'instance-1:again' }], 'ALREADY_COUNTED'],
  ['no measurements', [{ ...visible, measurements: undefined }], 'VISIBILITY_UNMEASURED'],
  ['an impossible dwell', [{ ...visible, measurements: { ...seen, visible_ms: 90_000 } }], 'MEASUREMENT_IMPLAUSIBLE'],
  [
    'two times of different precision',
    [{ ...visible, occurred_at: '2026-01-31T11:59:59Z', occurred_at_ms: noon - 1 }],
    'occurred_at_ignored',
  ],
])('accepted and not billed, or not as written: %s', async (_, bodies, code) => {
  const warnings = await found(lines(render, ...bodies))
  expect(warnings.map(({ severity, code }) => ({ severity, code }))).toEqual([{ severity: 'warning', code }])
})

test('a clip is judged by its playback', async () => {
  const at = (event: string, ms: number, position_ms: number) => ({
    ...render,
    beacon_id: `instance-1:${event}:${ms}`,
    event,
    occurred_at_ms: noon - 20_000 + ms,
    measurements: { position_ms, duration_ms: 8_000 },
  })
  const first = { ...render, occurred_at_ms: noon - 20_000 }
  expect(await codes(lines(first, at('play_started', 0, 0), at('play_completed', 8_000, 8_000)))).toEqual([])
  expect(await codes(lines(first, at('play_started', 0, 0), at('play_completed', 2_000, 8_000)))).toEqual([
    'COMPLETED_TOO_FAST',
  ])
  expect(
    await codes(lines(first, at('play_started', 0, 0), at('heartbeat', 6_000, 6_000), at('heartbeat', 7_000, 2_000))),
  ).toEqual(['clip_out_of_order'])
  expect(await codes(lines(first, at('heartbeat', 6_000, 9_000)))).toEqual(['clip_out_of_order'])
  const ended = await found(
    lines({ ...first, occurred_at_ms: noon - 40_000 }, at('play_completed', 0, 8_000), at('play_started', 100, 0)),
  )
  expect(ended.map(({ message }) => message)).toContain('play_completed happened before play_started.')
})

test('one beacon_id with two bodies, and one token with two slots', async () => {
  const other = { ...visible, beacon_id: render.beacon_id }
  expect(await codes(lines(render, other))).toEqual(['beacon_id_conflict'])
  expect(await codes(lines(render, { ...other, asset_token: 'ast_b', event: 'heartbeat' }))).toEqual([])
  const slots = [
    { ...render, slot_id: 'slot_a' },
    { ...visible, slot_id: 'slot_b' },
  ]
  expect(await codes(lines(...slots))).toEqual(['slot_mismatch'])
})

test('only --now judges age', async () => {
  const old = lines({ ...render, occurred_at_ms: noon - 300_001 })
  expect(await codes(old)).toEqual([])
  expect(await codes(old, '--now now')).toEqual(['beacon_stale'])
  expect(await codes(old, `--now ${noon - 1}`)).toEqual([])
  expect(await codes(old, '--now 2026-01-31')).toEqual(['beacon_in_future'])
  expect(await svc('beacons lint - --now soon', { env: { SVC_HOME: home }, stdin: old })).toMatchObject({ code: 2 })
})

test('malformed JSON is reported where it breaks, and the other lines are still checked', async () => {
  expect(await found(`${lines(render)}{"beacon_id":"a",}\n${lines(visible)}`)).toMatchObject([
    { line: 2, column: 18, code: 'json_malformed', message: 'There is a comma before }: remove it.' },
  ])
  for (const [text, line, column] of [
    ['{"a":1,\n "b": tru }', 2, 7],
    ["{'a':1}", 1, 2],
    ['{"a":"x\n"}', 1, 6],
    ['[1,2', 1, 5],
    ['{} x', 1, 4],
    ['['.repeat(70), 1, 65],
  ] as const) {
    expect(await found(text), text).toMatchObject([{ line, column, code: 'json_malformed', severity: 'error' }])
  }
})

test('the beacon requests of a HAR file are judged at their own time', async () => {
  const request = (
    url: string,
    body: unknown,
    mimeType = 'application/json',
    startedDateTime = '2026-01-31T12:00:00Z',
  ) => ({
    startedDateTime,
    request: { method: 'POST', url, postData: { mimeType, text: JSON.stringify(body) } },
  })
  const url = 'https://api.test/v1/beacons'
  const har = (...entries: unknown[]) => JSON.stringify({ log: { entries } }, null, 1)
  expect(await codes(har(request(url, render), request('https://api.test/v1/jobs', {})))).toEqual([])
  expect(await codes(`\uFEFF${har(request(url, render))}`)).toEqual([])
  // Browsers note call stacks, and proxies bodies as base64.
  const [stack, late] = [
    '['.repeat(100_000) + ']'.repeat(100_000),
    request(url, visible, 'application/json', '2026-01-31T12:05:00.001Z'),
  ]
  const { postData } = late.request
  const encoded = { ...postData, encoding: 'base64', text: Buffer.from(postData.text).toString('base64') }
  for (const written of [postData, encoded]) {
    const entry = { _initiator: 'stack', ...late, request: { ...late.request, postData: written } }
    expect(await codes(har({}, entry).replace('"stack"', stack))).toEqual(['beacon_stale'])
  }
  const text = har(
    request(url, render, 'text/plain;charset=UTF-8'),
    request(url, visible, 'application/json', '2026-01-31T12:05:00.001Z'),
    request('https://api.test/public/browser/v1/beacons', {
      ...visible,
      beacon_id: 'instance-1:old',
      event: 'heartbeat',
    }),
  )
  const all = await found(text)
  expect(all.map(({ code }) => code)).toEqual(['content_type_unsupported', 'beacon_stale', 'route_deprecated'])
  expect(text.split('\n')[all[1]!.line - 1]).toContain('instance-1:visible')
  expect(await lint(har(request('https://api.test/v1/jobs', {})))).toMatchObject({ code: 5 })
})

test('no column counts the byte order mark', async () => {
  const { stdout } = await lint('\ufeff{"beacon_id":"b"}')
  expect(stdout).toMatch(/^stdin:1:14 {2}error {2}schema_invalid {2}beacon_id is malformed\./m)
})

test('an empty file, a missing file, and bytes that are not text', async () => {
  for (const empty of ['[]', '', ' \n\n']) {
    expect(await lint(empty)).toEqual({
      code: 5,
      stdout: '',
      stderr: 'error: There is no beacon in stdin.\nhint: It is empty.\n',
    })
  }
  expect((await svc('beacons lint nowhere.json', { env: { SVC_HOME: home }, cwd: home })).code).toBe(2)
  writeFileSync(join(home, 'bytes.json'), Buffer.from([0x22, 0xff, 0x22]))
  expect(await svc('beacons lint bytes.json', { env: { SVC_HOME: home }, cwd: home })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(
      'bytes.json cannot be read: it is not UTF-8: the byte 0xff is part of no character, at byte offset 1 (line 1).',
    ),
  })
})

test('the sandbox refuses what the lint refuses', async () => {
  await using cli = await startTestCli()
  const { stdout } = await cli.svc('placements create --format banner -o json')
  const { decision } = JSON.parse(stdout) as PlacementResponse
  const { asset_token } = decision as { asset_token: string }
  const bodies = [
    { ...visible, asset_token },
    { ...visible, asset_token, seq: 'x' },
    { ...visible, asset_token, beaconid: 'x' },
    { ...visible, asset_token, beacon_id: 'seconds-1', occurred_at_ms: noon / 1000 },
    { ...visible, asset_token, beacon_id: 'future-1', occurred_at_ms: noon + 90_000 },
    { ...visible, asset_token, beacon_id: 'version-1', contract_version: 'a/v9' },
    { ...visible, asset_token, beacon_id: visible.beacon_id, seq: 4 },
  ]
  const linted = await found(lines(...bodies), '--now now')
  for (const [index, body] of bodies.entries()) {
    const answer = await cli.svc(`beacons send --data '${JSON.stringify(body)}' -o json`)
    const { reason_code } = answer.code === 0 ? JSON.parse(answer.stdout) : JSON.parse(answer.stderr).error
    expect(linted.filter(({ line }) => line === index + 1).map(({ code }) => code)).toContain(reason_code)
  }
})

test('a turn with two asset tokens is named at its newest beacon, and a view that counts for both', async () => {
  const turn = { metadata: { turn_id: 'm1' } }
  const other = { asset_token: 'ast_b', ...turn }
  const second = [
    { ...render, beacon_id: 'instance-2:render', ...other },
    { ...visible, beacon_id: 'instance-2:visible', ...other },
  ]
  const text = lines({ ...render, ...turn }, { ...visible, ...turn }, ...second)
  expect(await found(text)).toMatchObject([
    { line: 3, severity: 'warning', code: 'turn-asked-again', path: 'metadata.turn_id' },
    {
      line: 4,
      severity: 'warning',
      code: 'counted-twice',
      path: 'metadata.turn_id',
      fix: expect.stringMatching(/^Ask once for a message/),
    },
  ])
  expect(await codes(lines({ ...render, ...turn }, second[0]))).toEqual(['turn-asked-again'])
  expect(await codes(lines({ ...render, ...turn }, { ...second[0], metadata: { turn_id: 'm2' } }))).toEqual([])
})

test.each([
  ['unknown fields', `{${Array.from({ length: 60_000 }, (_, index) => `"a${index}":1`).join()}}`],
  ['a name of a megabyte', `{"${'visible'.repeat(150_000)}":1}`],
  ['no values', `[${','.repeat(600_000)}]`],
  ['blanks before the end', `{"event":"render",${' '.repeat(600_000)}}`],
  ['strings that do not end', `[${'"'.repeat(400_000)}`],
])('the time for a large file grows with its size alone: %s', { tags: 'depth' }, (_, text) => {
  const { findings } = lintBeacons(text, { now_ms: 0, sent_at_ms: null })
  expect(findings.length).toBeGreaterThan(0)
})
