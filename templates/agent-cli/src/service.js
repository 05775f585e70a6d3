/** Calls to the placement service. They never throw: an ad problem must not become a problem of the task. */
import { setTimeout as sleep } from 'node:timers/promises'

const most_tries = 3
const timeout_ms = 8_000

/**
 * One request, with retries: soon after no response or a 5xx, after a 429 only if it has a Retry-After. A
 * retry is safe for beacons, whose id counts once, and for reads; `once` is for everything else.
 * @returns {Promise<object | null>} the response body; null for any error, and when `signal` is aborted
 */
export async function call({ base_url, secret_key }, method, path, { body, signal, once = false } = {}) {
  for (let tries = 1; ; tries++) {
    const answer = await exchange(new URL(path, base_url), secret_key, method, body, signal)
    if (answer.ok) return answer.body
    const wait_ms = waitBeforeRetry(answer, tries)
    const isFinal = wait_ms === null || tries === most_tries || (once && answer.status !== 429)
    if (isFinal || signal?.aborted) return null
    if (!(await slept(wait_ms, signal))) return null
  }
}

async function exchange(url, secret_key, method, body, signal) {
  try {
    const response = await fetch(url, {
      method,
      headers: { authorization: `Bearer ${secret_key}`, ...(body && { 'content-type': 'application/json' }) },
      body: body && JSON.stringify(body),
      signal: AbortSignal.any([AbortSignal.timeout(timeout_ms), ...(signal ? [signal] : [])]),
    })
    const { ok, status, headers } = response
    return { ok, status, headers, body: ok ? await response.json() : null }
  } catch {
    return { ok: false, status: 0, headers: new Headers(), body: null }
  }
}

/** Milliseconds until the next attempt, or null when the response is final. */
export function waitBeforeRetry({ status, headers }, tries) {
  if (status !== 0 && status !== 429 && status < 500) return null
  const header = headers.get('retry-after')
  if (header === null) return status === 429 ? null : tries * 250
  const seconds = Number(header)
  const now = Date.parse(headers.get('date') ?? '') || Date.now()
  return Math.max(0, Number.isNaN(seconds) ? Date.parse(header) - now : seconds * 1_000)
}

/** Whether the full time has passed. */
function slept(wait_ms, signal) {
  return sleep(wait_ms, undefined, { signal, ref: false }).then(
    () => true,
    () => false,
  )
}
