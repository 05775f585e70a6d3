/**
 * Sends a beacon again, as a client that retries would: the body is that of the request journal. The journal and the
 * database hold no asset token, so only beacons of the last placement that this command line got can be sent again.
 */
import type { Client } from '../../client/client.ts'
import { ServiceError } from '../../client/errors.ts'
import { BeaconRequest } from '../../contract/v1/beacons.ts'
import type { TailBeacon } from './feed.ts'

const mostPages = 10

export interface ReplayTools {
  client: Client
  /** The asset token of a slot, where this machine knows it. */
  assetTokenOf(slot_id: string): Promise<string | null>
  signal: AbortSignal
}

/** Answers in one sentence what came of it. */
export async function replayBeacon(beacon: TailBeacon, { client, assetTokenOf, signal }: ReplayTools): Promise<string> {
  const { slot_id, beacon_id } = beacon
  if (slot_id === null || beacon_id === null) return 'Not sent: this beacon names no slot, so its body is not known.'
  const asset_token = await assetTokenOf(slot_id)
  if (asset_token === null) {
    return `Not sent: only svc placements create on this machine knows an asset token, and the last one is not of ${slot_id}.`
  }
  try {
    const body = await journalled(beacon, client, signal)
    if (body === null) return `Not sent: the request journal no longer holds ${beacon_id}.`
    const answer = await client.beacons.send({ body: { ...body, asset_token } }, { signal })
    return `Sent again: ${answer.duplicate ? 'duplicate, it was there already' : 'accepted'} (${answer.reason_code}).`
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof ServiceError) return `Sent again: rejected, ${error.reason_code ?? error.code}.`
    return `Not sent: ${error instanceof Error ? error.message : String(error)}`
  }
}

/** The body of a beacon, from the exchange that brought it. */
async function journalled(beacon: TailBeacon, client: Client, signal: AbortSignal): Promise<BeaconRequest | null> {
  const query = {
    path: '/v1/beacons',
    since: String(beacon.received_at_ms),
    limit: 1000,
    ...(beacon.session_id === null ? {} : { session_id: beacon.session_id }),
  }
  let cursor: string | null = null
  for (let page = 0; page < mostPages; page++) {
    const { items, next_cursor } = await client.requests.list(
      { query: { ...query, ...(cursor === null ? {} : { cursor }) } },
      { signal },
    )
    for (const { slot_id, request_id } of items) {
      if (slot_id !== beacon.slot_id) continue
      const { request_body } = await client.requests.show({ params: { request_id } }, { signal })
      const body = BeaconRequest.safeParse(JSON.parse(request_body ?? 'null'))
      if (body.success && body.data.beacon_id === beacon.beacon_id) return body.data
    }
    if (next_cursor === null) return null
    cursor = next_cursor
  }
  return null
}
