/** A publishable key exchanged for a token: the exchange, its refreshes, requests with the token. */
import type { ActivationResult } from '#contract/resources/browser.ts'
import type { Activation, Renderer } from './renderer.ts'
import type { JsonResponse } from './request.ts'

/**
 * Exchanges a publishable key for a token, which it refreshes, and makes requests with it. Rejects when the service refuses the
 * key.
 */
export async function activate(
  { clock, requestJson, requestProblem }: Renderer,
  base_url: string,
  publishable_key: string,
): Promise<Omit<Activation, 'described'>> {
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
    request: (body, signal) => call('/v1/placements', { client_id: result.project_id, ...body }, signal),
    poll: (slot_id, query, signal) => call(`/v1/decisions/${slot_id}?${query}`, undefined, signal),
  }
}

/** Returns four fifths of the lifetime, or all but half a minute. A 401 refreshes too, so a wrong clock costs little. */
function refreshAfter(lifetime_ms: number): number {
  return Math.max(lifetime_ms * 0.8, lifetime_ms - 30_000)
}
