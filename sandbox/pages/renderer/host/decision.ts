/** The decision of the service: requesting it until it is decided, and reading it. */
import type { Placement } from '#contract/resources/placements.ts'
import { isObject } from '#foundation/json.ts'
import type { Clock } from './clock.ts'
import { isWhole } from './consent.ts'
import type { RendererError } from './events.ts'
import { type JsonResponse, pause, requestProblem } from './request.ts'

/** How long the service may hold one poll. */
const pollWaitMs = 2_000
const pollPauseMs = 250
const pollTimeoutMs = 30_000

const maxRetries = 2
/** With a longer wait the turn has moved on. */
const maxRetryWaitMs = 10_000

interface DecisionRequest {
  /** Sends the request; a retry must be sent again. */
  request: (isRetry: boolean) => Promise<JsonResponse>
  /** Requests the decision of a slot; `query` says how long the service may wait. */
  poll: (slot_id: string, query: string) => Promise<JsonResponse>
  /** Set by responses of the service itself; null where the page's own backend responds, whose clock may be wrong. */
  clock: Clock | null
  /** Ends the polling; a request in flight is not aborted. */
  signal: AbortSignal | undefined
}

/**
 * Requests a placement and polls until it is decided. Resolves with the last response: decided, unless time ran out.
 * Rejects on an error response. A 429 or 503 is retried after its Retry-After; without one, never.
 */
export async function requestDecision({ request, poll, clock, signal }: DecisionRequest): Promise<JsonResponse> {
  const until = performance.now() + pollTimeoutMs
  let send: (isRetry: boolean) => Promise<JsonResponse> = request
  for (let retries = 0; ; ) {
    const response = await send(retries > 0)
    clock?.compare(response.date_ms)
    let wait_ms = pollPauseMs
    if (response.ok) {
      const decision = readDecision(response.body)
      if (decision.kind !== 'pending' || performance.now() > until) return response
      send = () => poll(decision.slot_id, `wait_ms=${pollWaitMs}`)
    } else {
      wait_ms = response.retry_after_ms ?? Infinity
      if (wait_ms > maxRetryWaitMs || retries++ >= maxRetries) throw requestProblem(response)
    }
    await pause(wait_ms, signal)
    if (!signal?.aborted) continue
    if (response.ok) return response
    throw requestProblem(response)
  }
}

type Decision =
  | { kind: 'filled'; placement: Placement }
  | { kind: 'no_fill'; no_fill_reason: string }
  | { kind: 'pending'; slot_id: string }
  | { kind: 'expired' }
  | { kind: 'unreadable'; got: string[]; wrapped_in?: string | undefined }

/** Reads a v1 placement response. Anything that is not one is `unreadable`, with the fields found. */
export function readDecision(response: unknown): Decision {
  if (!isObject(response)) return { kind: 'unreadable', got: [`${typeof response}: ${response}`.slice(0, 48)] }
  const { slot_id, status, placement, decision } = response
  if (isObject(placement)) {
    return isPlacement(placement)
      ? { kind: 'filled', placement }
      : { kind: 'unreadable', got: Object.keys(placement).map((key) => `placement.${key}`) }
  }
  if (isObject(decision) && decision.fill === false) {
    return { kind: 'no_fill', no_fill_reason: String(decision.no_fill_reason) }
  }
  if (status === 'pending' && typeof slot_id === 'string') return { kind: 'pending', slot_id }
  if (status === 'expired') return { kind: 'expired' }
  const got = Object.keys(response)
  const wrapped_in = got.find((key) => isObject(response[key]) && 'placement' in response[key])
  return { kind: 'unreadable', got, wrapped_in }
}

/** Returns the session that a response names, or an empty text: a backend that chooses sessions itself may add it. */
export function readSession(response: unknown): string {
  return isObject(response) && typeof response.session_id === 'string' ? response.session_id : ''
}

/** Returns the error of a decision that is neither a fill nor a no-fill. */
export function decisionError(decision: Exclude<Decision, { kind: 'filled' | 'no_fill' }>): RendererError {
  const { kind } = decision
  if (kind !== 'unreadable') return { code: `decision_${kind}` }
  const { got, wrapped_in } = decision
  return { code: 'response_unreadable', got, wrapped_in }
}

const mediaTypes: readonly unknown[] = ['image', 'video', 'native']

function isPlacement(placement: Record<string, unknown>): placement is Record<string, unknown> & Placement {
  const { asset_token, render } = placement
  if (typeof asset_token !== 'string' || !isObject(render)) return false
  const { strategy, frame_url, media_type, width, height, label_text, sponsor_name } = render
  return (
    strategy === 'hosted_frame' &&
    typeof frame_url === 'string' &&
    isHttpUrl(frame_url) &&
    mediaTypes.includes(media_type) &&
    [width, height].every((size) => isWhole(size) && size <= 4_096) &&
    [label_text, sponsor_name].every((text) => typeof text === 'string' && text.trim() !== '')
  )
}

function isHttpUrl(text: string): boolean {
  try {
    return /^https?:$/.test(new URL(text).protocol)
  } catch {
    return false
  }
}
