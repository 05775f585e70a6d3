/** Has the sandbox send a beacon again, as a client that retries would: the request of its journal that brought it. */
import type { Client } from '../client/client.ts'
import { ServiceError } from '../client/errors.ts'
import type { ReplayResult, RequestItem } from '../contract/control/requests.ts'
import { BeaconResult } from '../contract/v1/beacons.ts'
import type { TailBeacon } from './feed.ts'

/** Answers in one sentence what came of it. */
export async function replayBeacon(beacon: TailBeacon, client: Client, signal: AbortSignal): Promise<string> {
  const request = await requestOf(beacon, client, signal)
  if (request === null) {
    return 'Not sent: the journal no longer holds the request of this beacon. svc sandbox start --journal-limit keeps more.'
  }
  try {
    const { request_id } = request
    return outcomeOf(await client.requests.replay({ params: { request_id }, body: {} }, { signal }))
  } catch (error) {
    if (!(error instanceof ServiceError) || error.reason_code !== 'replay_incomplete') throw error
    const names = error.body?.fields.map(({ path }) => path).join(', ')
    return `Not sent: the journal does not keep ${names} of this beacon.`
  }
}

function outcomeOf({ exchange }: ReplayResult): string {
  if (exchange.status === 0) return `Sent again: no answer, ${exchange.response_headers['x-sandbox-fault']} broke it.`
  if (exchange.reason_code !== null) return `Sent again: refused with ${exchange.status}, ${exchange.reason_code}.`
  const answer = BeaconResult.safeParse(JSON.parse(exchange.response_body ?? 'null'))
  const isDuplicate = answer.data?.duplicate === true
  return `Sent again: ${isDuplicate ? 'duplicate, it was there already' : `accepted, ${answer.data?.reason_code}`}.`
}

/** The request that brought a beacon: of its instant, and with its identifier where it had one that could be read. */
async function requestOf(
  { received_at_ms, beacon_id, slot_id, reason_code, verdict }: TailBeacon,
  client: Client,
  signal: AbortSignal,
): Promise<RequestItem | null> {
  const match = {
    path: '/v1/beacons',
    method: 'POST',
    since: String(received_at_ms),
    until: String(received_at_ms),
    ...(beacon_id === null ? {} : { body: { beacon_id } }),
    ...(verdict === 'rejected' && beacon_id === null
      ? { reason: reason_code as NonNullable<RequestItem['reason_code']> }
      : {}),
  }
  let cursor: string | undefined
  do {
    const page = await client.requests.find(
      { body: { ...match, ...(cursor === undefined ? {} : { cursor }) } },
      { signal },
    )
    const found = page.items.find((item) => item.slot_id === slot_id) ?? page.items[0]
    if (found !== undefined) return found
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined)
  return null
}
