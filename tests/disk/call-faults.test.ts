/**
 * Calls that the system refuses, or half of which it does, in a real `svc start`: no response is wrong, nothing that was
 * acknowledged is missing after a start without faults, and what fails says so with a 503 or with exit code 2.
 * `DISK_SECONDS` takes each call of a history and of a start with each fault, as long as they last.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createDice } from '#tests/reliability/dice.ts'
import { seed, wholeSeconds } from './budget.ts'
import { chooseFaults, countCalls, listFaults } from './call-faults.ts'
import type { CallFault } from './control.ts'
import { createJudge, findLost, type Judge } from './served-faults.ts'
import { createPlace, isStarted, judgeEnd, type Place, type StartedSandbox } from './started-sandbox.ts'

const limitMs = (wholeSeconds ?? 8) * 1_000
/** On a busy computer too: one or two of each kind. */
const fewest = 12
/** Faults between two restarts. */
const maxFaultsPerProcess = 20
const mostProblems = 5

test('a sandbox that serves meets a fault at any call', async () => {
  using place = createPlace()
  const judge = createJudge()
  let sandbox = await startClean(place)
  let round = 0
  const counts = await countCalls(place.control, () => judge.ask(sandbox.url, round++))
  const all = listFaults(counts)
  const dice = createDice(seed)
  const chosen = chooseFaults(all, dice, wholeSeconds === null ? 400 : all.length)
  const problems: string[] = []
  const failed = new Map<string, number>()
  const started = performance.now()
  for (const [index, fault] of chosen.entries()) {
    if ((index >= fewest && performance.now() - started > limitMs) || problems.length >= mostProblems) break
    place.control.arm(fault)
    const isThere = await judge.ask(sandbox.url, round++)
    const { failed: count, last } = place.control.disarm()
    if (count > 0) failed.set(fault.kinds[0]!, (failed.get(fault.kinds[0]!) ?? 0) + 1)
    const describe = (problem: string) => `${describeFault(fault)} at ${last}: ${problem}`
    problems.push(...judge.problems.splice(0).map(describe))
    if (!isThere) problems.push(...[judgeEnd(await sandbox.ended) ?? []].flat().map(describe))
    else if (!(await judge.probe(sandbox.url, round++))) problems.push(describe('it does not serve without the fault'))
    if (isThere && index % maxFaultsPerProcess !== maxFaultsPerProcess - 1) continue
    const end = index % 2 === 0 ? await sandbox.kill() : await sandbox.stop()
    if (isThere && index % 2 === 1 && end.code !== 0)
      problems.push(describe(`a stop ends with ${end.code}: ${end.stderr}`))
    problems.push(...findLost(place.folder, judge).map(describe))
    sandbox = await startClean(place)
  }
  await sandbox.stop()
  const sum = [...failed.values()].reduce((total, count) => total + count, 0)
  console.log(`seed ${seed}: ${sum} of ${all.length} faults of calls`, Object.fromEntries(failed), judge.statuses)
  expect(problems).toEqual([])
  expect(findLost(place.folder, judge)).toEqual([])
  expect(judge.statuses.get(503) ?? 0).toBeGreaterThan(0)
})

test('a start meets a fault at any call', async () => {
  using place = createPlace()
  const judge = createJudge()
  const kept = await startClean(place)
  await judge.ask(kept.url, 0)
  await kept.kill()
  const counts = await countCalls(place.control, async () => (await startClean(place)).kill())
  const all = listFaults(counts)
  const dice = createDice(seed + 1)
  const chosen = chooseFaults(all, dice, wholeSeconds === null ? 200 : all.length)
  const problems: string[] = []
  const codes = new Map<number | string, number>()
  const started = performance.now()
  for (const [index, fault] of chosen.entries()) {
    if ((index >= fewest && performance.now() - started > limitMs) || problems.length >= mostProblems) break
    // A new database, or one that was killed.
    if (dice.chance(0.3)) problems.push(...(await startUnder(fault, codes, null)))
    else problems.push(...(await startUnder(fault, codes, { place, judge })))
  }
  console.log(`seed ${seed}: starts with a fault of ${all.length}`, codes)
  expect(problems).toEqual([])
  expect(codes.get(2) ?? 0).toBeGreaterThan(0)
})

/** Starts a sandbox under a fault. @param kept what was acknowledged in its files; null: a new database */
async function startUnder(
  fault: CallFault,
  codes: Map<number | string, number>,
  kept: { place: Place; judge: Judge } | null,
): Promise<string[]> {
  using own = kept === null ? createPlace() : null
  const place = kept?.place ?? own!
  place.control.arm(fault)
  const start = await place.start()
  const { failed, last } = place.control.disarm()
  const problems: string[] = []
  if (isStarted(start)) {
    codes.set('started', (codes.get('started') ?? 0) + 1)
    await start.kill()
  } else {
    codes.set(start.code, (codes.get(start.code) ?? 0) + 1)
    const problem = failed === 0 ? `it ends without a fault: ${start.stderr}` : judgeEnd(start)
    if (problem !== null) problems.push(problem)
  }
  const again = await place.start()
  if (isStarted(again)) await again.kill()
  else problems.push(`the next start ends with ${again.code}: ${again.stderr}`)
  if (kept !== null) problems.push(...findLost(place.folder, kept.judge))
  return problems.map((problem) => `${describeFault(fault)} at ${last}: ${problem}`)
}

test('an export that cannot be written says so, and leaves no half of it', async () => {
  using place = createPlace()
  const sandbox = await startClean(place)
  const file = join(place.folder, 'state.gz')
  const problems: string[] = []
  for (const kind of ['write', 'open', 'rename'] as const) {
    for (const error of ['EIO', 'ENOSPC'] as const) {
      place.control.arm({ kinds: [kind], nth: 1, error, effect: 'refuse', times: 'all', only: 'state.gz' })
      const { ended } = place.svc(['sandbox', 'export', file, '--base-url', sandbox.url])
      const end = await ended
      const { failed } = place.control.disarm()
      if (failed === 0) continue
      const problem = judgeEnd(end)
      if (problem !== null) problems.push(`${kind} ${error}: ${problem}`)
    }
  }
  await sandbox.stop()
  rmSync(file, { force: true })
  expect(problems).toEqual([])
})

/** @throws Error when it does not start, although no call fails */
async function startClean(place: Place): Promise<StartedSandbox> {
  const start = await place.start()
  if (!isStarted(start)) throw new Error(`A start without faults ends with ${start.code}: ${start.stderr}`)
  return start
}

function describeFault({ kinds, nth, error, effect, times }: CallFault): string {
  return `${kinds[0]} ${nth}, ${effect} ${error}, ${times}`
}
