/** Every command that prints tables, at three widths of a terminal: no line is wider, and no identifier is cut. */
import { stripVTControlCharacters } from 'node:util'
import stringWidth from 'string-width'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadAll } from '../../src/cli/run/command.ts'
import { commands } from '../../src/commands/index.ts'
import { keptStream, startTestCli, type TestCli } from './test-cli.ts'

let cli: TestCli
beforeAll(async () => {
  cli = await startTestCli()
  await cli.svc('trigger clip -q -o none')
  await cli.svc('trigger rejected -q -o none')
  await cli.svc('placements create --no-fill -o none')
  await cli.svc('placements create --session-id 茶と珈琲の長い名前 --format banner --topic coffee -o none')
  await cli.svc('consent set --session-id 茶と珈琲 --decision granted --set purposes.semantic_targeting=true -o none')
  await cli.svc('sandbox faults add --path /v1/never/茶と珈琲/and/a/long/path/that/no/terminal/has/room/for -o none')
  await cli.svc('sandbox snapshot save before-launch -o none')
})
afterAll(() => cli[Symbol.asyncDispose]())

/** The command line of each command with a table; the command itself where it needs nothing. */
const lines: Readonly<Record<string, string>> = { trigger: 'trigger --list', 'keys list': 'keys list proj_demo' }
/** Sends hundreds of requests, or needs more than one node or token: only their columns are looked at elsewhere. */
const leftOut = ['contract check']

/** Processes, ports and measured times are of any length. */
const varyingWidths = ['sandbox ps', 'requests find', 'requests list']

/** Sessions, which other files of a run count too, hashes over them, ports, sizes, and times of the system's clock. */
const varying =
  /sess_\d{12}|\b[0-9a-f]{16,64}…?|127\.0\.0\.1:\d+|\b\d+(?:\.\d+)? ?(?:kB|MB|bytes)\b|\b\d{6}\b|[A-Z][a-z]{2} \d\d \d\d:\d\d/g
const masked = (text: string) => '#'.repeat(text.length)

test('at 80, 100 and 200 columns every table fits; a note names what is left out', async () => {
  const tried: string[] = []
  const problems: string[] = []
  const pinned: string[] = []
  for (const { command, path } of await loadAll(commands)) {
    if (command.tables === undefined || leftOut.includes(path)) continue
    tried.push(path)
    for (const columns of [80, 100, 200]) {
      const stdout = { ...keptStream(true), columns }
      const stderr = { ...keptStream(true), columns }
      const line = `${lines[path] ?? path} --color always`
      await cli.svc(line, { host: { stdout, stderr }, env: { SVC_PAGER: '' } })
      const wide = stripVTControlCharacters(stdout.text)
        .split('\n')
        .filter((text) => stringWidth(text) > columns && !/https?:/.test(text))
      if (!varyingWidths.includes(path))
        pinned.push(
          `$ svc ${path}, ${columns} columns`,
          stripVTControlCharacters(stdout.text + stderr.text)
            .replaceAll(cli.home, '~')
            .replaceAll(varying, masked),
        )
      for (const text of wide) problems.push(`svc ${line} at ${columns}: ${text}`)
    }
  }
  expect(problems).toEqual([])
  expect(tried.length).toBeGreaterThan(15)
  await expect(pinned.join('\n')).toMatchFileSnapshot('tables.txt')
})

test('a list at 80 columns leaves out the least important, and --wide shows it', async () => {
  const stdout = { ...keptStream(true), columns: 50 }
  const stderr = keptStream(true)
  await cli.svc('beacons list', { host: { stdout, stderr }, env: { SVC_PAGER: '', NO_COLOR: '1' } })
  expect(stdout.text.split('\n')[0]).toMatch(/^when +event +slot +verdict +reason$|^when +event .*slot/)
  expect(stderr.text).toContain('All columns: --wide')
  const wide = { ...keptStream(true), columns: 50 }
  await cli.svc('beacons list --wide', { host: { stdout: wide }, env: { SVC_PAGER: '', NO_COLOR: '1' } })
  expect(wide.text.split('\n')[0]).toMatch(/^when +event +format +slot +verdict +reason +bills +metric$/)
  expect(wide.text).not.toContain('…')
})
