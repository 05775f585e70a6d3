/** `svc.observe.yaml`: what it accepts, plans and turns off, in the four commands that apply it. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { observeFileRules } from '#commands/qa/observe-file.ts'
import { matchesPattern } from '#diagnosis/observe-file/apply.ts'
import { observeFileSchema } from '#diagnosis/observe-file/observe-file.ts'
import { ask, beacon, call, frame, newSession, show, use, view } from '#tests/observe/integration.ts'
import { root } from './process.ts'
import { noon, startTestCli, type TestCli, temporaryDirectory } from './test-cli.ts'

let cli: TestCli
let folder: string
beforeAll(async () => {
  cli = await startTestCli()
  use({ url: cli.sandbox.url, ...cli.sandbox.keys }, noon)
})
afterAll(() => cli[Symbol.asyncDispose]())
beforeEach(async () => {
  folder = temporaryDirectory()
  await cli.svc('sandbox reset')
})

const file = () => join(folder, 'svc.observe.yaml')
const write = (text: string) => writeFileSync(file(), text)
const run = (args: string, cwd = folder) => cli.svc(args, { cwd })
const observe = (flags = '', cwd = folder) => run(`observe --since 10m ${flags}`, cwd)
/** A misspelt field: an error at a place that is the same in every run. */
const misspell = () => ask({ test_outcome: 'no_fill', sessionId: 'a' })
const accept = (until: string, where = 'POST /v1/placements sessionId is unknown', rule = 'observe/unknown-fields') =>
  `accept:\n  - rule: ${rule}\n    where: ${JSON.stringify(where)}\n    until: ${until}\n    why: The client is renamed in May.\n`
const later = '2026-05-01'

describe('the first file', () => {
  test('--accept-current accepts what is found and plans what is seen: the next run passes, and says so', async () => {
    await misspell()
    await show(await ask({ session_id: newSession(), slot_hint: { position: 'inline' } }))
    expect((await observe()).code).toBe(5)
    const first = await observe('--accept-current')
    expect({ code: first.code, stderr: first.stderr }).toEqual({
      code: 0,
      stderr: 'wrote svc.observe.yaml: it accepts 1 finding. Say why for each.\n',
    })
    expect(readFileSync(file(), 'utf8')).toBe(`\
# What is known, planned and off: svc docs qa-observe
accept:
  - rule: observe/unknown-fields
    where: "POST /v1/placements sessionId is unknown"
    until: 2026-05-01
    why: "found on 2026-01-31"
expect:
  - surface: chat
    format: banner
    position: inline
    events: [render, visible]
`)
    const { code, stdout } = await observe()
    expect({ code, stdout: stdout.split('\n').slice(-4) }).toEqual({
      code: 0,
      stdout: [
        'i svc.observe.yaml: 1 finding accepted (line 3), 0 rules off',
        '',
        expect.stringMatching(/^1 accepted, \d+ hold, \d+ not seen$/),
        '',
      ],
    })
    // Found from a folder below, as svc.config.json is.
    mkdirSync(join(folder, 'src'))
    expect((await observe('', join(folder, 'src'))).stdout).toContain('i ../svc.observe.yaml: 1 finding accepted')
  })

  test('is replaced only by --force, which keeps reasons, days and plans', async () => {
    await misspell()
    await show(await ask({ session_id: newSession() }))
    write(
      `${accept('2026-03-01')}expect:\n  - surface: chat\noff:\n  - rule: hosts/offline\n    why: No offline mode.\n`,
    )
    const before = readFileSync(file(), 'utf8')
    const { code, stderr } = await observe('--accept-current')
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr:
        'error: There is svc.observe.yaml already.\nhint: To replace it, with its reasons and days kept: --force\n',
    })
    expect(readFileSync(file(), 'utf8')).toBe(before)
    await call('POST', '/v1/placement', {})
    expect((await observe('--accept-current --force')).code).toBe(0)
    const text = readFileSync(file(), 'utf8')
    expect(text).toContain('until: 2026-03-01\n    why: "The client is renamed in May."')
    expect(text).toContain('where: "POST /v1/placement"')
    expect(text).toContain('expect:\n  - surface: chat\noff:\n  - rule: hosts/offline\n    why: "No offline mode."\n')
  })

  test('is not written from nothing, and an empty file turns no run green that looked at nothing', async () => {
    const nothing = 'Nothing was judged: observe saw no request of the app'
    const current = await observe('--accept-current')
    expect({ code: current.code, exists: () => readFileSync(file()) }.exists).toThrow('ENOENT')
    expect(current.stderr).toContain(nothing)
    for (const text of ['', '# nothing yet\n', 'accept: []\n', accept(later)]) {
      write(text)
      const { code, stderr } = await observe()
      expect([code, stderr]).toEqual([5, expect.stringContaining(nothing)])
    }
  })
})

