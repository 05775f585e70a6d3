/** Every command with closed streams, and what follows without a reader. */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { loadAll } from '#cli/run/command.ts'
import { writeLocator } from '#cli/settings/state-directory.ts'
import { commands } from '#src/program.ts'
import { goesOn } from '#tests/cli/every-example.ts'
import { shell, spawnSvc } from '#tests/cli/process.ts'
import { noon, startTestCli, type TestCli } from '#tests/cli/test-cli.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { exitCodes } from '#text/cli-error.ts'

const short: Readonly<Record<string, string>> = { 'qa run': 'qa run formats', 'qa hosts': 'qa hosts --list' }
/** Exit codes of commands that end by themselves; 1 would be a bug. */
const known = Object.values(exitCodes).flatMap(({ exit_code }) => (exit_code === 1 ? [] : [exit_code]))

let cli: TestCli
beforeAll(async () => {
  cli = await startTestCli()
})
afterAll(() => cli?.[Symbol.asyncDispose]())

test('no command hangs or crashes with stdin and stdout closed', async () => {
  const home = temporaryDirectory()
  await writeLocator(home, { ...cli.sandbox, projects: cli.sandbox.projects, started_at_ms: noon })
  const found = await loadAll(commands)
  const paths = found.flatMap(({ command, path }) => (goesOn(command, path) ? [] : [short[path] ?? path]))
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

test.each(['health', 'beacons list', 'doctor'])('closed streams, as a process of its own: %s', async (path) => {
  const env = { SVC_HOME: temporaryDirectory(), SVC_BASE_URL: cli.sandbox.url }
  const { code, stderr } = await shell(`"$@" ${path} <&- >&-`, env)
  expect(known, stderr).toContain(code)
  expect(stderr).not.toMatch(/\n {4}at |bug of svc|EBADF/)
})

test.each(['sandbox events --since 1d', 'beacons tail --since 1d -o jsonl', 'sandbox logs --since 1d'])(
  'a reader that goes away ends svc %s silently',
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
    await expect.poll(isOver).toBe(0)
    expect((await ended).stderr).toBe('')
  },
)
