/**
 * The sandbox clock: tokens, consent, rate windows, staleness and decision latency all read this one, so that a test
 * moves a whole life with `advance` and never sleeps.
 */
export interface Clock {
  /** Unix epoch milliseconds, an integer. */
  now(): number
  /** Calls `callback` once when the clock reaches `at_ms`; the returned function cancels it. */
  at(at_ms: number, callback: () => void): () => void
  readonly offset_ms: number
  readonly frozen: boolean
}

/** A clock that stands still until it is moved. */
export interface ManualClock extends Clock {
  /** Moves forward by `by_ms` milliseconds and runs what has become due, in order. */
  advance(by_ms: number): void
  /** Moves to an instant, back or forth. */
  set(to_ms: number): void
}

const longestTimeout = 0x7fffffff

/** The machine's clock. */
export function systemClock(): Clock {
  return {
    now: () => Date.now(),
    at(at_ms, callback) {
      const left = () => Math.min(Math.max(at_ms - Date.now(), 0), longestTimeout)
      const ring = () => {
        if (Date.now() >= at_ms) callback()
        else timer = setTimeout(ring, left())
      }
      let timer = setTimeout(ring, left())
      return () => clearTimeout(timer)
    },
    offset_ms: 0,
    frozen: false,
  }
}

/** A clock for tests: starts at `start_ms` and moves only by `advance` and `set`. */
export function manualClock(start_ms = Date.UTC(2026, 0, 1)): ManualClock {
  let now_ms = start_ms
  let alarms: { at_ms: number; callback: () => void }[] = []
  const ring = () => {
    const due = alarms.filter((alarm) => alarm.at_ms <= now_ms).sort((a, b) => a.at_ms - b.at_ms)
    alarms = alarms.filter((alarm) => alarm.at_ms > now_ms)
    for (const alarm of due) alarm.callback()
  }
  return {
    now: () => now_ms,
    at(at_ms, callback) {
      const alarm = { at_ms, callback }
      alarms.push(alarm)
      if (at_ms <= now_ms) queueMicrotask(ring)
      return () => {
        alarms = alarms.filter((other) => other !== alarm)
      }
    },
    advance(by_ms) {
      now_ms += by_ms
      ring()
    },
    set(to_ms) {
      now_ms = to_ms
      ring()
    },
    get offset_ms() {
      return now_ms - Date.now()
    },
    frozen: true,
  }
}
