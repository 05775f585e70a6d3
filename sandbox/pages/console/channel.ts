/**
 * What only the sandbox knows of the ads of this page, asked for by their asset tokens: once a second while the page is visible,
 * and at once after a beacon. Without a sandbox that answers, the console shows what the page knows.
 */
import { type ConsoleSlot, type ConsoleSlots, maxConsoleTokens } from '#contract/resources/sandbox/console-slots.ts'
import { isObject } from '#foundation/json.ts'
import type { ConsolePage } from '#renderer/host/console-page.ts'

const pollIntervalMs = 1_000
/** Each failure doubles the wait up to this one. */
const maxWaitMs = 16_000
const timeoutMs = 5_000

/** `silent`: no response, which is also what a page of an origin gets that no project allows. */
type ChannelState =
  | { status: 'opening' }
  | { status: 'live' }
  | { status: 'silent' }
  | { status: 'refused'; http_status: number }
  | { status: 'csp_blocked' }

export interface Channel {
  readonly state: ChannelState
  /** Returns the time of the sandbox, Unix epoch milliseconds, by its last response: its clock can be moved. Null before one. */
  now(): number | null
  /** Returns what the sandbox said last of an ad; null when it does not know it, undefined before it has answered. */
  find(asset_token: string): ConsoleSlot | null | undefined
  /** Asks now. Never rejects. */
  refresh(): Promise<void>
  close(): void
}

/** `onChange` is called after each response and failure. */
export function openChannel(page: ConsolePage, onChange: () => void): Channel {
  const slots = new Map<string, ConsoleSlot | null>()
  let state: ChannelState = { status: 'opening' }
  let timer: ReturnType<typeof setTimeout> | undefined
  let asking: Promise<void> | null = null
  let wait_ms = pollIntervalMs
  /** The time of the sandbox when the time of this page was 0. */
  let origin_ms: number | null = null
  const over = new AbortController()

  function refresh(): Promise<void> {
    clearTimeout(timer)
    asking ??= ask().finally(() => {
      asking = null
      schedule()
      if (!over.signal.aborted) onChange()
    })
    return asking
  }
  async function ask(): Promise<void> {
    const asset_tokens = page.ads().map(({ asset_token }) => asset_token)
    try {
      const response = await post(`${page.base_url}/_sandbox/console/page/slots`, {
        body: { asset_tokens: asset_tokens.slice(-maxConsoleTokens) },
        signal: over.signal,
      })
      const received: unknown = response.ok ? await response.json() : null
      if (!isSlots(received)) return fail({ status: 'refused', http_status: response.status })
      for (const token of asset_tokens.slice(-maxConsoleTokens)) slots.set(token, slots.get(token) ?? null)
      for (const slot of received.slots) slots.set(slot.asset_token, slot)
      origin_ms = received.server_time_ms - performance.now()
      state = { status: 'live' }
      wait_ms = pollIntervalMs
    } catch {
      // The event about a blocked request follows its failure.
      await new Promise((resolve) => setTimeout(resolve))
      if (state.status !== 'csp_blocked') fail({ status: 'silent' })
    }
  }
  function fail(next: ChannelState): void {
    state = next
    wait_ms = Math.min(wait_ms * 2, maxWaitMs)
  }
  function schedule(): void {
    const isOver = over.signal.aborted || state.status === 'csp_blocked'
    if (!isOver && document.visibilityState === 'visible') timer = setTimeout(refresh, wait_ms)
  }

  const { signal } = over
  const onVisible = (): void => {
    if (document.visibilityState === 'visible') void refresh()
    else clearTimeout(timer)
  }
  document.addEventListener('visibilitychange', onVisible, { signal })
  const onViolation = ({ disposition, effectiveDirective, blockedURI }: SecurityPolicyViolationEvent): void => {
    if (disposition !== 'enforce' || effectiveDirective !== 'connect-src' || state.status === 'csp_blocked') return
    if (!page.base_url.startsWith(parseOrigin(blockedURI))) return
    state = { status: 'csp_blocked' }
    console.warn(`[sponsored placement] console: csp_blocked. Add ${parseOrigin(blockedURI)} to connect-src.`)
  }
  document.addEventListener('securitypolicyviolation', onViolation, { signal })

  return {
    get state() {
      return state
    },
    now: () => (origin_ms === null ? null : origin_ms + performance.now()),
    find: (asset_token) => slots.get(asset_token),
    refresh,
    close: () => {
      over.abort()
      clearTimeout(timer)
    },
  }
}

/** POSTs JSON to the sandbox, without cookies. Rejects on network errors, abort or after 5 s without a response. */
export async function post(
  url: string,
  { body, token = null, signal }: { body: object; token?: string | null; signal: AbortSignal },
): Promise<Response> {
  // Browsers before 2024 cannot join two signals.
  const either = new AbortController()
  const stop = (): void => either.abort()
  const timer = setTimeout(stop, timeoutMs)
  signal.addEventListener('abort', stop, { signal: either.signal })
  if (signal.aborted) stop()
  try {
    return await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token !== null && { authorization: `Bearer ${token}` }) },
      body: JSON.stringify(body),
      credentials: 'omit',
      cache: 'no-store',
      referrerPolicy: 'no-referrer',
      signal: either.signal,
    })
  } finally {
    clearTimeout(timer)
  }
}

function isSlots(value: unknown): value is ConsoleSlots {
  return (
    isObject(value) &&
    typeof value.server_time_ms === 'number' &&
    Array.isArray(value.slots) &&
    value.slots.every((slot) => isObject(slot) && typeof slot.asset_token === 'string')
  )
}

function parseOrigin(url: string): string {
  try {
    return new URL(url).origin
  } catch {
    return url
  }
}
