/**
 * What scripts rely on, for every command there is: `-o json` puts JSON on stdout and nothing else, and a command whose
 * streams are closed neither waits for anyone nor falls over.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type Command, loadAll } from '#cli/run/command.ts'
import { exitCodes } from '#cli/run/errors.ts'
import { writeLocator } from '#cli/settings/state-directory.ts'
import { commands } from '#src/program.ts'
import { receiver } from '#tests/http/receiver.ts'
import { aboutNewThing, ofSharedStore } from './every-example.ts'
import { root, spawnSvc } from './process.ts'
import { exampleFolder, noon, startTestCli, type TestCli, temporaryDirectory } from './test-cli.ts'

/** Commands that go on until they are stopped, and the first line of what they print. */
const endless = new Set(['start', 'stream', 'tail', 'logs', 'observe', 'listen', 'record'])
/** Every suite takes a while: tests/cli/qa.test.ts runs them. */
const wholeRun = 'qa run --fresh'
const short: Readonly<Record<string, string>> = { 'qa run': 'qa run formats', 'qa hosts': 'qa hosts --list' }
/** Exit codes of commands that end by themselves; 1 would be a bug. */
const known = Object.values(exitCodes).flatMap(({ exit_code }) => (exit_code === 1 ? [] : [exit_code]))

let cli: TestCli
const found: { command: Command; path: string }[] = []

beforeAll(async () => {
  cli = await startTestCli()
  found.push(...(await loadAll(commands)))
})
afterAll(async () => {
  await cli[Symbol.asyncDispose]()
})

describe('-o json', () => {
  test('puts JSON on stdout and nothing else, whatever the command', async () => {
    await using hook = await receiver()
    let checked = 0
    for (const { command, path } of found) {
      if (isEndless(command, path)) continue
      const cwd = exampleFolder(cli, path)
      for (const example of command.examples) {
        // Those that ask for JSON themselves are run by tests/cli/commands.test.ts.
        if (example === wholeRun || example.includes('-o json')) continue
        if (ofSharedStore.test(example)) continue
        // A page under every condition takes a minute: tests/pages/qa-hosts.test.ts runs them.
        if (path === 'qa hosts' && example !== 'qa hosts --list') continue
        // An app has to run: tests/cli/gameday.test.ts has one.
        if (path === 'sandbox gameday' && !example.includes('--plan')) continue
        // It judges what the other examples sent: a frame without a beacon is a problem after some seconds.
        if (path === 'doctor') {
          await cli.svc('sandbox reset')
          const headers = { authorization: 'Bearer sk_test_sandbox_demo', 'user-agent': 'app' }
          await fetch(`${cli.sandbox.url}/v1/projects/proj_demo/config`, { headers })
        }
        await cli.svc('placements create --format banner -q')
        if (path.startsWith('callbacks')) await cli.svc(`jobs create --callback-url ${hook.url} -q`)
        const line = await aboutNewThing(asJson(example), cli.sandbox.url)
        const { stdout, stderr, code } = await cli.svc(line, { cwd })
        expect(code, `svc ${example}: ${stderr}${stdout}`).toBe(0)
        // An export is a file of JSON lines, whatever the format of answers; a turn prints a line when it makes a step.
        const documents = path === 'evidence export' || path === 'trigger' ? stdout.trimEnd().split('\n') : [stdout]
        for (const document of documents.filter((text) => text !== '')) {
          expect(() => JSON.parse(document), `svc ${example} printed ${document}`).not.toThrow()
        }
      }
      checked++
    }
    expect(checked).toBeGreaterThan(60)
  })

  test('an error leaves stdout empty', async () => {
    const { stdout, stderr } = await cli.svc('decisions get slot_00000000001 -o json')
    expect(stdout).toBe('')
    expect(JSON.parse(stderr)).toMatchObject({ error: { category: 'service' } })
  })
})

