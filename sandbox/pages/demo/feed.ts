/** What the page reads from the sandbox: its events, the details of a slot, the meanings of codes. */
import { followEvents } from '#browser/feed.ts'
import { tokenHeaders } from '#browser/tab-token.ts'
import type { SandboxEvent } from '#contract/resources/events.ts'
import type { PlacementDetail } from '#contract/resources/placements.ts'
import { recordedTypes } from './record.ts'

interface FeedOptions {
  token: string
  client_id: string
  since_seq: number
  onEvent(event: SandboxEvent): void
  onLive(isLive: boolean): void
}

/** How long the page waits before it connects again, milliseconds. */
const retryMs = 1_000

/** Follows the sandbox's records of one project for as long as the page lives. */
export async function openFeed({ token, client_id, since_seq, onEvent, onLive }: FeedOptions): Promise<void> {
  for (let seq = since_seq; ; ) {
    await followEvents({
      token,
      since_seq: seq,
      onOpen: () => onLive(true),
      onEvents(events) {
        seq = events.at(-1)?.seq ?? seq
        for (const event of events) if (isRecorded(event, client_id)) onEvent(event)
      },
    })
    onLive(false)
    await new Promise((resolve) => setTimeout(resolve, retryMs))
  }
}

function isRecorded(event: SandboxEvent, client_id: string): boolean {
  return event.client_id === client_id && recordedTypes.includes(event.type)
}

/** Events within this time lead to one request. */
const debounceMs = 80

/**
 * Returns a function that reads the details of a slot soon after it is called, if the slot is known to be ours by then.
 */
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
      setTimeout(() => void read(slot_id), debounceMs),
    )
  }
}

interface CodeListing {
  reason_codes: { reason_code: string; message: string }[]
  no_fill_reasons: { no_fill_reason: string; meaning: string }[]
}

export type Meanings = ReadonlyMap<string, string>

/** Returns the meaning of every code, from the contract of this sandbox; nothing when it cannot be read. */
export async function readMeanings(): Promise<Meanings> {
  const { reason_codes = [], no_fill_reasons = [] } = (await getJson<CodeListing>('/_sandbox/contract')) ?? {}
  return new Map([
    ...reason_codes.map(({ reason_code, message }) => [reason_code, message] as const),
    ...no_fill_reasons.map(({ no_fill_reason, meaning }) => [no_fill_reason, meaning] as const),
  ])
}

async function getJson<Body>(address: string): Promise<Body | null> {
  const response = await fetch(address, { headers: tokenHeaders() }).catch(() => null)
  return response?.ok ? response.json() : null
}
