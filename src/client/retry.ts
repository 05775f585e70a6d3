/**
 * Retries that never double a placement. A request may be sent again when it cannot have taken effect, or when sending it
 * twice is the same as once. Pauses grow, with jitter, and are at least as long as the service demands by Retry-After.
 */
import { neverArrived } from './connection.ts'
import { ServiceError, UnreachableError } from './errors.ts'

/**
 * - `repeatable`: sending it twice is the same as once: a GET, or a beacon, whose `beacon_id` makes it one.
 * - `once`: a POST that creates something. It has no idempotency key, so it is sent again only when it was refused for its
 *   rate (429), or never reached the service.
 */
export type Repetition = 'repeatable' | 'once'

export interface RetryOptions {
  /** Attempts after the first. Default 2; 0 turns retries off. */
  retries?: number | undefined
  /** The longest pause that is waited for, milliseconds; a longer Retry-After is an error at once. Default 10 000. */
  max_pause_ms?: number | undefined
}

const first_ms = 250
const longest_ms = 2_000

/** Calls `attempt` until it succeeds, its error is none that a retry may fix, or the retries are used up. */
export async function withRetries<T>(
  attempt: () => Promise<T>,
  repetition: Repetition,
  { retries = 2, max_pause_ms = 10_000 }: RetryOptions,
  signal: AbortSignal | undefined,
): Promise<T> {
  for (let count = 0; ; count++) {
    try {
      return await attempt()
    } catch (error) {
      const pause_ms = Math.max(backoff(count), demandedPause(error))
      if (count >= retries || pause_ms > max_pause_ms || !mayRepeat(error, repetition)) throw error
      await pause(pause_ms, signal)
    }
  }
}

/** Returns the pause before an attempt, milliseconds: 250, 375, 563 and so on up to 2000, less a quarter at random. */
export function backoff(count: number): number {
  const [dice = 0] = crypto.getRandomValues(new Uint32Array(1))
  return Math.min(longest_ms, first_ms * 1.5 ** count) * (1 - dice / 2 ** 34)
}

/** Resolves after a time. Rejects with the reason of the signal when it is aborted meanwhile. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason)
    const abort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', abort, { once: true })
  })
}

function demandedPause(error: unknown): number {
  return error instanceof ServiceError ? (error.retry_after_s ?? 0) * 1_000 : 0
}

function mayRepeat(error: unknown, repetition: Repetition): boolean {
  if (error instanceof ServiceError) {
    return error.status === 429 || (repetition === 'repeatable' && error.status >= 500)
  }
  return error instanceof UnreachableError && (repetition === 'repeatable' || neverArrived(error.cause))
}