test('a file that turns off every rule leaves nothing that could pass', async () => {
  await misspell()
  const rules = (await observeFileRules()).map((rule) => `  - rule: ${rule}\n    why: It is off.\n`)
  write(`off:\n${rules.join('')}`)
  const { code, stderr } = await observe()
  expect([code, stderr]).toEqual([5, expect.stringContaining('Nothing was judged: svc.observe.yaml turns off')])
  const check = await run('contract check --origin http://localhost:3000')
  expect([check.code, check.stderr]).toEqual([5, expect.stringContaining('none of 9 endpoints could be judged')])
})

describe('an entry', () => {
  test('accepts its finding alone: another field is found', async () => {
    await misspell()
    await ask({ test_outcome: 'no_fill', colour: 'red' })
    write(accept(later))
    const { code, stdout } = await observe()
    expect(code).toBe(5)
    expect(stdout).toContain('has colour, which the contract does not define')
    expect(stdout).not.toContain('has sessionId')
    write(accept(later, 'POST /v1/placements * is unknown'))
    expect((await observe()).code).toBe(0)
  })

  test('that is not found any more is a finding at its line, unless there was nothing to judge it by', async () => {
    await ask({ test_outcome: 'no_fill', session_id: newSession() })
    write(accept(later))
    const { code, stdout } = await observe()
    expect(code).toBe(5)
    expect(stdout).toContain(`\
svc.observe.yaml:2:5  error  accepted-gone  Not found any more: observe/unknown-fields at POST /v1/placements sessionId is unknown.
  fix: Remove the entry: what it accepts would come back unseen.
`)
    // No client met a 429.
    write(accept(later, 'POST /v1/placements', 'observe/retry-after-ignored'))
    expect((await observe()).code).toBe(0)
  })

  test('whose day has passed is a finding, and so is what it accepted', async () => {
    await misspell()
    write(accept('2026-01-31'))
    expect((await observe()).code).toBe(0)
    write(accept('2026-01-30'))
    const { code, stdout } = await observe()
    expect(code).toBe(5)
    expect(stdout).toContain('✗ error    unknown-fields')
    expect(stdout).toContain('accepted-expired  Accepted until 2026-01-30 only: observe/unknown-fields')
  })

  test('of off leaves its rule out, with the reason', async () => {
    await misspell()
    write('off:\n  - rule: observe/unknown-fields\n    why: A proxy adds fields.\n')
    const { code, stdout } = await observe('-o json')
    const { cases, observe_file } = JSON.parse(stdout)
    expect(code).toBe(0)
    expect(cases.find(({ id }: { id: string }) => id === 'observe/unknown-fields')).toMatchObject({
      outcome: 'not_applicable',
      reason: 'off by svc.observe.yaml:2: A proxy adds fields.',
      steps: [],
    })
    const entry = { rule: 'observe/unknown-fields', line: 2, why: 'A proxy adds fields.' }
    expect(observe_file).toEqual({ path: 'svc.observe.yaml', accepted: [], off: [entry] })
  })
})

