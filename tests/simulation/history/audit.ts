/** Reads the whole state when nothing is under way, and checks it. */
import { createHash } from 'node:crypto'
import { checkHistory } from '#tests/histories/checks.ts'
import { readState, type State } from '#tests/histories/state.ts'
import { readHistory } from '../acknowledged.ts'
import { NoResponse } from '../clients/sender.ts'
import type { Problem } from '../problem.ts'
import { projects } from '../steps/steps.ts'
import { recover } from './recovery.ts'
import type { Run } from './run.ts'

/** Ends a history: a check has found something. */
export class Found extends Error {
  readonly problem: Problem
  constructor(problem: Problem) {
    super(problem.text)
    this.problem = problem
  }
}

export async function audit(run: Run): Promise<void> {
  const { scheduler, acknowledged, follower, lines, process: simulated, learner, disk, problems, add } = run
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
  const { state, text } = read
  lines.push(`  state ${createHash('sha256').update(text).digest('hex').slice(0, 12)}, ${follower.count} events`)
  problems.push(
    ...checkHistory(readHistory(acknowledged, follower.frames), { ...state, events: [...follower.events()] }),
  )
  add('decisions', findWaiting(run, state))
  noteChains(run, state)
  checkGone(run)
  checkNow(run)
  learner.mayFail = disk.fault !== null
}

/** Reads until nothing has changed in between: decisions are made by themselves. */
async function readUnchanged(run: Run): Promise<{ state: State; text: string }> {
  const { scheduler, follower } = run
  const project = projects[run.audits++ % projects.length]!
  let before = await readAll(run, project)
  for (let tries = 0; tries < 20; tries++) {
    const { count } = follower
    const after = await readAll(run, project)
    if (after.text === before.text && follower.count === count) return after
    before = after
    await scheduler.pass(50)
  }
  throw new Error('the state does not come to rest')
}

/** @param project the one whose own report is read */
async function readAll({ client }: Run, project: string): Promise<{ state: State; text: string }> {
  const texts: string[] = []
  const get = async <Body>(path: string): Promise<Body> => {
    const { status, body } = await client.read(`/_sandbox/${path}`)
    const text = body.toString('utf8')
    if (status !== 200) throw new Error(`GET ${path} is answered with ${status}: ${text}`)
    texts.push(text)
    return JSON.parse(text) as Body
  }
  return { state: await readState(get, projects, [project]), text: JSON.stringify(texts) }
}

/** Nothing is under way: who waits at a socket for a decision that was made has it. */
function findWaiting({ acknowledged: { sockets, generation } }: Run, { slots }: State): string[] {
  const decided = new Set(slots.flatMap(({ slot_id, fill }) => (fill === null ? [] : [slot_id])))
  return [...sockets].flatMap((socket) =>
    socket.generation === generation && socket.messages.length === 0 && decided.has(socket.slot_id)
      ? [`${socket.slot_id} is decided, and a socket that waits for it has nothing`]
      : [],
  )
}

/** What was read of the chains is never changed. */
function noteChains({ acknowledged }: Run, { chains }: State): void {
  const others = acknowledged.known.filter(({ action }) => action.kind !== 'read_chain')
  const called = ++acknowledged.order
  const reads = [...chains].map(([project, entries]) => ({
    ...{ number: 0, client: 0, node: 0, called, ended: called, generation: acknowledged.generation },
    action: { kind: 'read_chain', project, after_seq: 0 } as const,
    outcome: { kind: 'done', body: { entries, next_seq: null } } as const,
  }))
  acknowledged.known = [...others, ...reads]
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
  const { state } = await readAll(run, 'proj_demo')
  const late = state.slots.filter(
    ({ fill, created_at_ms }) => fill === null && created_at_ms + longestLatencyMs + 1_000 < now_ms,
  )
  run.add(
    'decisions',
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
