/** Every command that prints tables, in terminals of three widths: no line is wider, and no identifier is cut. */
import { stripVTControlCharacters } from 'node:util'
import stringWidth from 'string-width'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadAll } from '#cli/run/command.ts'
import { commands } from '#src/program.ts'
import { keptStream, startTestCli, type TestCli } from './test-cli.ts'

let cli: TestCli
beforeAll(async () => {
  cli = await startTestCli()
  await cli.svc('trigger clip -q -o none')
  await cli.svc('trigger rejected -q -o none')
  await cli.svc('placements create --no-fill -o none')
  await cli.svc('placements create --session-id 茶と珈琲の長い名前 --format banner --topic coffee -o none')
  await cli.svc(
    'api consent.set --session-id 茶と珈琲 --decision granted --set purposes.semantic_targeting=true -o none',
  )
  await cli.svc('sandbox faults add --path /v1/never/茶と珈琲/and/a/long/path/that/no/terminal/has/room/for -o none')
  await cli.svc('sandbox snapshot save before-launch -o none')
})
afterAll(() => cli[Symbol.asyncDispose]())

/** The command line of each command with a table; the command itself where it needs nothing. */
const lines: Readonly<Record<string, string>> = {
  trigger: 'trigger --list',
  // tests/pages/qa-hosts.test.ts opens pages.
  'qa hosts': 'qa hosts --list',
  'sandbox keys list': 'sandbox keys list proj_demo',
  // Their times are those of the system's clock, whose text has a width that depends on the day.
  'team audit': 'team audit --time ms',
  'sandbox snapshot list': 'sandbox snapshot list --time ms',
}
/** Take seconds, or send hundreds of requests: their tables are pinned in tests of their own. */
const leftOut = ['contract check', 'sandbox gameday']

/** Columns are as wide as their longest process, port or duration: what is measured and the room beside it say nothing. */
const measured = ['sandbox ps', 'requests list']
const steady = (table: string) =>
  table
    .replaceAll(/\S*…|\/v1\/render\/\S+/g, '…')
    .replaceAll(/\b127\.0\.0\.1:\d+/g, '127.0.0.1:#')
    .replaceAll(/\b\d+(?:\.\d+)?(?= +(?:req_|ready))/g, '#')
    .replaceAll(/ {2,}/g, '  ')

/** Sessions, which other files of a run count too, hashes over them, ports, sizes, and times of the system's clock. */
const varying = /sess_\d{12}|\b[0-9a-f]{16,64}…?|127\.0\.0\.1:\d+|\b\d+(?:\.\d)? [kM]B\b|\b\d{13}\b/g
const masked = (text: string) => '#'.repeat(text.length)

/** The first rows of a long table: the others are laid out by the same columns. */
function showHead(table: string): string {
  const lines = table.split('\n')
  return lines.length <= 15 ? table : [...lines.slice(0, 12), `(${lines.length - 12} more lines)`, ''].join('\n')
}

/** Returns what a command line shows in a terminal of this width. */
async function inTerminal(columns: number, line: string): Promise<string> {
  const terminal = { ...keptStream(true), columns, rows: 50 }
  const system = { stdout: terminal, stderr: terminal, isRunning: () => true }
  await cli.svc(line, { system, env: { SVC_PAGER: '' } })
  return terminal.text
}

test('in terminals of 80, 100 and 200 columns every table fits; a note names what is left out', async () => {
  const paths = (await loadAll(commands))
    .filter(({ command, path }) => command.tables !== undefined && !leftOut.includes(path))
    .map(({ path }) => path)
  const widths = [80, 100, 200]
  const problems: string[] = []
  const pinned: string[] = []
  for (const path of paths) {
    let narrower = ''
    for (const columns of widths) {
      const table = stripVTControlCharacters(await inTerminal(columns, lines[path] ?? path))
      const wide = table.split('\n').filter((text) => stringWidth(text) > columns && !/https?:/.test(text))
      for (const text of wide) problems.push(`svc ${path} at ${columns}: ${text}`)
      const text = measured.includes(path) ? steady(table) : table.replaceAll(cli.home, '~').replaceAll(varying, masked)
      const shown = showHead(text)
      if (shown !== narrower) pinned.push(`$ svc ${path}, ${columns} columns`, shown)
      narrower = shown
    }
  }
  expect(problems).toEqual([])
  expect(paths.length).toBeGreaterThan(15)
  await expect(pinned.join('\n')).toMatchFileSnapshot('tables.txt')
})

test('as csv every table has a header, and lines of as many cells; as tsv too', async () => {
  const all = await loadAll(commands)
  const paths = all.filter(({ command }) => command.hasRows && command.arguments?.[0]?.required !== true)
  const problems: string[] = []
  let count = 0
  for (const { path } of paths.filter(({ path }) => !leftOut.includes(path))) {
    const { code, stdout, stderr } = await cli.svc(`${lines[path] ?? path} -o csv`)
    const rows = parseCsv(stdout)
    const header = rows[0] ?? []
    if (![0, 5].includes(code)) problems.push(`svc ${path}: ${stderr}`)
    if (header.some((name) => !/^[a-z][\w.]*$/i.test(name)) || rows.some(({ length }) => length !== header.length))
      problems.push(`svc ${path}: ${stdout.slice(0, 300)}`)
    count += Math.max(0, rows.length - 1)
  }
  expect(problems).toEqual([])
  expect(count).toBeGreaterThan(100)
  const { stdout } = await cli.svc('beacons list -o tsv --columns when,event,slot_id')
  expect(stdout.split('\n')[0]).toBe('received_at\tevent\tslot_id')
  expect((await cli.svc('beacons billing --session-id none -o csv')).stdout).toBe('')
})

