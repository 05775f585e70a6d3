/** Compares a run with faults with the same run without, and judges it by what the file expects. Pure. */
import type { Expectation, Gameday } from './gameday-file.ts'
import type { Phase, Plan } from './plan.ts'
import {
  countReached,
  hasReached,
  type Latency,
  type RunRecord,
  summarizeLatency,
  type TurnRecord,
  type TurnStep,
  turnSteps,
  type Wait,
} from './records.ts'

export interface PhaseCounts {
  turns: number
  fills: number
  billed: number
  /** Null when no turn got a decision. */
  latency: Latency | null
}

interface PhaseResult extends Phase {
  without: PhaseCounts
  with: PhaseCounts
}

interface FunnelRow {
  step: TurnStep
  without: number
  with: number
  /** With faults, of those without, percent; null when there are none without. */
  kept_percent: number | null
}

/** Turns of a phase that got no further than a step, for one reason, more of them than without faults. */
interface Loss {
  phase: string
  /** The step that they did not get to. */
  missed: TurnStep
  reason: string | null
  turns: number
  /** The same, in the run without faults. */
  without: number
}

interface Recovery {
  /** The faults that ended. */
  fault: string
  ended_ms: number
  /** Until the start of the last turn that was worse than without faults; null when the last one still was. */
  recovery_ms: number | null
  /** Turns after it, until the next fault. */
  turns: number
}

interface Judgement {
  expectation: Expectation
  /** Percent, or milliseconds. */
  limit: number
  /** Null when there was nothing to measure, or no recovery. */
  actual: number | null
  ok: boolean
}

export interface Verdict {
  ok: boolean
  phases: readonly PhaseResult[]
  funnel: readonly FunnelRow[]
  losses: readonly Loss[]
  recoveries: readonly Recovery[]
  expectations: readonly Judgement[]
}

export interface Runs {
  without: RunRecord
  with: RunRecord
}

export function judgeRuns(
  { expect, patience_ms, view_ms }: Gameday,
  { phases }: Pick<Plan, 'phases'>,
  runs: Runs,
): Verdict {
  const funnel = turnSteps.map((step): FunnelRow => {
    const [without, kept] = [countReached(runs.without.turns, step), countReached(runs.with.turns, step)]
    return { step, without, with: kept, kept_percent: without === 0 ? null : (100 * kept) / without }
  })
  const recoveries = listRecoveries(phases, listUnits(runs, expect.get('p95') ?? null), patience_ms + view_ms)
  const latency = summarizeLatency(runs.with.waits)
  const expectations = [...expect].map(([expectation, limit]): Judgement => {
    const actual = measures[expectation]({ funnel, recoveries, latency })
    const isShare = expectation === 'fills' || expectation === 'billed'
    return { expectation, limit, actual, ok: actual !== null && (isShare ? actual >= limit : actual <= limit) }
  })
  return {
    ok: expectations.length > 0 && expectations.every(({ ok }) => ok),
    phases: phases.map((phase) => ({
      ...phase,
      without: countPhase(runs.without, phase),
      with: countPhase(runs.with, phase),
    })),
    funnel,
    losses: phases.flatMap((phase) => listLosses(phase, runs)),
    recoveries,
    expectations,
  }
}

type Measured = Pick<Verdict, 'funnel' | 'recoveries'> & { latency: Latency | null }

const keptAt = (funnel: readonly FunnelRow[], step: TurnStep) =>
  funnel.find((row) => row.step === step)?.kept_percent ?? null

const measures: Record<Expectation, (measured: Measured) => number | null> = {
  fills: ({ funnel }) => keptAt(funnel, 'filled'),
  billed: ({ funnel }) => keptAt(funnel, 'billed'),
  median: ({ latency }) => latency?.median_ms ?? null,
  p95: ({ latency }) => latency?.p95_ms ?? null,
  p99: ({ latency }) => latency?.p99_ms ?? null,
  recovery({ recoveries }) {
    const times = recoveries.map(({ recovery_ms, turns }) => (turns === 0 ? null : recovery_ms))
    return times.length === 0 || times.includes(null) ? null : Math.max(...times.map((time) => time ?? 0))
  },
}

