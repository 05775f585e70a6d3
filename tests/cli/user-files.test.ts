/** The text files that users give to commands: every command reads every encoding, and names what is wrong by its place. */
import { execFileSync, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadAll } from '#cli/run/command.ts'
import { commands } from '#src/program.ts'
import { noon, svc, temporaryDirectory } from './test-cli.ts'

const home = temporaryDirectory()
const run = (line: string) => svc(line, { env: { SVC_HOME: home }, cwd: home })

interface UserFile {
  /** With FILE for the name of the file. */
  line: string
  name: string
  text: string
  /** The exit code when the file is good. Null: it would go on with a browser or a server. */
  code: number | null
}

const beacon = { beacon_id: 'b:render', asset_token: 'ast_a', event: 'render', occurred_at_ms: noon }
const noService = '--base-url http://127.0.0.1:9'
const json = '{"session_id":"tea ☕"}'
const suite =
  '# tea ☕\nsuite: mine\ntitle: Mine\ncases:\n  - name: a case\n    steps:\n      - request: { method: GET, path: /healthz }\n'

const day =
  'gameday: tea ☕\nrate: 1\nlength: 2s\ntimeline: [{ fault: away, at: 0s, for: 1s }]\nexpect: { billed: 1 % }\n'

const read: Readonly<Record<string, UserFile>> = {
  'beacons lint <file>': { line: 'beacons lint FILE', name: 'b.json', text: JSON.stringify(beacon), code: 0 },
  '--compare-with <file>': {
    line: 'beacons lint good.json --compare-with FILE',
    name: 'last.json',
    text: '{"cases":[{"id":"tea ☕","outcome":"failed"}]}',
    code: 0,
  },
  '--config <file>': {
    line: '--config FILE config validate',
    name: 'c.json',
    text: '{"origin":"http://a.test"}',
    code: 0,
  },
  '--data <json>': {
    line: `placements create ${noService} --client-id proj_demo --secret-key sk_test_a --curl --data @FILE`,
    name: 'd.json',
    text: json,
    code: 0,
  },
  'qa validate [suites]': { line: 'qa validate FILE', name: 's.yaml', text: suite, code: 0 },
  'qa show <name>': { line: 'qa show FILE', name: 's.yaml', text: suite, code: 0 },
  'qa run [suites]': { line: 'qa run FILE', name: 's.yaml', text: suite, code: null },
  'qa list [suites]': { line: 'qa list FILE', name: 's.yaml', text: suite, code: 0 },
  'observe --steps <file>': {
    line: 'observe --url http://localhost:8 --steps FILE',
    name: 'steps.yaml',
    text: '- wait: 1',
    code: null,
  },
  'qa hosts --steps <file>': {
    line: 'qa hosts --url http://localhost:8 --steps FILE',
    name: 'steps.yaml',
    text: '- wait: 1',
    code: null,
  },
  'qa hosts --filter-list <file>': {
    line: 'qa hosts --url http://localhost:8 --filter-list FILE',
    name: 'list.txt',
    text: '||ads.test^',
    code: null,
  },
  'sandbox gameday [file]': { line: 'sandbox gameday FILE --dry-run', name: 'day.yaml', text: day, code: 0 },
  'sandbox gameday --steps <file>': {
    line: `sandbox gameday whole.yaml --url http://localhost:8 ${noService} --browser-path nowhere --steps FILE`,
    name: 'steps.yaml',
    text: '- wait: 1',
    code: null,
  },
  '--overrides <file>': {
    line: 'start --port 0 --ephemeral --overrides FILE',
    name: 'o.json',
    text: '{"source":"tea ☕","overrides":[]}',
    code: null,
  },
  '--demand <file>': {
    line: 'start --port 0 --ephemeral --demand FILE',
    name: 'd.yaml',
    text: '# tea ☕\ncampaigns: []\n',
    code: null,
  },
  'demand check [file]': { line: 'demand check FILE', name: 'd.yaml', text: '# tea ☕\ncampaigns: []\n', code: 5 },
  // It is refused, once it is read.
  'bundle import <file>': { line: 'bundle import FILE', name: 'i.html', text: '<p>tea ☕', code: 2 },
  '--tls-cert <file>': { line: 'start --tls-cert FILE --tls-key FILE', name: 'a.pem', text: 'x', code: null },
  '--tls-key <file>': { line: 'start --tls-cert FILE --tls-key FILE', name: 'a.pem', text: 'x', code: null },
}

/** Arguments and flags for files that are written, are no text, or are read as they are, and why. */
const notRead: Readonly<Record<string, string>> = {
  'beacons reconcile <file>': 'is read in other encodings too: src/judge/reconciliation/own-counts.test.ts',
  'sandbox export [file]': 'is written',
  'requests export [file]': 'is written',
  'sandbox import <file>': 'is an archive',
  'evidence export [file]': 'is written',
  'evidence export <file>': 'is written',
  'bundle create --out <file>': 'is written',
  'creatives sheet --out <file>': 'is written',
  'record --out <file>': 'is written',
  '--playback <file>': 'is a recording, which svc record writes',
  'evidence verify [file]': 'has a signature over each byte: tests/cli/evidence-forgeries.test.ts',
  '--write-overrides <file>': 'is written',
  'sandbox gameday --html <file>': 'is written',
  '--db <file>': 'is a database',
  '--browser-path <file>': 'is a program',
}