test('csv is refused before anything is done by a command that prints no rows; from the environment it is text there', async () => {
  await using other = await startTestCli()
  const rowless = (await loadAll(commands)).filter(({ command }) => !command.hasRows)
  for (const { command, path } of rowless) {
    const words = command.examples[0].replace(/ -- .*| -o \S+/g, '')
    const { code, stderr } = await other.svc(`${words} -o csv`)
    expect([path, code, stderr]).toEqual([path, 2, expect.stringMatching(/prints no rows|^error: Option '-o/)])
  }
  expect(rowless.length).toBeGreaterThan(40)
  expect((await other.svc('team tokens list')).stdout).toBe('')
  const made = await other.svc('placements create', { env: { SVC_OUTPUT: 'csv' } })
  expect([made.code, made.stdout]).toEqual([0, expect.stringContaining('status       ready, fill')])
})

/** Reads lines as RFC 4180 defines them. */
function parseCsv(text: string): string[][] {
  const rows: string[][] = []
  let row: string[] = []
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^,"\r\n]*))(,|\r\n)/g)) {
    row.push(quoted === undefined ? (plain ?? '') : quoted.replaceAll('""', '"'))
    if (end === ',') continue
    rows.push(row)
    row = []
  }
  return rows
}

test('a list at 80 columns leaves out the least important, and --wide shows it', async () => {
  const stdout = { ...keptStream(true), columns: 50 }
  const stderr = keptStream(true)
  await cli.svc('beacons list', { system: { stdout, stderr }, env: { SVC_PAGER: '', NO_COLOR: '1' } })
  expect(stdout.text.split('\n')[0]).toMatch(/^when +event +slot +verdict +reason$|^when +event .*slot/)
  expect(stderr.text).toContain('All columns: --wide')
  const wide = { ...keptStream(true), columns: 50 }
  await cli.svc('beacons list --wide', { system: { stdout: wide }, env: { SVC_PAGER: '', NO_COLOR: '1' } })
  expect(wide.text.split('\n')[0]).toMatch(/^when +event +format +slot +verdict +reason +bills +metric$/)
  expect(wide.text).not.toContain('…')
})

test('where several tables are printed, the note names the one that lacks columns', async () => {
  const printed = async (columns: number) => {
    const stderr = keptStream(true)
    const stdout = { ...keptStream(true), columns }
    await cli.svc('beacons billing', { system: { stdout, stderr }, env: { SVC_PAGER: '', NO_COLOR: '1' } })
    const note = stderr.text.trimEnd().replaceAll('\n  ', ' ').split('\n')[0]
    return { note, heads: stdout.text.split('\n').filter((line) => /^(project|format) /.test(line)) }
  }
  const { note, heads } = await printed(60)
  expect(heads.map((head) => head.split(/ {2,}/))).toEqual([
    ['format', 'metric', 'count', 'price CPM', 'amount'],
    ['project', 'model', 'billed', 'total', 'publisher', 'currency'],
  ])
  expect(note).toBe('Not shown in table 1: project, publisher, currency. All columns: --wide')
  expect((await printed(40)).note).toBe(
    'Not shown in table 1: project, publisher, currency; in table 2: model, publisher. All columns: --wide',
  )
})

test('a list without pages names no cursor; one with a next page does', { tags: 'depth' }, async () => {
  const readStderr = async (line: string) => {
    const stderr = keptStream(true)
    await cli.svc(line, { system: { stdout: keptStream(true), stderr }, env: { SVC_PAGER: '', NO_COLOR: '1' } })
    return stderr.text
  }
  for (const list of ['tokens', 'audit', 'namespaces', 'callbacks'])
    expect(await readStderr(`${list} list`)).not.toContain('--cursor')
  expect(await readStderr('beacons list --limit 2')).toMatch(/^More: --cursor \S{8,}$/m)
  await using other = await startTestCli()
  for (let count = 0; count < 51; count++) await other.svc('placements create')
  const cut = /^Only 50 are listed\. More: --limit N, or --cursor \S{8,}\n$/
  for (const line of ['placements list', 'placements list -o jsonl', 'requests list --jq .items[0].at_ms'])
    expect((await other.svc(line)).stderr, line).toMatch(cut)
  for (const line of ['placements list --limit 2', 'placements list -o json', 'placements list -q'])
    expect((await other.svc(line)).stderr, line).toBe('')
})

test('of several tables --columns takes those that have such a column, and an unknown name lists what there is', {
  tags: 'depth',
}, async () => {
  const { stdout } = await cli.svc('beacons billing --columns metric,count')
  expect(stdout).toMatch(/^metric +count\n[\s\S]*\n\nbilled\n/)
  expect(stdout).not.toMatch(/currency|project/)
  expect((await cli.svc('placements funnel --columns format,billable')).stdout).toMatch(/^format +billable$/m)
  const wrong = await cli.svc('explain --columns colour')
  expect(wrong).toMatchObject({ code: 2, stdout: '' })
  expect(wrong.stderr).toContain('campaign, outcome')
  expect((await cli.svc('qa list --columns needs')).stderr).toContain('No table here has these columns.')
})
