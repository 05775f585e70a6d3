/**
 * The time to stamp with, Unix epoch milliseconds. The user's clock may be wrong, so the server's time, once a frame
 * has told it, wins; it is carried on by the monotonic clock.
 */
export interface Clock {
  now(): number
  learn(server_time_ms: number): void
  /** Hears the Date of an answer, in whole seconds: it only mends what is off by more. NaN says nothing. */
  compare(date_ms: number): void
}

/** More than a Date and its way here can be off, milliseconds. */
const doubtful_ms = 2_500

export function openClock(): Clock {
  let now = (): number => Date.now()
  const learn = (server_time_ms: number): void => {
    const offset = server_time_ms - performance.now()
    now = () => Math.round(offset + performance.now())
  }
  return {
    now: () => now(),
    learn,
    compare: (date_ms) => {
      if (Math.abs(date_ms - now()) > doubtful_ms) learn(date_ms)
    },
  }
}
