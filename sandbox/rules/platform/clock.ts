/**
 * The sandbox clock. Tokens, consent, rate windows, staleness and decision latency all read it, so a test moves hours
 * ahead with `advance` and never sleeps.
 *
 * It is the system clock with an offset, or frozen at a timestamp. A move works like a computer that wakes up: the new
 * time applies at once, and every alarm that became due is called, in the order of their timestamps. A move back undoes
 * nothing: alarms that were called stay called, and later ones are called later.
 */
export interface Clock {
  /** Unix epoch milliseconds, an integer. */
  now(): number
  /** Calls `callback` once when the clock reaches `at_ms`; the returned function cancels it. */
  at(at_ms: number, callback: () => void): () => void
  /** Moves forward by `by_ms` milliseconds and calls the alarms that became due, in order. */
  advance(by_ms: number): void
  /** Moves to a timestamp, back or forward, and calls the alarms that became due. `null` is the system time. */
  set(to_ms: number | null): void
  /** Freezes the clock until it is moved or resumed. */
  freeze(): void
  /** Runs again from the frozen time. */
  resume(): void
  /** The state that a database stores. */
  state(): ClockState
  /** Restores a stored state; null for the system time. A manual clock does not change. */
  restore(state: ClockState | null): void
  /** Milliseconds ahead of the system clock; negative behind it. */
  readonly offset_ms: number
  readonly frozen: boolean
}

interface ClockState {
  /** Milliseconds ahead of the system clock, while it runs. */
  offset_ms: number
  /** The frozen time; null while it runs. */
  frozen_at_ms: number | null
}

/** A clock that stays frozen until its owner, a test, moves it: a sandbox neither stores nor resets its time. */
export type ManualClock = Clock

interface Alarm {
  at_ms: number
  callback: () => void
  timer: NodeJS.Timeout | undefined
}

const maxTimeoutMs = 0x7fffffff
const systemTime: ClockState = { offset_ms: 0, frozen_at_ms: null }

/** Returns the clock of a sandbox: the system time, until it is moved or frozen. */
export function sandboxClock(): Clock {
  return adjustableClock(systemTime)
}

/** Returns a clock for tests, which starts at `start_ms` and moves only by `advance` and `set`. */
export function manualClock(start_ms = Date.UTC(2026, 0, 1)): ManualClock {
  const clock = adjustableClock({ offset_ms: 0, frozen_at_ms: start_ms })
  clock.restore = () => {}
  return clock
}

function adjustableClock(start: ClockState): Clock {
  let { offset_ms, frozen_at_ms } = start
  const now = () => frozen_at_ms ?? Date.now() + offset_ms
  const alarms = createAlarms(now, () => frozen_at_ms !== null)

  return {
    now,
    at: alarms.add,
    advance: (by_ms) => moveTo(now() + by_ms),
    set: (to_ms) => moveTo(to_ms ?? Date.now(), to_ms === null ? 0 : undefined),
    freeze() {
      frozen_at_ms = now()
      alarms.resetTimers()
    },
    resume() {
      offset_ms = now() - Date.now()
      frozen_at_ms = null
      alarms.resetTimers()
    },
    state: () => ({ offset_ms, frozen_at_ms }),
    restore(state) {
      ;({ offset_ms, frozen_at_ms } = state ?? systemTime)
      alarms.resetTimers()
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
    alarms.callDue()
    alarms.resetTimers()
  }
}

function createAlarms(now: () => number, isFrozen: () => boolean) {
  const alarms = new Set<Alarm>()

  return { add, callDue, resetTimers }

  function add(at_ms: number, callback: () => void): () => void {
    const alarm: Alarm = { at_ms, callback, timer: undefined }
    alarms.add(alarm)
    setTimer(alarm)
    return () => cancel(alarm)
  }

  function callDue(): void {
    const due = [...alarms].filter(({ at_ms }) => at_ms <= now()).sort((a, b) => a.at_ms - b.at_ms)
    for (const alarm of due) call(alarm)
  }

  function resetTimers(): void {
    for (const alarm of alarms) {
      clearTimeout(alarm.timer)
      setTimer(alarm)
    }
  }

  /** A timer that ends early is set again, and a long one is set in pieces. */
  function setTimer(alarm: Alarm): void {
    const left_ms = Math.max(alarm.at_ms - now(), 0)
    if (isFrozen() && left_ms > 0) return
    alarm.timer = setTimeout(
      () => (alarm.at_ms <= now() ? call(alarm) : setTimer(alarm)),
      Math.min(left_ms, maxTimeoutMs),
    )
  }

  /** Calls an alarm once, unless another alarm has just cancelled it. */
  function call(alarm: Alarm): void {
    if (!alarms.has(alarm)) return
    cancel(alarm)
    alarm.callback()
  }

  function cancel(alarm: Alarm): void {
    clearTimeout(alarm.timer)
    alarms.delete(alarm)
  }
}
