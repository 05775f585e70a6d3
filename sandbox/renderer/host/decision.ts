/** The decision of the service: requesting it until it is decided, as a browser with its own token, and reading it. */
import type { ActivationResult } from '../../../src/contract/resources/browser.ts'
import type { Placement } from '../../../src/contract/resources/placements.ts'
import { isObject } from '../../../src/foundation/json.ts'
import { isWhole } from './consent.ts'
import {
  type Activation,
  type Clock,
  type JsonResponse,
  pause,
  type RendererError,
  requestJson,
  requestProblem,
} from './renderer.ts'

/** How long the service may hold one poll. */
const poll_wait_ms = 2_000
const poll_pause_ms = 250
const poll_timeout_ms = 30_000

const max_retries = 2
/** With a longer wait the turn has moved on. */
const max_retry_wait_ms = 10_000

interface DecisionRequest {
  request: () => Promise<JsonResponse>
  /** Requests the decision of a slot; `query` says how long the service may wait. */
  poll: (slot_id: string, query: string) => Promise<JsonResponse>
  clock: Clock
  /** Ends the polling; a request in flight is not aborted. */
  signal: AbortSignal | undefined
}

/**
 * Requests a placement and polls until it is decided. Resolves with the last response: decided, unless time ran out.
 * Rejects on an error response. A 429 or 503 is retried after its Retry-After; without one, never.
 */
export async function requestDecision({ request, poll, clock, signal }: DecisionRequest): Promise<unknown> {
  const until = performance.now() + poll_timeout_ms
  let send = request
  for (let retries = 0; ; ) {
    const response = await send()
    clock.compare(response.date_ms)
    let wait_ms = poll_pause_ms
    if (response.ok) {
      const decision = readDecision(response.body)
      if (decision.kind !== 'pending' || performance.now() > until) return response.body
      send = () => poll(decision.slot_id, `wait_ms=${poll_wait_ms}`)
    } else {
      wait_ms = response.retry_after_ms ?? Infinity
      if (wait_ms > max_retry_wait_ms || retries++ >= max_retries) throw requestProblem(response)
    }
    await pause(wait_ms, signal)
    if (!signal?.aborted) continue
    if (response.ok) return response.body
    throw requestProblem(response)
  }
}

type Decision =
  | { kind: 'filled'; placement: Placement }
  | { kind: 'no_fill'; no_fill_reason: string }
  | { kind: 'pending'; slot_id: string }
  | { kind: 'expired' }
  | { kind: 'unreadable'; got: string[] }

/** Reads a v1 placement response. Anything that is not one is `unreadable`, with the fields found. */
export function readDecision(response: unknown): Decision {
  if (!isObject(response)) return { kind: 'unreadable', got: [response === null ? 'null' : typeof response] }
  const { slot_id, status, placement, decision } = response
  if (isObject(placement)) {
    return isPlacement(placement)
      ? { kind: 'filled', placement: placement as unknown as Placement }
      : { kind: 'unreadable', got: Object.keys(placement).map((key) => `placement.${key}`) }
  }
  if (isObject(decision) && decision.fill === false) {
    return { kind: 'no_fill', no_fill_reason: String(decision.no_fill_reason) }
  }
  if (status === 'pending' && typeof slot_id === 'string') return { kind: 'pending', slot_id }
  if (status === 'expired') return { kind: 'expired' }
  return { kind: 'unreadable', got: Object.keys(response) }
}

/** Returns the error of a decision that is neither a fill nor a no-fill. */
export function decisionError(decision: Exclude<Decision, { kind: 'filled' | 'no_fill' }>): RendererError {
  return decision.kind === 'unreadable'
    ? { code: 'response_unreadable', got: decision.got }
    : { code: `decision_${decision.kind}` }
}

/** Whether a placement has everything that is needed to render it. */
function isPlacement({ asset_token, render }: Record<string, unknown>): boolean {
  if (typeof asset_token !== 'string' || !isObject(render)) return false
  const { strategy, frame_url, media_type, width, height, label_text, sponsor_name } = render
  return (
    strategy === 'hosted_frame' &&
    typeof frame_url === 'string' &&
    /^https?:\/\//.test(frame_url) &&
    URL.canParse(frame_url) &&
    ['image', 'video', 'native'].includes(media_type as string) &&
    [width, height].every((size) => isWhole(size) && size <= 4_096) &&
    [label_text, sponsor_name].every((text) => typeof text === 'string' && text.trim() !== '')
  )
}

/**
 * Exchanges a publishable key for a token, which it refreshes, and requests placements with it. Rejects when the service refuses
 * the key.
 */
export async function activate(base_url: string, publishable_key: string, clock: Clock): Promise<Activation> {
  let exchanging: Promise<void> | null = null
  let result: ActivationResult
  let refresh_at = 0

  const exchange = async (): Promise<void> => {
    const response = await requestJson(`${base_url}/v1/browser/activate`, { body: { publishable_key } })
    clock.compare(response.date_ms)
    const given = response.body as ActivationResult | null
    if (!response.ok || typeof given?.activation_token !== 'string' || !Number.isSafeInteger(given.expires_at_ms)) {
      throw requestProblem(response)
    }
    result = given
    refresh_at = performance.now() + refreshAfter(result.expires_at_ms - clock.now())
  }
  /** Turns that need a token at the same time share one exchange. */
  const refresh = (): Promise<void> => {
    exchanging ??= exchange().finally(() => {
      exchanging = null
    })
    return exchanging
  }
  const call = async (path: string, body?: object, signal?: AbortSignal): Promise<JsonResponse> => {
    if (performance.now() >= refresh_at) await refresh()
    const token = result.activation_token
    const request = () => requestJson(base_url + path, { body, signal, token: result.activation_token })
    const response = await request()
    if (response.status !== 401) return response
    if (token === result.activation_token) await refresh()
    return request()
  }

  await refresh()
  return {
    result: () => result,
    requestPlacement: (body, signal, waiting = signal) =>
      requestDecision({
        request: () => call('/v1/placements', { client_id: result.project_id, ...body }, signal),
        poll: (slot_id, query) => call(`/v1/decisions/${slot_id}?${query}`, undefined, signal),
        clock,
        signal: waiting,
      }),
  }
}

/** Returns four fifths of the lifetime, or all but half a minute. A 401 refreshes too, so a wrong clock costs little. */
function refreshAfter(lifetime_ms: number): number {
  return Math.max(lifetime_ms * 0.8, lifetime_ms - 30_000)
}
