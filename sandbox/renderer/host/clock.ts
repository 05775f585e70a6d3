/**
 * The time to stamp with, Unix epoch milliseconds. The user's clock may be wrong, so the server's time, once a frame
 * has told it, wins; it is carried on by the monotonic clock.
 */
export interface Clock {
  now(): number
  learn(server_time_ms: number): void
}

export function openClock(): Clock {
  let now = (): number => Date.now()
  return {
    now: () => now(),
    learn: (server_time_ms) => {
      const offset = server_time_ms - performance.now()
      now = () => Math.round(offset + performance.now())
    },
  }
}
