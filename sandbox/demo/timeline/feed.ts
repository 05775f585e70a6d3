/** What the sandbox has recorded: its events as they arrive, and its details when needed. */
import type { SandboxEvent } from '../../../src/contract/control/events.ts'
import type { PlacementDetail } from '../../../src/contract/control/placements.ts'
import { recordedTypes } from './record.ts'
import type { Meanings } from './wording.ts'

export interface FeedOptions {
  client_id: string
  since_seq: number
  onEvent(event: SandboxEvent): void
  onLive(isLive: boolean): void
}

/** Follows the events of one project. */
export function openFeed({ client_id, since_seq, onEvent, onLive }: FeedOptions): void {
  const source = new EventSource(withToken(`/_sandbox/events?client_id=${client_id}&since_seq=${since_seq}`))
  for (const type of recordedTypes) {
    source.addEventListener(type, ({ data }: MessageEvent<string>) => onEvent(JSON.parse(data) as SandboxEvent))
  }
  source.addEventListener('open', () => onLive(true))
  source.addEventListener('error', () => onLive(false))
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

/** Adds the admin token of the page's own address, which it has beyond loopback. An EventSource sends no header. */
function withToken(address: string): string {
  const token = new URLSearchParams(location.search).get('token')
  return token === null ? address : `${address}${address.includes('?') ? '&' : '?'}token=${encodeURIComponent(token)}`
}

async function getJson<Body>(address: string): Promise<Body | null> {
  const response = await fetch(withToken(address)).catch(() => null)
  return response?.ok ? ((await response.json()) as Body) : null
}
