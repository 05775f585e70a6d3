/** The beacons of one ad as lines: what the sandbox has received, what never reached it, what is on its way. */
import { acceptMeanings, reasonCodes } from '#contract/error-codes.ts'
import type { BeaconEvent } from '#contract/resources/beacons.ts'
import { findEntry } from '#foundation/table-entry.ts'
import { listEvents, type Slot } from './slots.ts'

export interface BeaconLine {
  event: string
  at_ms: number
  verdict: 'sending' | 'accepted' | 'duplicate' | 'rejected'
  reason_code: string
  /** What the reason means; null when it is not known. */
  meaning: string | null
  would_bill: boolean
  metric: string | null
  /** Beacons that the line stands for: heartbeats are counted. */
  count: number
}

/** Reasons that the page itself gives a beacon that got no verdict. */
const localReasons: ReadonlySet<string> = new Set([
  'network_error',
  'response_not_from_service',
  'credential_missing',
  'queue_full',
  'csp_blocked',
])

/** Events of the page that a beacon goes out with. */
const senders = {
  rendered: 'render',
  visible: 'visible',
  click: 'click',
  play_started: 'play_started',
  play_completed: 'play_completed',
} as const satisfies Record<string, BeaconEvent>

/** Returns the lines of a slot, oldest first. */
export function readBeaconLines(slot: Slot): BeaconLine[] {
  const { sandbox } = slot
  const received = new Set(sandbox?.beacons.map(({ event }) => event))
  // Until the sandbox lists a beacon, its verdict is the one that the page got.
  const own = listEvents(slot, 'beacon').filter(
    ({ event, reason_code }) => localReasons.has(reason_code) || !received.has(event),
  )
  const lines: BeaconLine[] = [
    ...(sandbox?.beacons ?? []).map((beacon) => ({ ...beacon, event: beacon.event ?? 'unreadable', count: 1 })),
    ...own.map(({ event, at_ms, accepted, reason_code }) => ({
      event,
      at_ms,
      verdict: accepted ? ('accepted' as const) : ('rejected' as const),
      reason_code,
      meaning: explainReason(reason_code),
      would_bill: false,
      metric: null,
      count: 1,
    })),
    ...listUnanswered(slot),
  ]
  return joinHeartbeats(lines.sort((one, other) => one.at_ms - other.at_ms))
}

function listUnanswered(slot: Slot): BeaconLine[] {
  const answered = new Set<string>(listEvents(slot, 'beacon').map(({ event }) => event))
  for (const { event } of slot.sandbox?.beacons ?? []) answered.add(`${event}`)
  return Object.entries(senders).flatMap(([type, event]) => {
    const sent = slot.events.find((each) => each.type === type)
    if (sent === undefined || answered.has(event)) return []
    const line = { event, at_ms: sent.at_ms, verdict: 'sending' as const, reason_code: '', meaning: null }
    return [{ ...line, would_bill: false, metric: null, count: 1 }]
  })
}

function explainReason(code: string): string | null {
  const known = findEntry(acceptMeanings, code) ?? findEntry(reasonCodes, code)?.message
  return known ?? (localReasons.has(code) ? 'no verdict of the service' : null)
}

/** Accepted heartbeats are one line, at the place of the first. */
function joinHeartbeats(lines: readonly BeaconLine[]): BeaconLine[] {
  const joined: BeaconLine[] = []
  const isBeat = ({ event, verdict }: BeaconLine): boolean => event === 'heartbeat' && verdict === 'accepted'
  for (const line of lines) {
    const beats = isBeat(line) ? joined.find(isBeat) : undefined
    if (beats === undefined) joined.push({ ...line })
    else beats.count += 1
  }
  return joined
}
