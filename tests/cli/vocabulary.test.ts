/** One vocabulary: what one flag takes, every flag of its kind takes, and what lists print is accepted as input. */
import type { Option } from 'commander'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadAll } from '#cli/run/command.ts'
import { startBlock } from '#commands/sandbox/start-block.ts'
import { commands } from '#src/program.ts'
import { plainStyle } from '#text/terminal.ts'
import { startTestCli, type TestCli } from './test-cli.ts'

let cli: TestCli
beforeAll(async () => {
  cli = await startTestCli()
})
afterAll(() => cli?.[Symbol.asyncDispose]())

/** Every flag of every command, with its command. */
async function flags(): Promise<{ path: string; option: Option }[]> {
  const all = await loadAll(commands)
  return all.flatMap(({ path, command }) => (command.options ?? []).map((option) => ({ path, option })))
}

function isTaken(option: Option, text: string): boolean {
  try {
    read(option, text)
    return true
  } catch {
    return false
  }
}

const read = (option: Option, text: string) => option.parseArg!(text, undefined as never)

test('every flag for a span takes 2s and 2000, which mean the same', async () => {
  const spans = (await flags()).filter(
    ({ option }) =>
      option.parseArg !== undefined &&
      (/<(ms|span)>/.test(option.flags) || /-ms\b/.test(option.long ?? '')) &&
      !/-(at|to|from)-ms$|since|until/.test(option.long ?? ''),
  )
  expect(spans.map(({ option }) => option.long)).toEqual(
    expect.arrayContaining([
      '--wait-ms',
      '--decision-latency',
      '--drain',
      '--for',
      '--timeout',
      '--heartbeat-interval-ms',
    ]),
  )
  for (const { path, option } of spans) {
    // Some have a range.
    const span_s = [2, 10, 600].find((each) => isTaken(option, String(each * 1_000)))!
    const both = [`${span_s}s`, String(span_s * 1_000)].map((text) => read(option, text))
    expect([path, option.long, ...both]).toEqual([path, option.long, span_s * 1_000, span_s * 1_000])
  }
})

test('every --since and --until takes a day, a time as lists print it, a span and milliseconds', async () => {
  const starts = (await flags()).filter(({ option }) => ['--since', '--until'].includes(option.long ?? ''))
  expect(starts.length).toBeGreaterThan(8)
  for (const { path, option } of starts) {
    const day_ms = Date.parse('2026-11-26')
    for (const text of ['2026-11-26', '2026-11-26T00:00:00.000Z', String(day_ms)]) {
      expect([path, text, String(read(option, text))]).toEqual([path, text, String(day_ms)])
    }
  }
})

test('siblings take the same flags; old spellings stay', async () => {
  const asked = await cli.svc('placements create --wait-ms 1s --slots-requested 2 --test-outcome no_fill -o json')
  expect(JSON.parse(asked.stdout)).toMatchObject({ decision: { no_fill_reason: 'test_forced' } })
  expect((await cli.svc('placements create --wait 1000 -q -o none')).code).toBe(0)
  expect((await cli.svc('api decisions.get --wait-ms 1s -q -o none')).code).toBe(0)
  expect((await cli.svc('requests list --since 2026-01-31 -o none')).code).toBe(0)
  const advanced = await cli.svc('sandbox clock advance 31 -o json')
  const { now_ms } = JSON.parse(advanced.stdout) as { now_ms: number }
  expect(JSON.parse((await cli.svc(`sandbox clock set ${now_ms + 1} -o json`)).stdout)).toMatchObject({
    now_ms: now_ms + 1,
  })
})

test('what commands print leads on: a request to its slot, a start to its settings, a key to its only time', async () => {
  const { stdout } = await cli.svc('placements create -o json')
  const { slot_id } = JSON.parse(stdout) as { slot_id: string }
  const newest = await cli.svc('requests list --limit 1 -o jsonl')
  const { request_id } = JSON.parse(newest.stdout) as { request_id: string }
  const explained = await cli.svc(`explain ${request_id} -o json`)
  expect(JSON.parse(explained.stdout)).toMatchObject({ slot_id })
  expect((await cli.svc('sandbox keys create -o json')).stderr).toContain('The key is shown only now')
  expect(await cli.svc('open foo')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('has the identifier "foo"'),
  })
  expect((await cli.svc(`open ${slot_id}`)).code).toBe(0)
  const page = await cli.svc('docs key_class')
  expect(page.stdout).toMatch(/^http\S+\n\nkey_class\n/)
  const chosen = { rate_limit: '5/s', decision_latency: 400, scenario: 'slow' }
  const { url, inspector_url, database, pid, version, projects } = cli.sandbox
  const sandbox = { url, inspector_url, database, pid, version, projects }
  const lines = startBlock(sandbox, { command_name: 'svc', home: '', chosen }, plainStyle)
  expect(lines.map((line) => line.trim())).toEqual(
    expect.arrayContaining(['rate limit       5/s', 'decisions take   400 ms', 'scenario         slow']),
  )
})

test('a flag for yes or no never takes the argument after it', async () => {
  const { parseCommandLine } = await import('#cli/run/command-line.ts')
  const all = (await loadAll(commands)).filter(({ command }) => (command.arguments ?? []).length > 0)
  const pairs = all.flatMap(({ path, command }) =>
    (command.options ?? [])
      .filter(({ flags }) => flags.includes('[true|false]'))
      .map(({ long }) => ({ path, long: long! })),
  )
  expect(pairs.map(({ path, long }) => `${path} ${long}`)).toContain('sandbox snapshot save --replace')
  for (const { path, long } of pairs) {
    const parsed = await parseCommandLine(commands, [...path.split(' '), long, 'word'])
    expect([path, long, parsed]).toMatchObject([path, long, { kind: 'command', input: { args: ['word'] } }])
    const explicit = await parseCommandLine(commands, [...path.split(' '), long, 'false', 'word'])
    expect([path, long, explicit]).toMatchObject([path, long, { kind: 'command', input: { args: ['word'] } }])
  }
})

test('what svc prints as an address of this computer, --forward-to takes: a URL, a host with a port, a port', async () => {
  const option = (await flags()).find(({ option }) => option.long === '--forward-to')!.option
  for (const [text, address] of [
    ['8930', 'http://localhost:8930/'],
    ['localhost:8930', 'http://localhost:8930/'],
    ['http://127.0.0.1:8930/hook', 'http://127.0.0.1:8930/hook'],
  ] as const)
    expect(String(read(option, text))).toBe(address)
})
