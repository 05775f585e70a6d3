/**
 * Counts and durations that cost a few nanoseconds and no object each: a placement takes about 100 us, and every request
 * is counted.
 */

/** One series of a family. */
interface Count {
  /** The values of the family's labels, in their order. */
  values: readonly string[]
  count: number
}

/** Counts by up to three labels. */
export interface Counts {
  readonly labels: readonly string[]
  /** Adds one to a series, which the first call creates. */
  add(...values: LabelValues): void
  /** Creates a series at 0: a rate needs a value before the first event. */
  start(...values: LabelValues): void
  /** The series, in the order in which they were created. */
  list(): readonly Count[]
}

type LabelValues = [first: string, second?: string, third?: string]

export function createCounts(...labels: string[]): Counts {
  /** By each label in turn: a joined key would be a new text for every request. */
  const series = new Map<string, Map<string, Map<string, Count>>>()
  const counts: Count[] = []

  return {
    labels,
    add(first, second = '', third = '') {
      const found = series.get(first)?.get(second)?.get(third) ?? create(first, second, third)
      found.count++
    },
    start(first, second = '', third = '') {
      if (series.get(first)?.get(second)?.has(third) !== true) create(first, second, third)
    },
    list: () => counts,
  }

  function create(first: string, second: string, third: string): Count {
    const created = { values: [first, second, third].slice(0, labels.length), count: 0 }
    const bySecond = series.get(first) ?? new Map<string, Map<string, Count>>()
    const byThird = bySecond.get(second) ?? new Map<string, Count>()
    series.set(first, bySecond)
    bySecond.set(second, byThird)
    byThird.set(third, created)
    counts.push(created)
    return created
  }
}

export interface Histogram {
  /** @param duration_s seconds */
  observe(duration_s: number): void
  read(): HistogramReading
}

export interface HistogramReading {
  /** The upper bounds of the buckets in ascending order, seconds, without the last one, +Inf. */
  bounds: readonly number[]
  /** The observations up to each bound, and all of them in the end. */
  cumulative: readonly number[]
  sum: number
}

/** From a small fraction of a placement to the longest wait for a decision, seconds. */
const durationBounds = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export function createHistogram(bounds: readonly number[] = durationBounds): Histogram {
  const counts = new Float64Array(bounds.length + 1)
  let sum = 0

  return {
    observe(duration_s) {
      let bucket = 0
      while (bucket < bounds.length && duration_s > bounds[bucket]!) bucket++
      counts[bucket]!++
      sum += duration_s
    },
    read() {
      let total = 0
      return { bounds, cumulative: Array.from(counts, (count) => (total += count)), sum }
    },
  }
}
