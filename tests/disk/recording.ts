/**
 * A history of a real sandbox under load, recorded below SQLite: placements, consent, beacons, settings, tokens; pauses in
 * which the log is copied and started over; a snapshot, a reset, a restore; a kill in the middle of it, a second start,
 * and an orderly stop.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createDice, type Dice } from '#tests/reliability/dice.ts'
import type { Acknowledgement, StateChange } from './known.ts'
import { type RecordedProcess, startRecorded } from './recorded-process.ts'
import { memoryFolder } from './shim.ts'
import { readRequestId, readTrace, type TraceRecord } from './trace.ts'
import { type Answer, createVisitor, type Visitor } from './visitor.ts'

export interface Recording {
  records: TraceRecord[]
  /** What a record acknowledges, by its place. */
  acknowledged: Map<number, Acknowledgement>
}

export interface RecordingOptions {
  seed: number
  /** Turns of each visitor between two pauses. */
  turns: number
  /** The name of a fault of the product; null: none. */
  mutation?: string | null
}

const visitorCount = 4
/** Visitors and turns of a burst: enough writes for the thread that copies the log, in few commits. */
const burst = { visitors: 24, turns: 10 }
/** In which the log is copied. The next commit starts it over. */
const pauseMs = 100

export async function recordHistory({ seed, turns, mutation = null }: RecordingOptions): Promise<Recording> {
  const folder = mkdtempSync(join(memoryFolder, 'svc-disk-'))
  /** One for each process: identifiers of requests begin again. */
  const parts: { trace: string; answers: Answer[] }[] = []
  const start = () => {
    const part: (typeof parts)[number] = { trace: `${folder}.trace-${parts.length}`, answers: [] }
    parts.push(part)
    const options = { database: join(folder, 'sandbox.db'), rate_limit: 'off', journal_limit: 20, seed }
    return startRecorded(options, { folder, trace: part.trace }, mutation)
  }
  try {
    const onAnswer = (answer: Answer) => void parts.at(-1)!.answers.push(answer)
    await runHistory({ dice: createDice(seed), turns, start, onAnswer })
    const recording: Recording = { records: [], acknowledged: new Map() }
    for (const { trace, answers } of parts) addPart(recording, readTrace(trace), answers)
    return recording
  } finally {
    rmSync(folder, { recursive: true, force: true })
    for (const { trace } of parts) rmSync(trace, { force: true })
  }
}

interface HistoryOptions {
  dice: Dice
  turns: number
  start(): Promise<RecordedProcess>
  onAnswer(answer: Answer): void
}

async function runHistory({ dice, turns, start, onAnswer }: HistoryOptions): Promise<void> {
  let sandbox = await start()
  const load = (count: number) => runLoad(sandbox.url, { dice, visitors: visitorCount, turns: count, onAnswer })
  const checkpoint = async () => {
    await runLoad(sandbox.url, { dice, ...burst, onAnswer })
    await sleep(pauseMs)
  }
  const change = (next: StateChange) => changeState(sandbox.url, next, onAnswer)
  try {
    await load(turns)
    await checkpoint()
    await load(turns)
    await change({ kind: 'snapshot', name: 'first' })
    await load(turns)
    await change({ kind: 'reset' })
    await load(turns)
    const killed = load(turns * 4)
    await sleep(20 + dice.below(150))
    await sandbox.kill()
    await killed
    sandbox = await start()
    await load(turns)
    await change({ kind: 'restore', name: 'first' })
    await checkpoint()
    await load(turns)
    await change({ kind: 'snapshot', name: 'first' })
    await load(turns)
    await sandbox.close()
  } finally {
    await sandbox.kill()
  }
}

interface LoadOptions {
  dice: Dice
  visitors: number
  turns: number
  onAnswer(answer: Answer): void
}

/** Resolves when each visitor has made its turns, or has lost its connection. */
async function runLoad(url: string, { dice, visitors, turns, onAnswer }: LoadOptions): Promise<void> {
  const visit = async (visitor: Visitor) => {
    for (let turn = 0; turn < turns; turn++) {
      const session_id = `session-${dice.below(20)}`
      const action = dice.below(10)
      const goesOn =
        action === 0
          ? await visitor.consent(session_id, dice.chance(0.7))
          : action === 1
            ? await visitor.settings(dice.pick(['proj_demo', 'proj_other']))
            : action === 2 && dice.chance(0.3)
              ? await visitor.token(`token-${dice.below(1e9)}`, dice.chance(0.5))
              : await visitor.turn(session_id)
      if (!goesOn) break
    }
    await visitor.close()
  }
  await Promise.all(Array.from({ length: visitors }, () => visit(createVisitor(url, onAnswer))))
}

const changes: Record<StateChange['kind'], (change: StateChange) => [path: string, body: object]> = {
  snapshot: (change) => [`/_sandbox/snapshots/${readName(change)}`, { replace: true }],
  restore: (change) => [`/_sandbox/snapshots/${readName(change)}/restore`, {}],
  reset: () => ['/_sandbox/reset', {}],
}

const readName = (change: StateChange) => ('name' in change ? change.name : '')

/** Changes the state while nothing else is under way; the request before it says so in the records. */
async function changeState(url: string, next: StateChange, onAnswer: (answer: Answer) => void): Promise<void> {
  const visitor = createVisitor(url, onAnswer)
  const [path, body] = changes[next.kind](next)
  await visitor.send('GET', '/_sandbox/info', { learn: () => ({ kind: 'begin', next }) })
  const answer = await visitor.send('POST', path, { body, learn: () => next })
  await visitor.close()
  if (answer?.acknowledged == null) {
    throw new Error(`${next.kind} is answered with ${answer?.status}: ${answer?.text}`, { cause: visitor.lost })
  }
}

function addPart({ records, acknowledged }: Recording, part: readonly TraceRecord[], answers: readonly Answer[]): void {
  const failed = answers.find(({ status }) => status >= 400 && status !== 403)
  if (failed !== undefined) throw new Error(`${failed.method} ${failed.path}: ${failed.status} ${failed.text}`)
  const byRequest = new Map(answers.map((answer) => [answer.request_id, answer]))
  let found = 0
  for (const record of part) {
    const answer = byRequest.get(readRequestId(record) ?? '')
    if (answer !== undefined) found++
    if (answer?.acknowledged != null) acknowledged.set(records.length, answer.acknowledged)
    records.push(record)
  }
  // A response that the trace does not have could be compared with nothing.
  if (found !== answers.length) throw new Error(`The records have ${found} of ${answers.length} responses.`)
}
