/** What the sandbox has recorded: its events as they happen, on this page's clock, and its details when needed. */
import type { SandboxEvent } from '../../../src/contract/control/events.ts'
import type { PlacementDetail } from '../../../src/contract/control/placements.ts'
import type { SandboxInfo } from '../../../src/contract/control/sandbox.ts'
import { recordedTypes } from './record.ts'
import type { Meanings } from './wording.ts'

/** With a larger difference the sandbox clock has been moved since it was read. Milliseconds. */
const max_difference_ms = 5_000

export interface FeedOptions {
  client_id: string
  since_seq: number
  /** Called with each event and its time as `performance.now()` of this page, as well as it is known. */
  onEvent(event: SandboxEvent, at: number): void
  onLive(isLive: boolean): void
}

/** Follows the events of one project. */
export function openFeed({ client_id, since_seq, onEvent, onLive }: FeedOptions): void {
  let offset_ms: number | null = null
  const setOffset = async () => {
    offset_ms = await readOffset()
  }
  const toPageTime = (at_ms: number): number => {
    const now = performance.now()
    if (offset_ms === null) return now
    const at = at_ms - offset_ms
    if (at <= now + 50 && at >= now - max_difference_ms) return Math.min(at, now)
    void setOffset()
    return now
  }
  void setOffset()
  const source = new EventSource(`/_sandbox/events?client_id=${client_id}&since_seq=${since_seq}`)
  for (const type of recordedTypes) {
    source.addEventListener(type, ({ data }: MessageEvent<string>) => {
      const event = JSON.parse(data) as SandboxEvent
      onEvent(event, toPageTime(event.at_ms))
    })
  }
  source.addEventListener('open', () => onLive(true))
  source.addEventListener('error', () => onLive(false))
}

/**
 * Returns the sandbox clock minus this page's, from the fastest of five requests, assuming half of it is the way back.
 * Uses the network timings, because a busy page handles a response late.
 */
async function readOffset(): Promise<number | null> {
  const address = new URL('/_sandbox/info', location.href).href
  let best: { took: number; offset: number } | null = null
  for (let attempt = 0; attempt < 5; attempt++) {
    const info = await getJson<SandboxInfo>(address)
    const timing = performance.getEntriesByName(address, 'resource').at(-1) as PerformanceResourceTiming | undefined
    if (info === null || timing === undefined) continue
    const { requestStart, responseStart } = timing
    const took = responseStart - requestStart
    const offset = info.clock.now_ms - (requestStart + responseStart) / 2
    if (!info.clock.frozen && (best === null || took < best.took)) best = { took, offset }
  }
  return best?.offset ?? null
}

/** Events within this time lead to one request. */
const debounce_ms = 80

/** Returns a function that reads the details of a slot soon after it is called, if the slot is ours by then. */
export function createDetailReader(isOurs: (slot_id: string) => boolean, onDetail: (detail: PlacementDetail) => void) {
  const timers = new Map<string, ReturnType<typeof setTimeout>>()
  const read = async (slot_id: string): Promise<void> => {
    const detail = isOurs(slot_id) ? await getJson<PlacementDetail>(`/_sandbox/placements/${slot_id}`) : null
    if (detail !== null) onDetail(detail)
  }
  return (slot_id: string): void => {
    clearTimeout(timers.get(slot_id))
    timers.set(
      slot_id,
      setTimeout(() => void read(slot_id), debounce_ms),
    )
  }
}

interface CodeListing {
  reason_codes: { reason_code: string; message: string }[]
  no_fill_reasons: { no_fill_reason: string; meaning: string }[]
}

/** Returns the meaning of every code, from the contract of this sandbox; nothing when it cannot be read. */
export async function readMeanings(): Promise<Meanings> {
  const { reason_codes = [], no_fill_reasons = [] } = (await getJson<CodeListing>('/_sandbox/contract')) ?? {}
  return new Map([
    ...reason_codes.map(({ reason_code, message }) => [reason_code, message] as const),
    ...no_fill_reasons.map(({ no_fill_reason, meaning }) => [no_fill_reason, meaning] as const),
  ])
}

async function getJson<Body>(address: string): Promise<Body | null> {
  const response = await fetch(address).catch(() => null)
  return response?.ok ? ((await response.json()) as Body) : null
}
