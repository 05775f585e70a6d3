/**
 * Finds the time zone of day rows. Days that begin at another midnight move events between neighbours: some days have
 * more, others fewer, and one shift of all events makes most of them agree.
 */
import type { Metric } from '#contract/resources/beacons.ts'
import { zoneStep_ms } from './compare-turns.ts'

interface CountedEvent {
  metric: Metric
  received_at_ms: number
}

/** The counts of a file by day, such as `2026-01-31`, and metric. */
type DayCounts = ReadonlyMap<string, Readonly<Partial<Record<Metric, number>>>>

/** Zones are from 12 hours behind UTC to 14 hours ahead. */
const firstStep = -48
const lastStep = 56
const stepsOfHour = 4
const stepsOfDay = 24 * stepsOfHour

/** How much earlier the days of a file begin than those of UTC, milliseconds, and the shifts beside it that fit as well. */
interface DayShift {
  shift_ms: number
  range_ms: { from: number; to: number }
}

/** A shift, and how much is still counted differently with it. */
type Candidate = DayShift & { apart: number }

/**
 * Returns the shift of the days of a file, the smallest of several; null when none explains more.
 * @param busy the days of UTC on which something happened that may explain a count
 */
export function findDayShift(
  own: DayCounts,
  metrics: readonly Metric[],
  events: readonly CountedEvent[],
  busy: ReadonlySet<string>,
): DayShift | null {
  const steps = countSteps(events)
  if (sumApart(own, metrics, steps, 0) === 0) return null
  const zone = isMoved(own, metrics, steps) ? findZone(own, metrics, steps) : null
  const day = findWholeDay(own, metrics, steps, busy)
  if (zone === null || day === null) return zone ?? day
  const isUsual = Math.abs(zone.shift_ms) < (stepsOfDay / 2) * zoneStep_ms
  return isUsual ? (day.apart < zone.apart ? day : zone) : day.apart <= zone.apart ? day : zone
}

/**
 * Returns a shift by one day that explains most: the days are named by the one before or after them. Where counts only
 * lack here, not move, each has a day on which nothing happened.
 */
function findWholeDay(
  own: DayCounts,
  metrics: readonly Metric[],
  steps: Steps,
  busy: ReadonlySet<string>,
): Candidate | null {
  const apart = (step: number) => sumApart(own, metrics, steps, step)
  const step = apart(-stepsOfDay) < apart(stepsOfDay) ? -stepsOfDay : stepsOfDay
  // Two thirds at least: of a zone, which moves less, half is enough.
  if (apart(step) * 3 > apart(0)) return null
  const isUnseen = metrics.every((metric) => {
    const days = countDays(steps, metric, 0)
    return [...own].every(([day, counts]) => (counts[metric] ?? 0) === (days.get(day) ?? 0) || !busy.has(day))
  })
  if (!isUnseen && !isMoved(own, metrics, steps)) return null
  const shift_ms = step * zoneStep_ms
  return { shift_ms, range_ms: { from: shift_ms, to: shift_ms }, apart: apart(step) }
}

function findZone(own: DayCounts, metrics: readonly Metric[], steps: Steps): Candidate | null {
  const apart = (step: number) => sumApart(own, metrics, steps, step)
  const all = Array.from({ length: lastStep - firstStep + 1 }, (_, index) => firstStep + index)
  // Whole hours first: another zone must explain twice as much.
  const [whole, parts] = [
    all.filter((step) => step % stepsOfHour === 0),
    all.filter((step) => step % stepsOfHour !== 0),
  ]
  const best = (candidates: readonly number[]) =>
    candidates
      .map((step) => ({ step, apart: apart(step) }))
      .reduce((least, each) =>
        each.apart < least.apart || (each.apart === least.apart && Math.abs(each.step) < Math.abs(least.step))
          ? each
          : least,
      )
  const [hours, quarters] = [best(whole), best(parts)]
  const found = quarters.apart < hours.apart / 2 ? quarters : hours
  if (found.apart > apart(0) / 2) return null
  const size = found === hours ? stepsOfHour : 1
  const reach = (direction: number) => {
    let { step } = found
    const next = () => step + direction * size
    while (next() >= firstStep && next() <= lastStep && apart(next()) === found.apart) step = next()
    return step * zoneStep_ms
  }
  return {
    shift_ms: found.step * zoneStep_ms,
    range_ms: { from: reach(-1), to: reach(1) },
    apart: found.apart,
  }
}

/**
 * Returns the function that names the day of a time: of UTC, or of the zone of a file that states its midnights. Days that the
 * file lacks begin 24 hours after the one before.
 */
export function createDayNamer({ midnights }: { midnights: ReadonlyMap<string, number> | null }) {
  if (midnights === null) return (time_ms: number) => dayName(time_ms, 0)
  const known = [...midnights].toSorted(([, one], [, other]) => one - other)
  return (time_ms: number): string => {
    const next = known.findIndex(([, start_ms]) => start_ms > time_ms)
    const at = next < 0 ? known.length - 1 : Math.max(next - 1, 0)
    const [day, start_ms] = known[at]!
    const name = dayName(Date.parse(day) + time_ms - start_ms, 0)
    const following = known[at + 1]?.[0]
    // A day on which clocks are set back has 25 hours.
    return following !== undefined && time_ms >= start_ms && name >= following
      ? dayName(Date.parse(following) - 1, 0)
      : name
  }
}

/** Returns the UTC day of a time, shifted: `2026-01-31`. */
export function dayName(time_ms: number, shift_ms: number): string {
  return new Date(time_ms + shift_ms).toISOString().slice(0, 10)
}

/** Counts events in spans of a quarter of an hour, so that each shift is a sum of few of them. */
function countSteps(events: readonly CountedEvent[]): ReadonlyMap<Metric, ReadonlyMap<number, number>> {
  const steps = new Map<Metric, Map<number, number>>()
  for (const { metric, received_at_ms } of events) {
    const counts = steps.get(metric) ?? new Map<number, number>()
    steps.set(metric, counts)
    const step = Math.floor(received_at_ms / zoneStep_ms)
    counts.set(step, (counts.get(step) ?? 0) + 1)
  }
  return steps
}

type Steps = ReturnType<typeof countSteps>

function countDays(steps: Steps, metric: Metric, shift: number): Map<string, number> {
  const days = new Map<string, number>()
  for (const [step, count] of steps.get(metric) ?? []) {
    const day = dayName(step * zoneStep_ms, shift * zoneStep_ms)
    days.set(day, (days.get(day) ?? 0) + count)
  }
  return days
}

function* differences(own: DayCounts, metrics: readonly Metric[], steps: Steps, shift: number): Generator<number> {
  for (const metric of metrics) {
    const days = countDays(steps, metric, shift)
    for (const [day, counts] of own) yield (counts[metric] ?? 0) - (days.get(day) ?? 0)
  }
}

function sumApart(own: DayCounts, metrics: readonly Metric[], steps: Steps, shift: number): number {
  let sum = 0
  for (const difference of differences(own, metrics, steps, shift)) sum += Math.abs(difference)
  return sum
}

/** Whether some days have more than here and others fewer: a shift moves events, it adds none. */
function isMoved(own: DayCounts, metrics: readonly Metric[], steps: Steps): boolean {
  const signs = new Set([...differences(own, metrics, steps, 0)].map(Math.sign))
  return own.size > 1 && signs.has(1) && signs.has(-1)
}