test('placements that are planned and never seen, or seen and not planned, are findings', async () => {
  const answer = await ask({ session_id: newSession(), slot_hint: { position: 'sidebar' } })
  await frame(answer)
  await beacon(answer, 'render')
  await beacon(answer, 'visible', view())
  write(`expect:
  - { surface: chat, format: banner, position: sidebar, events: [render, visible, click] }
  - { surface: code }
`)
  const { code, stdout } = await observe()
  expect(code).toBe(5)
  expect(stdout).toContain(
    'svc.observe.yaml:2:5  error  planned-unseen  Planned, and no click of it was accepted: surface chat, format banner, position sidebar.',
  )
  expect(stdout).toContain('svc.observe.yaml:3:5  error  planned-unseen  Planned and never requested: surface code.')
  write('expect:\n  - { surface: chat, position: inline }\n')
  expect((await observe()).stdout).toContain(
    'unplanned-seen  Seen and not planned: surface chat, format banner, position sidebar.',
  )
  write('expect:\n  - { format: banner, events: [visible] }\n')
  expect((await observe()).code).toBe(0)
})

test.each([
  [
    'accept:\n  - rule: unknown-fields\n    where: a\n    until: 2026-05-01\n    why: b\n',
    '2:11: There is no rule unknown-fields. Did you mean observe/unknown-fields?',
  ],
  [
    'off:\n  - rule: observe/unknwon-fields\n    why: b\n',
    '2:11: There is no rule observe/unknwon-fields. Did you mean observe/unknown-fields?',
  ],
  ['acept: []\n', '1:1: Unknown field acept. Did you mean accept?'],
  [
    accept('2026-02-30'),
    '4:12: accept.0.until must be a day of the calendar, such as 2027-02-28. The last day on which it is accepted, UTC: 2027-02-28.',
  ],
  [accept(later).replace(/ {4}why.*\n/, ''), '2:5: accept.0.why is missing. Why, for the next reader of the file.'],
  ['expect:\n  - { format: baner }\n', '2:15: expect.0.format cannot be "baner". Did you mean banner?'],
  [
    'expect:\n  - { events: [render] }\n',
    '2:5: This placement has neither surface nor format nor position, so any would match it. For example: { surface: chat, format: banner }',
  ],
  ['accept: [\n', 'This is not YAML'],
])('a mistake is exit code 2 with its place and its fix, in each of the commands: %j', async (text, message) => {
  write(text)
  writeFileSync(join(folder, 'beacons.jsonl'), '{}\n')
  for (const command of ['observe --since 10m', 'qa hosts', 'beacons lint beacons.jsonl', 'contract check']) {
    const { code, stderr } = await run(command)
    expect([command, code]).toEqual([command, 2])
    expect(stderr).toContain(`error: svc.observe.yaml:`)
    expect(stderr).toContain(message)
  }
})

describe('the other commands', () => {
  const wrong =
    '{"beacon_id":"instance-1:render","asset_token":"ast_a","event":"render","occurred_at_ms":1769860800000,"colour":1}\n'

  test('beacons lint accepts at a field of a file, and knows nothing of entries about other files', async () => {
    writeFileSync(join(folder, 'beacons.jsonl'), wrong)
    const [{ code: rule }] = JSON.parse((await run('beacons lint beacons.jsonl -o json')).stdout).findings
    const entry = (where: string) => accept(later, where, `beacons-lint/${rule}`)
    write(entry('beacons.jsonl colour') + entry('other.jsonl colour').replace('accept:\n', ''))
    const { code, stderr, stdout } = await run('beacons lint beacons.jsonl')
    expect({ code, stderr, stdout }).toEqual({
      code: 0,
      stderr: 'svc.observe.yaml: 1 finding accepted (line 2), 0 rules off\n1 beacon: nothing wrong\n',
      stdout: '',
    })
    const { code: gone, stdout: text } = await (async () => {
      write(entry('beacons.jsonl shape'))
      return run('beacons lint beacons.jsonl')
    })()
    expect([gone, text]).toEqual([
      5,
      expect.stringMatching(/error {2}accepted-gone {2}Not found any more: beacons-lint/),
    ])
  })

  test('contract check accepts a fact of an endpoint, and leaves an endpoint out', async () => {
    const check = async (flags = '') => run(`contract check --origin http://localhost:3000 ${flags}`)
    write('off:\n  - rule: contract-check/beacons.send\n    why: Another team.\n')
    const left = JSON.parse((await check('-o json')).stdout)
    expect(left.observe_file.off).toEqual([{ rule: 'contract-check/beacons.send', line: 2, why: 'Another team.' }])
    expect(left.endpoints.find(({ endpoint }: { endpoint: string }) => endpoint === 'beacons.send')).toMatchObject({
      verdict: 'not checked',
      not_checked: expect.arrayContaining([{ check: 'all of it', why: 'Another team.' }]),
    })
    write(accept(later, 'response status', 'contract-check/placements.create'))
    const { code, stdout } = await check()
    expect([code, stdout]).toEqual([5, expect.stringContaining('accepted-gone')])
  })
})

