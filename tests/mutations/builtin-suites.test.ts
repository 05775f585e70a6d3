/** The built-in suites through the command line, side by side against a running sandbox; one by one they are in tests/http. */
import { expect, test } from 'vitest'
import type { RunResult } from '#qa/result.ts'
import { spawnSvc } from '#tests/cli/process.ts'
import { temporaryDirectory } from '#tests/cli/test-cli.ts'

function summarize({ cases }: RunResult) {
  const of = (outcome: string) =>
    cases.filter((each) => each.outcome === outcome).map(({ id, reason }) => ({ id, reason }))
  return {
    passed: of('passed').length,
    failed: of('failed'),
    not_applicable: of('not_applicable'),
    not_run: of('not_run'),
  }
}

test('the built-in suites that need no browser pass against one sandbox that runs, four at a time, and leave it as it was', async () => {
  const SVC_HOME = temporaryDirectory()
  const { child, firstLine, ended } = spawnSvc(['start', '--port', '0', '--ephemeral', '-o', 'json'], { SVC_HOME })
  const { url } = JSON.parse(await firstLine) as { url: string }
  const before = await readState(url)
  const { code, stdout, stderr } = await spawnSvc(['qa', 'run', '--workers', '4', '-o', 'json'], { SVC_HOME }).ended
  const after = await readState(url)
  child.kill('SIGTERM')
  expect((await ended).code).toBe(0)
  expect([0, 5], stderr).toContain(code)
  const { passed, ...others } = summarize(JSON.parse(stdout) as RunResult)
  expect(others).toEqual({ failed: [], not_applicable: [], not_run: [] })
  expect(passed).toBeGreaterThanOrEqual(250)
  expect(after).toEqual(before)
})

/** State that a run changes and must restore. */
async function readState(url: string) {
  const read = async (path: string) =>
    (await fetch(`${url}/_sandbox/${path}`)).json() as Promise<Record<string, unknown>>
  const { offset_ms, frozen } = await read('clock')
  const { items: faults } = await read('faults')
  const { items: scenarios } = (await read('scenarios')) as { items: { name: string; active: boolean }[] }
  const { items: keys } = (await read('projects/proj_demo/keys?limit=1000')) as {
    items: { revoked_at_ms: number | null }[]
  }
  return {
    offset_ms,
    frozen,
    faults,
    scenario: scenarios.find(({ active }) => active)?.name ?? null,
    good_keys: keys.filter(({ revoked_at_ms }) => revoked_at_ms === null).length,
  }
}
