/** The plan of a game day: when each turn starts, which format it asks for, and the phases of the timeline. Pure. */
import type { Format } from '#contract/fields.ts'
import type { Gameday, TimedFault } from './gameday-file.ts'

export interface PlannedTurn {
  /** From the start of the run, milliseconds. */
  at_ms: number
  format: Format
}

/** A part of the timeline in which the same faults are active. */
export interface Phase {
  /** `calm`, `partner_slow`, `away + consent_late`, `after away`. */
  name: string
  from_ms: number
  /** Its end, which is the start of the next. */
  to_ms: number
  /** The faults that are active; none in a calm phase. */
  faults: readonly string[]
}

export interface Plan {
  turns: readonly PlannedTurn[]
  phases: readonly Phase[]
}

/**
 * Returns the plan of a game day: the same for the same seed. Each turn has a slot of 1/rate, and starts at a random
 * time in it.
 */
export function createPlan({ seed, rate, length_ms, formats, timeline }: Gameday): Plan {
  const random = seededRandom(seed)
  const count = Math.floor((rate * length_ms) / 1_000)
  const slot_ms = length_ms / count
  const turns = Array.from({ length: count }, (_, index) => ({
    at_ms: Math.floor((index + random()) * slot_ms),
    format: formats[Math.floor(random() * formats.length)]!,
  }))
  return { turns, phases: listPhases(timeline, length_ms) }
}

/** mulberry32. */
function seededRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

function listPhases(timeline: readonly TimedFault[], length_ms: number): Phase[] {
  const times = [0, ...timeline.flatMap(({ at_ms, end_ms }) => [at_ms, end_ms]), length_ms]
  const bounds = [...new Set(times)].toSorted((one, other) => one - other)
  const phases: Phase[] = []
  for (const [index, from_ms] of bounds.slice(0, -1).entries()) {
    const active = timeline.filter(({ at_ms, end_ms }) => at_ms <= from_ms && from_ms < end_ms)
    const faults = [...new Set(active.map(({ fault }) => fault))]
    const before = phases.at(-1)
    const calm = before === undefined ? 'calm' : `after ${before.faults.join(' + ')}`
    phases.push({ name: faults.join(' + ') || calm, from_ms, to_ms: bounds[index + 1]!, faults })
  }
  return phases
}
