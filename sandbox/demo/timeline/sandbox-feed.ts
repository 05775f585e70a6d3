/** What the sandbox has recorded, as it happens, on this page's clock. */
import type { SandboxEvent } from '../../../src/contract/control/events.ts'
import type { SandboxInfo } from '../../../src/contract/control/sandbox.ts'

export interface SandboxFeed {
  /** `performance.now()` of an instant of the sandbox clock, as well as it is known. */
  toPageTime(at_ms: number): number
}

/** Further off than this, the sandbox clock has been moved since it was read. Milliseconds. */
const plausible_ms = 5_000

/** Follows the events of one project from `since_seq` on. `told` gets each with its time on this page. */
export function openSandboxFeed(
  client_id: string,
  since_seq: number,
  told: (event: SandboxEvent, at: number) => void,
  isLive: (live: boolean) => void,
): SandboxFeed {
  let offset_ms: number | null = null

  const toPageTime = (at_ms: number): number => {
    const now = performance.now()
    if (offset_ms === null) return now
    const at = at_ms - offset_ms
    if (at > now + 50 || at < now - plausible_ms) {
      void readOffset().then((offset) => {
        offset_ms = offset
      })
      return now
    }
    return Math.min(at, now)
  }
  void readOffset().then((offset) => {
    offset_ms = offset
  })

  const query = new URLSearchParams({ client_id, since_seq: String(since_seq) })
  const source = new EventSource(`/_sandbox/events?${query}`)
  const hear = ({ data }: MessageEvent<string>) => {
    const event = JSON.parse(data) as SandboxEvent
    told(event, toPageTime(event.at_ms))
  }
  for (const type of types) source.addEventListener(type, hear)
  source.addEventListener('open', () => isLive(true))
  source.addEventListener('error', () => isLive(false))
  return { toPageTime }
}

const types: readonly SandboxEvent['type'][] = [
  'job.created',
  'placement.decided',
  'frame.loaded',
  'beacon.accepted',
  'beacon.duplicate',
  'beacon.rejected',
  'consent.changed',
  'browser.activated',
  'sandbox.reset',
]

/**
 * The sandbox clock less this page's, from the quickest of five looks; half of each look is the way back. The network's
 * own times are taken, because a page that is busy hears late of an answer.
 */
async function readOffset(): Promise<number | null> {
  const address = new URL('/_sandbox/info', location.href).href
  let best: { took: number; offset: number } | null = null
  for (let look = 0; look < 5; look++) {
    const response = await fetch(address).catch(() => null)
    if (response === null || !response.ok) continue
    const { clock } = (await response.json()) as SandboxInfo
    const timing = performance.getEntriesByName(address, 'resource').at(-1) as PerformanceResourceTiming | undefined
    if (timing === undefined) continue
    const { requestStart: asked, responseStart: answered } = timing
    const took = answered - asked
    const offset = clock.now_ms - (asked + answered) / 2
    if (!clock.frozen && (best === null || took < best.took)) best = { took, offset }
  }
  return best?.offset ?? null
}