describe('closed streams', () => {
  test('no command hangs or crashes with stdin and stdout closed', { timeout: 60_000 }, async () => {
    const home = temporaryDirectory()
    await writeLocator(home, { ...cli.sandbox, projects: cli.sandbox.projects, started_at_ms: noon })
    const paths = found.flatMap(({ command, path }) => (isEndless(command, path) ? [] : [short[path] ?? path]))
    const script = join(import.meta.dirname, 'every-command.ts')
    const { code, stderr } = await shell(`"$@" <&- >&-`, { SVC_HOME: home }, [script, JSON.stringify(paths)])
    const parts = stderr.split('\u0000')
    const ended = parts.flatMap((text, index) =>
      index % 2 === 0 ? [] : [{ ...JSON.parse(text), stderr: parts[index - 1]! }],
    )
    expect(
      ended.map(({ path }) => path),
      `the one after the last hung or crashed: ${parts.at(-1)}`,
    ).toEqual(paths)
    expect(code).toBe(ended.at(-1)?.code)
    for (const { path, code, stderr } of ended) {
      expect(known, `svc ${path} ended with ${code}: ${stderr}`).toContain(code)
      expect(stderr, `svc ${path}`).not.toMatch(/\n {4}at |bug of svc|EBADF/)
    }
  })

  test.each(['health', 'beacons list', 'placements create', 'doctor'])('as a process of its own: %s', async (path) => {
    const env = { SVC_HOME: temporaryDirectory(), SVC_BASE_URL: cli.sandbox.url }
    const { code, stderr } = await shell(`"$@" ${path} <&- >&-`, env)
    expect(known, stderr).toContain(code)
    expect(stderr).not.toMatch(/\n {4}at |bug of svc|EBADF/)
  })

  test('a reader that closes the pipe ends a list silently', async () => {
    const { url } = cli.sandbox
    const { code, stderr } = await shell(`"$@" requests list --limit 1000 | head -c 1`, {
      SVC_HOME: temporaryDirectory(),
      SVC_BASE_URL: url,
    })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  })
})

describe('a reader that goes away', () => {
  test.each(['events stream --since 1d', 'beacons tail --since 1d -o jsonl', 'requests tail --since 1d'])(
    'ends svc %s silently',
    async (line) => {
      await using own = await startTestCli()
      await own.svc('placements create --format banner')
      const beacon = () => own.svc('beacons send --event heartbeat')
      for (let count = 0; count < 3; count++) await beacon()
      const env = { SVC_HOME: temporaryDirectory(), SVC_BASE_URL: own.sandbox.url }
      const { child, ended } = spawnSvc(line.split(' '), env)
      onTestFinished(() => void child.kill('SIGKILL'))
      let lines = 0
      child.stdout!.on('data', (chunk: Buffer) => {
        lines += chunk.toString().split('\n').length - 1
        if (lines >= 2) child.stdout!.destroy()
      })
      // As with any pipe, the end of its reader shows when the next line is written.
      const isOver = async () => {
        if (child.stdout!.destroyed) await beacon()
        return child.exitCode
      }
      await expect.poll(isOver, { interval: 100, timeout: 60_000 }).toBe(0)
      expect((await ended).stderr).toBe('')
    },
  )
})

/** Whether a command does not end by itself, is another program's own, or ends the sandbox of the others. */
function isEndless({ name }: Command, path: string): boolean {
  return endless.has(name) || name === 'exec' || path === 'sandbox stop'
}

function asJson(example: string): string {
  return /(^| )-o /.test(example) ? example.replace(/(^| )-o \S+/, '$1-o json') : `${example} -o json`
}

/** Runs a script of sh, in which `"$@"` is the program: svc, unless it is another one. */
async function shell(
  script: string,
  env: Record<string, string>,
  program: readonly string[] = [`${root}/bin/svc.js`],
): Promise<{ code: number; stderr: string }> {
  const child = spawn('sh', ['-c', script, 'sh', process.execPath, ...program], {
    env: { PATH: process.env.PATH, ...env },
    cwd: env.SVC_HOME,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 50_000,
  })
  let stderr = ''
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
  })
  const [code] = (await once(child, 'close')) as [number]
  return { code, stderr }
}