test('each argument and flag for a file is in one of the two tables', async () => {
  const all = await loadAll(commands)
  const given = all.flatMap(({ path, command }) => [
    ...(command.arguments ?? []).map(
      (argument) => `${path} ${argument.required ? `<${argument.name()}>` : `[${argument.name()}]`}`,
    ),
    ...(command.options ?? []).map(({ flags, long }) => `${path} ${long} ${/[<[].*/.exec(flags)?.[0] ?? ''}`),
  ])
  const files = given.filter((each) => /[<[](file|suite)s?[\]>]$/.test(each))
  const names = [...Object.keys(read), ...Object.keys(notRead)]
  expect(files.length).toBeGreaterThan(8)
  for (const file of files)
    expect(
      names.some((name) => file.endsWith(name)),
      file,
    ).toBe(true)
})

writeFileSync(join(home, 'whole.yaml'), day)
writeFileSync(join(home, 'good.json'), JSON.stringify(beacon))

const encodings: Readonly<Record<string, (text: string) => Buffer>> = {
  'UTF-8': (text) => Buffer.from(text),
  'UTF-8 with a byte order mark': (text) => Buffer.from(`\ufeff${text}`),
  'UTF-16 LE': (text) => Buffer.from(`\ufeff${text}`, 'utf16le'),
  'UTF-16 BE': (text) => Buffer.from(`\ufeff${text}`, 'utf16le').swap16(),
}

test.each(Object.entries(read))('%s reads every encoding, and names the first wrong byte', async (_, file) => {
  const { line, name, text, code } = file
  const command = line.replaceAll('FILE', name)
  const results = []
  for (const [encoding, encode] of Object.entries(encodings)) {
    writeFileSync(join(home, name), encode(text))
    if (code !== null) results.push({ encoding, ...(await run(command)) })
  }
  for (const result of results) expect(result).toMatchObject({ ...results[0], encoding: result.encoding, code })
  writeFileSync(join(home, name), Buffer.concat([Buffer.from('\n# a'), Buffer.from([0xe9])]))
  const { code: refused, stdout, stderr } = await run(command)
  expect(`${stdout}${stderr}`).toContain(name)
  expect(`${stdout}${stderr}`.replaceAll(/\s+/g, ' ')).toContain('at byte offset 4 (line 2)')
  expect(refused).toBe(2)
})

const finite = Object.entries(read).filter(([, { code }]) => code !== null)

// A config file that is a named pipe is refused: tests/cli/settings.test.ts. A shell's is in tests/cli/streams.test.ts.
test.each(finite.filter(([flag]) => !flag.startsWith('--config')))('%s reads a pipe, once', async (flag, file) => {
  const name = `pipe ${finite.findIndex(([each]) => each === flag)}.${file.name}`.replaceAll(' ', '-')
  execFileSync('mkfifo', [join(home, name)])
  writeFileSync(join(home, file.name), file.text)
  const plain = await run(file.line.replaceAll('FILE', file.name))
  const writer = spawn('sh', ['-c', 'cat "$1" > "$2"', 'sh', file.name, name], { cwd: home, stdio: 'ignore' })
  const piped = await run(file.line.replaceAll('FILE', name))
  writer.kill()
  expect(piped.code, piped.stderr).toBe(plain.code)
  expect(`${piped.stdout}${piped.stderr}`.replaceAll(name, file.name)).toBe(`${plain.stdout}${plain.stderr}`)
})

test.each([
  ['beacons lint -', '{"beacon_id":"b"'],
  [`placements create ${noService} --data -`, json],
])('stdin is read like a file: %s', async (line, text) => {
  const { code, stderr } = await svc(line, {
    env: { SVC_HOME: home },
    system: {
      stdin: (async function* () {
        yield Buffer.from(`${text}\xff`, 'latin1')
      })(),
    },
  })
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(`at byte offset ${text.length}`) })
})

test.each([
  [`placements create ${noService} --data @bad.json`, '--data: bad.json is not JSON. Line 2, column 6:'],
  ['--config bad.json config list', 'bad.json is not JSON. Line 2, column 6:'],
])('JSON that is malformed is named by its line and column: %s', async (line, message) => {
  writeFileSync(join(home, 'bad.json'), '{\n "a" 1}')
  expect(await run(line)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) })
})

test.each([
  ['a table', 'beacon_id,event\nb,render\n'],
  ['a page', '<!doctype html>\n<p>beacon</p>'],
  ['YAML', 'event: render\nbeacon_id: b\n'],
  ['another JSON', '{"name":"app","version":"1.0.0"}'],
  ['a list of other things', '[{"id":1},{"id":2}]'],
  ['numbers', '[1,2,3]'],
  ['a text', '"beacon"'],
  ['JSON lines of others', '{"level":30,"msg":"a"}\n{"level":30,"msg":"b"}\n'],
])('lint says of %s that it is not a file of beacons, and what it reads', async (_, text) => {
  writeFileSync(join(home, 'foreign'), text)
  const { code, stdout, stderr } = await run('beacons lint foreign')
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(/^error: foreign is not a file of beacons\.\nhint: .*JSON.*array.*JSON lines.*HAR/s)
})

test.each([
  ['spelled otherwise', '{"beaconId":"b"}'],
  ['empty', '{}'],
  ['one of them among others', '[{"id":1},{"event":"render"}]'],
  ['cut off', '{"beacon_id":'],
])('lint judges what may be beacons: %s', async (_, text) => {
  writeFileSync(join(home, 'own'), text)
  expect((await run('beacons lint own')).code).toBe(5)
})
