/** Waits for the rate limit of another service, in a row: each is reported, and there is an end to them. */
import { QaError } from '../result.ts'

/** After this many 429s in a row a service is not worth waiting for. */
const maxLimitedInRow = 8

export interface RatePatience {
  /** Aborted, with a QaError as its reason, when the service is over its limit again and again. */
  signal: AbortSignal
  /** Notes a 429 and the wait after it, milliseconds. */
  note(wait_ms: number): void
  /** Notes any other response. */
  reset(): void
}

/** @param onWait is called before each wait, milliseconds */
export function createRatePatience(base_url: string, onWait: (wait_ms: number) => void): RatePatience {
  const ended = new AbortController()
  let count = 0
  return {
    signal: ended.signal,
    note(wait_ms) {
      if (++count < maxLimitedInRow) onWait(wait_ms)
      else ended.abort(createLimitError(base_url))
    },
    reset() {
      count = 0
    },
  }
}

function createLimitError(base_url: string): QaError {
  return new QaError(
    'target_rate_limited',
    `${base_url} responded with 429 ${maxLimitedInRow} times in a row.`,
    'Wait until its rate limit permits requests, or use another key.',
  )
}