test('reports say what is accepted, by which line: JSON, JUnit, SARIF, CTRF, Markdown, HTML', async () => {
  await misspell()
  write(accept(later))
  const names = { json: 'a.json', junit: 'a.xml', sarif: 'a.sarif', ctrf: 'a.ctrf', markdown: 'a.md', html: 'a.html' }
  const flags = Object.entries(names).map(([reporter, name]) => `--reporter ${reporter}=${name}`)
  expect((await observe(`-q ${flags.join(' ')}`)).code).toBe(0)
  const read = (name: string) => readFileSync(join(folder, name), 'utf8')
  const summary = 'svc.observe.yaml: 1 finding accepted (line 2), 0 rules off'
  for (const name of [names.junit, names.markdown, names.html]) expect(read(name)).toContain(summary)
  const entry = { line: 2, until: later, why: 'The client is renamed in May.', findings: 1 }
  expect(JSON.parse(read(names.json)).observe_file.accepted).toMatchObject([entry])
  expect(JSON.parse(read(names.ctrf)).results.environment.extra.observe_file.accepted).toMatchObject([entry])
  const { results } = JSON.parse(read(names.sarif)).runs[0]
  expect(results).toMatchObject([
    {
      ruleId: 'observe/unknown-fields',
      suppressions: [
        {
          kind: 'external',
          justification: `accepted by svc.observe.yaml:2 until ${later}: The client is renamed in May.`,
        },
      ],
    },
  ])
})

test('the first file of the guide accepts its finding, and finds the placement that is not there', async () => {
  const [, text = ''] = /```yaml\n(accept:.*?)```/s.exec(readFileSync(join(root, 'docs/guides/ci.md'), 'utf8')) ?? []
  expect(text.split('\n')).toHaveLength(11)
  write(text)
  await misspell()
  const { code, stdout } = await observe()
  expect([code, stdout]).toEqual([
    5,
    expect.stringContaining('planned-unseen  Planned and never requested: surface chat'),
  ])
  await show(await ask({ session_id: newSession() }))
  expect((await observe()).code).toBe(0)
})

test('the JSON schema for editors is the one that the package has, and names every rule', async () => {
  const rules = await observeFileRules()
  const published = JSON.parse(readFileSync(join(root, 'fixtures/svc.observe.schema.json'), 'utf8'))
  expect(published).toEqual(JSON.parse(JSON.stringify(observeFileSchema(rules))))
  expect(rules.filter((rule, index) => rules.indexOf(rule) !== index)).toEqual([])
})

test.each([
  ['a*c', 'abc', true],
  ['a*', 'a', true],
  ['*b', 'ab', true],
  ['a*a', 'a', false],
  ['a*b*c', 'a-b-c', true],
  ['a*b*c', 'a-c-b', false],
  ['abc', 'abcd', false],
])('the pattern %s of %s: %s', (pattern, text, expected) => {
  expect(matchesPattern(pattern, text)).toBe(expected)
})
