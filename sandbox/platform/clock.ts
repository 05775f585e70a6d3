/**
 * The sandbox clock: tokens, consent, rate windows, staleness and decision latency all read this one, so that a test
 * moves a whole life with `advance` and never sleeps.
 *
 * It is the machine's clock with an offset, or it stands still at an instant. A move is like a machine that wakes up: at
 * once it is the new time, and every alarm that has become due rings, in the order of their instants. A move back takes
 * nothing back: what has rung has rung, and whatever ends later lives longer.
 */
export interface Clock {
  /** Unix epoch milliseconds, an integer. */
  now(): number
  /** Calls `callback` once when the clock reaches `at_ms`; the returned function cancels it. */
  at(at_ms: number, callback: () => void): () => void
  /** Moves forward by `by_ms` milliseconds and runs what has become due, in order. */
  advance(by_ms: number): void
  /** Moves to an instant, back or forth, and runs what has become due. `null` is the time of the machine. */
  set(to_ms: number | null): void
  /** Stands still from now on, until it is moved or resumed. */
  freeze(): void
  /** Runs on from where it stands. */
  resume(): void
  /** What a database keeps of it. */
  state(): ClockState
  /** Takes up a state that was kept; null for the time of the machine. A manual clock stays as it is. */
  restore(state: ClockState | null): void
  /** Ahead of the machine's clock, milliseconds; negative behind it. */
  readonly offset_ms: number
  readonly frozen: boolean
}

export interface ClockState {
  /** Ahead of the machine's clock, milliseconds, while it runs. */
  offset_ms: number
  /** Where it stands still; null when it runs. */
  frozen_at_ms: number | null
}

/** A clock that stands still until the test that made it moves it: a sandbox neither keeps nor resets its time. */
export type ManualClock = Clock

interface Alarm {
  at_ms: number
  callback: () => void
  timer: NodeJS.Timeout | undefined
}

const longestTimeout = 0x7fffffff
const machineTime: ClockState = { offset_ms: 0, frozen_at_ms: null }

/** The clock of a sandbox: the time of the machine, until it is steered. */
export function sandboxClock(): Clock {
  return steerableClock(machineTime)
}

/** A clock for tests: starts at `start_ms` and moves only by `advance` and `set`. */
export function manualClock(start_ms = Date.UTC(2026, 0, 1)): ManualClock {
  const clock = steerableClock({ offset_ms: 0, frozen_at_ms: start_ms })
  clock.restore = () => {}
  return clock
}

function steerableClock(start: ClockState): Clock {
  let { offset_ms, frozen_at_ms } = start
  const alarms = new Set<Alarm>()
  const now = () => frozen_at_ms ?? Date.now() + offset_ms

  return {
    now,
    at(at_ms, callback) {
      const alarm: Alarm = { at_ms, callback, timer: undefined }
      alarms.add(alarm)
      arm(alarm)
      return () => drop(alarm)
    },
    advance: (by_ms) => moveTo(now() + by_ms),
    set: (to_ms) => moveTo(to_ms ?? Date.now(), to_ms === null ? 0 : undefined),
    freeze() {
      frozen_at_ms = now()
      rearm()
    },
    resume() {
      offset_ms = now() - Date.now()
      frozen_at_ms = null
      rearm()
    },
    state: () => ({ offset_ms, frozen_at_ms }),
    restore(state) {
      ;({ offset_ms, frozen_at_ms } = state ?? machineTime)
      rearm()
    },
    get offset_ms() {
      return frozen_at_ms === null ? offset_ms : frozen_at_ms - Date.now()
    },
    get frozen() {
      return frozen_at_ms !== null
    },
  }

  function moveTo(to_ms: number, exact_offset_ms = to_ms - Date.now()): void {
    if (frozen_at_ms === null) offset_ms = exact_offset_ms
    else frozen_at_ms = to_ms
    const due = [...alarms].filter(({ at_ms }) => at_ms <= now()).sort((a, b) => a.at_ms - b.at_ms)
    for (const alarm of due) ring(alarm)
    rearm()
  }

  function rearm(): void {
    for (const alarm of alarms) {
      clearTimeout(alarm.timer)
      arm(alarm)
    }
  }

  /** Timers have the last word on nothing: one that ends early, or a long one in pieces, is set again. */
  function arm(alarm: Alarm): void {
    const left_ms = Math.max(alarm.at_ms - now(), 0)
    if (frozen_at_ms !== null && left_ms > 0) return
    alarm.timer = setTimeout(() => (alarm.at_ms <= now() ? ring(alarm) : arm(alarm)), Math.min(left_ms, longestTimeout))
  }

  /** Not again, and not when another alarm has cancelled it just now. */
  function ring(alarm: Alarm): void {
    if (!alarms.has(alarm)) return
    drop(alarm)
    alarm.callback()
  }

  function drop(alarm: Alarm): void {
    clearTimeout(alarm.timer)
    alarms.delete(alarm)
  }
}
