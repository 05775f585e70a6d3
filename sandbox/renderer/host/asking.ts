/**
 * Asks for a placement until it is decided.
 *
 * Pending is not no-fill, and one look is not polling: it is asked for again by its slot. A rate limit or an outage is
 * waited for as Retry-After says, and without that not at all.
 */
import type { Clock } from './clock.ts'
import { readAnswer } from './decision.ts'
import { type JsonAnswer, pause, RequestProblem } from './request.ts'

/** How long one look at a pending decision waits, and all of them together, milliseconds. */
const poll_wait_ms = 2_000
const poll_pause_ms = 250
const poll_at_most_ms = 30_000

const most_retries = 2
/** Later than this, the turn has moved on. */
const longest_wait_ms = 10_000

export interface Asking {
  request: () => Promise<JsonAnswer>
  /** Looks again; `query` names the slot and how long to wait. */
  poll: (slot_id: string, query: string) => Promise<JsonAnswer>
  clock: Clock
  /** Ends the waiting; what is under way is left to end by itself. */
  signal: AbortSignal | undefined
}

/** The last placement response: decided, unless time ran out. Rejects with RequestProblem on an error answer. */
export async function askForPlacement({ request, poll, clock, signal }: Asking): Promise<unknown> {
  const until = performance.now() + poll_at_most_ms
  let look = request
  for (let retries = 0; ; ) {
    const answer = await look()
    clock.compare(answer.date_ms)
    let wait_ms = poll_pause_ms
    if (answer.ok) {
      const read = readAnswer(answer.body)
      if (read.kind !== 'pending' || performance.now() > until) return answer.body
      look = () => poll(read.slot_id, `wait_ms=${poll_wait_ms}`)
    } else {
      wait_ms = answer.retry_after_ms ?? Infinity
      if (wait_ms > longest_wait_ms || retries++ >= most_retries) throw new RequestProblem(answer)
    }
    await pause(wait_ms, signal)
    if (!signal?.aborted) continue
    if (answer.ok) return answer.body
    throw new RequestProblem(answer)
  }
}
