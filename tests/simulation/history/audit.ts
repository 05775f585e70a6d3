/** Reads the whole state when nothing is under way, and checks it against every model. */
import { createHash } from 'node:crypto'
import { NoResponse } from '../clients/sender.ts'
import { checkBilling } from '../models/billing.ts'
import { checkCaps } from '../models/caps.ts'
import { checkConsent } from '../models/consent.ts'
import { checkEvidence } from '../models/evidence.ts'
import { checkTokens } from '../models/tokens.ts'
import { checkWrites } from '../models/writes.ts'
import type { Problem } from '../problem.ts'
import { projects } from '../steps/steps.ts'
import { type Facts, readFacts } from './facts.ts'
import { recover } from './recovery.ts'
import type { Run } from './run.ts'

/** Ends a history: a model does not hold. */
export class Found extends Error {
  readonly problem: Problem
  constructor(problem: Problem) {
    super(problem.text)
    this.problem = problem
  }
}

export async function audit(run: Run): Promise<void> {
  const { scheduler, acknowledged, follower, lines, process: simulated, learner, disk, add } = run
  while (run.network.busy > 0 && !simulated.isDead) await scheduler.next()
  await scheduler.pass(2)
  const read = await readUnchanged(run).catch((error: unknown) => {
    if (error instanceof NoResponse && simulated.isDead) return null
    throw error
  })
  if (read === null || simulated.isDead) {
    // A decision that was due has met the crash of a commit.
    await recover(run)
    return audit(run)
  }
  const { facts, text } = read
  lines.push(`  state ${createHash('sha256').update(text).digest('hex').slice(0, 12)}, ${follower.count} events`)
  add('writes', checkWrites(facts, acknowledged))
  add('evidence', checkEvidence(facts, acknowledged))
  add('consent', checkConsent(facts, acknowledged))
  add('decisions', checkCaps(facts, acknowledged))
  add('billing', checkBilling(facts, acknowledged))
  add('tokens', checkTokens(facts, follower.frames))
  add('events', follower.check(facts, acknowledged))
  checkGone(run)
  checkNow(run)
  learner.mayFail = disk.fault !== null
}

/** Reads until nothing has changed in between: decisions are made by themselves. */
async function readUnchanged(run: Run): Promise<{ facts: Facts; text: string }> {
  const { scheduler, follower, client } = run
  const project = projects[run.audits++ % projects.length]!
  let before = await readFacts(client, project)
  for (let tries = 0; tries < 20; tries++) {
    const { count } = follower
    const after = await readFacts(client, project)
    if (after.text === before.text && follower.count === count) return after
    before = after
    await scheduler.pass(50)
  }
  throw new Error('the state does not come to rest')
}

/** A stream that has gone back behind a number says so to a follower that has it. */
function checkGone({ gone, follower, add }: Run): void {
  if (gone === null || gone.isTold || follower.seq >= gone.seq) return
  add('events', [`events up to ${gone.seq} were lost with the power, and a follower of them is not told`])
}

export function checkNow({ problems, process: simulated, learner, add }: Run): void {
  for (const report of simulated.takeReports()) {
    if (!learner.mayFail) add('reports', [`the process reports: ${describeError(report)}`])
  }
  if (problems.length > 0) throw new Found(problems[0]!)
}

/** The longest latency of decisions that a step sets, milliseconds. */
export const longestLatencyMs = 3_000

/** A decision whose latency has passed on the sandbox clock has been made, whatever happened in between. */
export async function checkDecided(run: Run): Promise<void> {
  const { body } = await run.client.read('/_sandbox/clock')
  const { now_ms } = JSON.parse(body.toString('utf8')) as { now_ms: number }
  const { facts } = await readFacts(run.client, 'proj_demo')
  const late = facts.placements.filter(
    ({ fill, created_at_ms }) => fill === null && created_at_ms + longestLatencyMs + 1_000 < now_ms,
  )
  run.add(
    'writes',
    late.map(({ slot_id }) => `${slot_id} is pending, and is never decided`),
  )
  checkNow(run)
}

export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause === undefined ? '' : ` (${describeError(error.cause)})`
  const place = error.stack
    ?.split('\n')
    .find((line) => line.includes('/sandbox/'))
    ?.trim()
    .replace(/file:\S*\/sandbox\//, 'sandbox/')
  const text = `${error.name}: ${error.message}${cause} ${place ?? ''}`.trim()
  // Another one in each process.
  return text.replaceAll(/\S*\/disk-\w+\/files\//g, '')
}