/** Whether something started in a phase. */
function isIn({ from_ms, to_ms }: Phase, { at_ms }: { at_ms: number }): boolean {
  return from_ms <= at_ms && at_ms < to_ms
}

function countPhase({ turns, waits }: RunRecord, phase: Phase): PhaseCounts {
  const own = turns.filter((turn) => isIn(phase, turn))
  return {
    turns: own.length,
    fills: countReached(own, 'filled'),
    billed: countReached(own, 'billed'),
    latency: summarizeLatency(waits.filter((wait) => isIn(phase, wait))),
  }
}

function listLosses(phase: Phase, runs: Runs): Loss[] {
  const [lost, usual] = [runs.with, runs.without].map(({ turns }) =>
    Map.groupBy(
      turns.filter((turn) => isIn(phase, turn) && !hasReached(turn, 'billed')),
      ({ step, reason }) => `${step} ${reason}`,
    ),
  ) as [Map<string, TurnRecord[]>, Map<string, TurnRecord[]>]
  return [...lost]
    .map(([key, turns]): Loss => {
      const { step, reason } = turns[0]!
      const missed = turnSteps[turnSteps.indexOf(step) + 1]!
      return { phase: phase.name, missed, reason, turns: turns.length, without: usual.get(key)?.length ?? 0 }
    })
    .filter((loss) => loss.turns > loss.without)
    .toSorted((one, other) => other.turns - one.turns)
}

/**
 * Returns how long each calm phase after a fault took until its turns were as good as without faults. The next fault may
 * reach turns that began up to `reach_ms` before it: those at the end of the phase say nothing about the fault before.
 */
function listRecoveries(phases: readonly Phase[], units: readonly Unit[], reach_ms: number): Recovery[] {
  return phases.flatMap((phase, index): Recovery[] => {
    const before = phases[index - 1]
    if (before === undefined || phase.faults.length > 0) return []
    const isLast = index === phases.length - 1
    const isReached = ({ at_ms, is_worse }: Unit) => !isLast && is_worse && at_ms + reach_ms > phase.to_ms
    const all = units.filter((unit) => isIn(phase, unit))
    const own = all.slice(0, all.findLastIndex((unit) => !isReached(unit)) + 1)
    const lastWorse = own.findLastIndex(({ is_worse }) => is_worse)
    const isOver = own.length > 0 && lastWorse < own.length - 1
    const recovery_ms = !isOver ? null : lastWorse === -1 ? 0 : own[lastWorse]!.at_ms - phase.from_ms
    return [{ fault: before.faults.join(' + '), ended_ms: phase.from_ms, recovery_ms, turns: all.length }]
  })
}

interface Unit {
  at_ms: number
  is_worse: boolean
}

/**
 * Returns each turn with whether faults made it worse: it got less far than its twin of the run without faults, or it
 * waited longer than the limit and its twin did not. Turns without a twin are worse when they got no decision or waited
 * longer than the limit.
 */
function listUnits({ without, with: faulted }: Runs, limit_ms: number | null): Unit[] {
  const isSlow = (wait: Wait | undefined) => limit_ms !== null && (wait?.latency_ms ?? 0) > limit_ms
  if (!faulted.is_paired) {
    return faulted.waits
      .map((wait) => ({ at_ms: wait.at_ms, is_worse: wait.latency_ms === null || isSlow(wait) }))
      .toSorted((one, other) => one.at_ms - other.at_ms)
  }
  return faulted.turns.map((turn, index) => {
    const twin = without.turns[index]
    const isShort = twin !== undefined && !hasReached(turn, twin.step)
    return { at_ms: turn.at_ms, is_worse: isShort || (isSlow(faulted.waits[index]) && !isSlow(without.waits[index])) }
  })
}
