/** What scripts rely on: `-o json` puts JSON on stdout and nothing else, and closed streams end a command quietly. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadAll } from '#cli/run/command.ts'
import { commands } from '#src/program.ts'
import { receiver } from '#tests/http/receiver.ts'
import { aboutNewThing, goesOn, ofSharedStore } from './every-example.ts'
import { shell } from './process.ts'
import { exampleFolder, startTestCli, type TestCli, temporaryDirectory } from './test-cli.ts'

/** Every suite, a page under every condition and an app take long: qa, qa-hosts and gameday.test.ts have them. */
const instead: Readonly<Record<string, string>> = {
  'qa run': 'qa run sizes',
  'qa hosts': 'qa hosts --list',
  // The scenario of its first example would stay for those that follow.
  'sandbox scenario use': 'sandbox scenario use none',
  'sandbox gameday': 'sandbox gameday gameday.yaml --dry-run',
  // Those that write what a later command reads.
  'bundle create': 'bundle create --out turn.html --force',
  'config set': 'config set base_url http://127.0.0.1:4010 --profile local',
  'evidence export': 'evidence export evidence.jsonl --force',
  init: 'init node-server my-server --dry-run',
}
/** One example of each command that ends; commands.test.ts runs the others as they are written, contract-check.test.ts its own as JSON. */
const examples = (await loadAll(commands)).flatMap(({ command, path }) => {
  const example = instead[path] ?? command.examples[0]
  // tests/pages/creative-sheet.test.ts renders.
  const isElsewhere =
    path === 'contract check' || path === 'creatives sheet' || goesOn(command, path) || ofSharedStore.test(example)
  return isElsewhere ? [] : [[path, example] as const]
})

let cli: TestCli
/** The noun of the example before: each has a placement of its own. */
let last: string | undefined
let hook: Awaited<ReturnType<typeof receiver>>
beforeAll(async () => {
  cli = await startTestCli()
  hook = await receiver()
})
afterAll(async () => {
  await hook[Symbol.asyncDispose]()
  await cli[Symbol.asyncDispose]()
})

describe('-o json', () => {
  test.each(examples)('is all that svc %s puts on stdout', async (path, example) => {
    const noun = path.split(' ')[0]
    // Its file counts nothing for a day with one placement.
    if (path === 'beacons reconcile') {
      for (const line of ['reset', 'clock set now']) await cli.svc(`sandbox ${line}`)
      last = undefined
    }
    if (noun !== last) await cli.svc('placements create --format banner -q')
    last = noun
    if (path.startsWith('sandbox callbacks')) await cli.svc(`api jobs.create --callback-url ${hook.url} -q`)
    const line = await aboutNewThing(asJson(example), cli.sandbox.url)
    const { stdout, stderr, code } = await cli.svc(line, { cwd: exampleFolder(cli, path) })
    expect(code, `svc ${example}: ${stderr}${stdout}`).toBe(0)
    // An export is a file of JSON lines, whatever the format of answers; a turn prints a line when it makes a step.
    const documents = path === 'evidence export' || path === 'trigger' ? stdout.trimEnd().split('\n') : [stdout]
    for (const document of documents.filter((text) => text !== '')) {
      expect(() => JSON.parse(document), `svc ${example} printed ${document}`).not.toThrow()
    }
  })

  test('an error leaves stdout empty', async () => {
    const { stdout, stderr } = await cli.svc('api decisions.get slot_00000000001 -o json')
    expect(stdout).toBe('')
    expect(JSON.parse(stderr)).toMatchObject({ error: { category: 'service' } })
  })
})

/** tests/processes/streams.test.ts has every command. */
describe('as a process', () => {
  const elsewhere = () => ({ SVC_HOME: temporaryDirectory(), SVC_BASE_URL: cli.sandbox.url })

  test('closed streams neither hang nor crash it', async () => {
    const { code, stderr } = await shell(`"$@" placements create <&- >&-`, elsewhere())
    // It has no key there.
    expect(code, stderr).toBe(4)
    expect(stderr).not.toMatch(/\n {4}at |bug of svc|EBADF/)
  })

  test('a config file that is a pipe is read once by each command', async () => {
    for (const command of ['config list', 'config validate', 'config get base_url']) {
      const script = `echo '{"client_id":"proj_demo"}' | "$@" --config /dev/stdin ${command} 2>&1`
      expect(await shell(script, elsewhere()), command).toEqual({ code: 0, stderr: '' })
    }
  })

  test('a reader that closes the pipe ends a list silently', async () => {
    const { code, stderr } = await shell(`"$@" requests list --limit 1000 | head -c 1`, elsewhere())
    // A busy machine takes the second after which a command notes that it waits.
    expect({ code, stderr: stderr.replace(/^.*: waiting for the response\n/m, '') }).toEqual({ code: 0, stderr: '' })
  })
})

function asJson(example: string): string {
  return /(^| )-o /.test(example) ? example.replace(/(^| )-o \S+/, '$1-o json') : `${example} -o json`
}
