/** Beacons as what a tail follows. */
import { type Client, nextCursor } from '../client/client.ts'
import { Verdict } from '../contract/control/beacons.ts'
import type { RequestItem } from '../contract/control/requests.ts'
import { Format } from '../contract/fields.ts'
import { BeaconEvent, BeaconResult } from '../contract/v1/beacons.ts'
import { parseJson } from '../foundation/json.ts'
import { beaconLine, columnHead, detailLines } from './beacon-text.ts'
import type { TailBeacon } from './feed.ts'
import type { TailSource } from './source.ts'

export const beaconSource: TailSource<TailBeacon> = {
  noun: 'beacon',
  choices: { event: BeaconEvent.options, format: Format.options, verdict: Verdict.options },
  has_slot: true,
  groups: BeaconEvent.options,
  tallies: ['duplicate', 'rejected', 'would bill'],
  groupOf: ({ event }) => event,
  talliesOf: ({ verdict, would_bill }) => (would_bill ? [verdict, 'would bill'] : [verdict]),
  valueOf({ event, format, verdict, session_id }, field) {
    const values: Readonly<Record<string, string | null>> = { event, format, verdict, session: session_id }
    return values[field] ?? null
  },
  searched({ beacon_id, slot_id, session_id, client_id, event, format, verdict, reason_code, metric }) {
    return [beacon_id, slot_id, session_id, client_id, event, format, verdict, reason_code, metric]
  },
  head: columnHead,
  line: beaconLine,
  details: detailLines,
  idOf: ({ beacon_id }) => beacon_id,
  pageOf: ({ slot_id }) => slot_id,
  requestOf,
  outcomeOf({ response_body }) {
    const { data } = BeaconResult.safeParse(parseJson(response_body ?? ''))
    return data?.duplicate === true ? 'duplicate, it was received before' : `accepted, ${data?.reason_code}`
  },
}

/** Finds the request that was received at the same time, with the identifier of the beacon where that is known. */
async function requestOf(beacon: TailBeacon, client: Client, signal: AbortSignal): Promise<string | null> {
  const { received_at_ms, beacon_id, slot_id, reason_code, verdict } = beacon
  const isUnread = verdict === 'rejected' && beacon_id === null
  const match = {
    path: '/v1/beacons',
    method: 'POST',
    since: String(received_at_ms),
    until: String(received_at_ms),
    ...(beacon_id === null ? {} : { body: { beacon_id } }),
    ...(isUnread ? { reason: reason_code as NonNullable<RequestItem['reason_code']> } : {}),
  }
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const body = { ...match, ...(cursor === undefined ? {} : { cursor }) }
    const page = await client.requests.find({ body }, { signal })
    const found = page.items.find((item) => item.slot_id === slot_id) ?? page.items[0]
    if (found !== undefined) return found.request_id
    cursor = nextCursor(page, cursor)
  }
  return null
}
