/** A browser integration: exchanges a publishable key for a token and requests placements with it. */
import type { ActivationResult } from '../../../src/contract/v1/activation.ts'
import { readAnswer } from './decision.ts'
import { fetchJson, RequestProblem } from './request.ts'

/** How long one look at a pending decision waits, and all of them together, milliseconds. */
const poll_wait_ms = 2_000
const poll_pause_ms = 250
const poll_at_most_ms = 30_000

export interface Activation {
  readonly project_id: string
  readonly key_id: string
  readonly expires_at_ms: number
  /** The present activation token. */
  token(): string
  /** POST /v1/placements, then polling until it is decided. `client_id` is filled in. Rejects on an error answer. */
  requestPlacement(body?: object, signal?: AbortSignal): Promise<unknown>
}

export async function activate(base_url: string, publishable_key: string, now: () => number): Promise<Activation> {
  let exchanging: Promise<void> | null = null
  let result: ActivationResult
  let refresh_at = 0

  const exchange = async (): Promise<void> => {
    result = (await fetchJson(`${base_url}/v1/browser/activate`, { body: { publishable_key } })) as ActivationResult
    refresh_at = performance.now() + refreshAfter(result.expires_at_ms - now())
  }
  /** Turns that need a token at the same time share one exchange. */
  const refresh = (): Promise<void> => {
    exchanging ??= exchange().finally(() => {
      exchanging = null
    })
    return exchanging
  }
  const call = async (path: string, body?: object, signal?: AbortSignal): Promise<unknown> => {
    if (performance.now() >= refresh_at) await refresh()
    const request = (): Promise<unknown> => fetchJson(base_url + path, { body, signal, token: result.activation_token })
    return request().catch(async (problem) => {
      if (!(problem instanceof RequestProblem) || problem.status !== 401) throw problem
      await refresh()
      return request()
    })
  }

  await refresh()
  return {
    get project_id() {
      return result.project_id
    },
    get key_id() {
      return result.key_id
    },
    get expires_at_ms() {
      return result.expires_at_ms
    },
    token: () => result.activation_token,
    requestPlacement: async (body, signal) => {
      let response = await call('/v1/placements', { client_id: result.project_id, ...body }, signal)
      const until = performance.now() + poll_at_most_ms
      for (;;) {
        const answer = readAnswer(response)
        if (answer.kind !== 'pending' || performance.now() > until || signal?.aborted) return response
        await new Promise((resolve) => setTimeout(resolve, poll_pause_ms))
        response = await call(`/v1/decisions/${answer.slot_id}?wait_ms=${poll_wait_ms}`, undefined, signal)
      }
    },
  }
}

/** At four fifths of its lifetime, or half a minute before its end. A 401 refreshes too, so a wrong clock costs little. */
function refreshAfter(lifetime_ms: number): number {
  return Math.max(lifetime_ms * 0.8, lifetime_ms - 30_000)
}
