/** A browser integration: exchanges a publishable key for a token and requests placements with it. */
import type { ActivationResult } from '../../../src/contract/v1/browser.ts'
import { askForPlacement } from './asking.ts'
import type { Clock } from './clock.ts'
import { type JsonAnswer, RequestProblem, requestJson } from './request.ts'

export interface Activation {
  /** The present token and what it belongs to. */
  result(): ActivationResult
  /** POST /v1/placements, then polling until it is decided. `client_id` is filled in. Rejects on an error answer; `waiting` ends the polling. */
  requestPlacement(body?: object, signal?: AbortSignal, waiting?: AbortSignal): Promise<unknown>
}

export async function activate(base_url: string, publishable_key: string, clock: Clock): Promise<Activation> {
  let exchanging: Promise<void> | null = null
  let result: ActivationResult
  let refresh_at = 0

  const exchange = async (): Promise<void> => {
    const answer = await requestJson(`${base_url}/v1/browser/activate`, { body: { publishable_key } })
    clock.compare(answer.date_ms)
    const given = answer.body as ActivationResult | null
    if (!answer.ok || typeof given?.activation_token !== 'string' || !Number.isSafeInteger(given.expires_at_ms)) {
      throw new RequestProblem(answer)
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
  const call = async (path: string, body?: object, signal?: AbortSignal): Promise<JsonAnswer> => {
    if (performance.now() >= refresh_at) await refresh()
    const token = result.activation_token
    const request = () => requestJson(base_url + path, { body, signal, token: result.activation_token })
    const answer = await request()
    if (answer.status !== 401) return answer
    if (token === result.activation_token) await refresh()
    return request()
  }

  await refresh()
  return {
    result: () => result,
    requestPlacement: (body, signal, waiting = signal) =>
      askForPlacement({
        request: () => call('/v1/placements', { client_id: result.project_id, ...body }, signal),
        poll: (slot_id, query) => call(`/v1/decisions/${slot_id}?${query}`, undefined, signal),
        clock,
        signal: waiting,
      }),
  }
}

/** At four fifths of its lifetime, or half a minute before its end. A 401 refreshes too, so a wrong clock costs little. */
function refreshAfter(lifetime_ms: number): number {
  return Math.max(lifetime_ms * 0.8, lifetime_ms - 30_000)
}
