/** The time for beacons and consent. */

/** Largest error of a Date header and its way here, milliseconds. */
const dateToleranceMs = 2_500

export type Clock = ReturnType<typeof openClock>

/**
 * Opens the clock of a page, Unix epoch milliseconds. The user's clock may be wrong, so the server time wins once a response
 * or a frame has sent it. The monotonic clock carries it on, and the user's clock where the monotonic one stood still, as it
 * does in most browsers while the computer sleeps.
 */
export function openClock() {
  let time_ms: number
  let monotonic_ms: number
  let wall_ms: number
  const set = (now_ms: number): void => {
    time_ms = now_ms
    monotonic_ms = performance.now()
    wall_ms = Date.now()
  }
  set(Date.now())
  const now = (): number => Math.round(time_ms + Math.max(performance.now() - monotonic_ms, Date.now() - wall_ms))
  const steady = (): number => Math.round(time_ms + performance.now() - monotonic_ms)
  let frame_tolerance_ms = 0
  const clock = {
    /** Whether a server has sent its time. Until then the user's clock is all there is. */
    isSynced: false,
    now,
    /** The time by the monotonic clock alone, which nobody can set: it is behind after the computer slept. */
    steady,
    /** Compares with a Date header, in whole seconds: only a larger difference is corrected. NaN is ignored. */
    compare: (date_ms: number, tolerance_ms = dateToleranceMs): void => {
      if (!date_ms) return
      clock.isSynced = true
      if (Math.abs(date_ms - now()) > tolerance_ms || Math.abs(date_ms - steady()) > tolerance_ms) set(date_ms)
    },
    /** Frames of one page take their time to load: once one has set the clock, later ones leave it alone. */
    setServerTime: (server_time_ms: number): void => {
      clock.compare(server_time_ms, frame_tolerance_ms)
      frame_tolerance_ms = dateToleranceMs
    },
  }
  return clock
}
