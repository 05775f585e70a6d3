/** Two things of one kind are one: two commands say how sandboxes are, one word names the judge. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadAll } from '#cli/run/command.ts'
import { commands } from '#src/program.ts'
import { startTestCli, svc, type TestCli, temporaryDirectory } from './test-cli.ts'

let cli: TestCli
beforeAll(async () => {
  cli = await startTestCli()
})
afterAll(() => cli?.[Symbol.asyncDispose]())

const isRunning = { system: { isRunning: () => true } }
const json = async (line: string) => JSON.parse((await cli.svc(`${line} -o json`, isRunning)).stdout) as object

test('no other command of the first two levels says how a sandbox is', async () => {
  const all = await loadAll(commands)
  const says = all.filter(({ command }) =>
    /\b(health|integrity|ready|responds)\b|state of the sandbox|running sandboxes/i.test(command.summary),
  )
  expect(says.map(({ path }) => path)).toEqual(['sandbox status', 'sandbox ps'])
})

test('sandbox status shows clock, journal and events, and with --check the database and the evidence', async () => {
  const { code, stdout } = await cli.svc('sandbox status --check', isRunning)
  expect(code, stdout).toBe(0)
  for (const line of [
    /^state +ready$/m,
    /^clock +/m,
    /^requests +\d+ of at most 50000/m,
    /^check +the database is intact$/m,
  ])
    expect(stdout).toMatch(line)
  expect(stdout).toMatch(/^evidence +3 chains with \d+ entries hold$/m)
  expect(await json('sandbox status --check')).toMatchObject({
    ready: true,
    integrity: { ok: true, database: { ok: true } },
  })
  expect(await json('sandbox status')).not.toHaveProperty('integrity')
})

test('sandbox status also shows one of another computer, which has no locator here', async () => {
  const env = { SVC_HOME: temporaryDirectory() }
  const { code, stdout } = await svc(`sandbox status --base-url ${cli.sandbox.url} -o json`, { env })
  expect([code, JSON.parse(stdout)]).toMatchObject([
    0,
    { ready: true, url: cli.sandbox.url, database: ':memory:', started_at_ms: null, source: 'flag' },
  ])
})

test('one command judges an integration', async () => {
  const judging = (await loadAll(commands)).filter(({ command }) =>
    /\b(judge|diagnos|assess|inspect an)\w*/i.test(command.summary),
  )
  expect(judging.map(({ path }) => path)).toEqual(['observe'])
})
