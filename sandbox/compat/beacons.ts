/** Beacons of the shape of old clients, as beacons of v1 (C06). */
import type { LegacyBeacon } from '../../src/contract/compat/beacons.ts'
import type { Contract } from '../../src/contract/index.ts'
import { type BeaconRequest, canonicalEvent, Measurements } from '../../src/contract/v1/beacons.ts'
import { receiveBeacon } from '../operations/beacons.ts'
import type { Operation } from '../operations/context.ts'

export const sendLegacyBeacon: Operation<Contract['wrapper.beacon']> = async (services, context, { body }) =>
  receiveBeacon(services, context, toBeacon(body), true)

/** Returns the same beacon as POST /v1/beacons takes it. Measurements that it does not have become metadata. */
function toBeacon(body: LegacyBeacon): BeaconRequest {
  const { contract_version, beacon_id, asset_token, beacon_type, occurred_at_ms_client, measurements = {} } = body
  const known: Record<string, unknown> = {}
  const others: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(measurements)) {
    ;(isMeasurement(name, value) ? known : others)[name] = value
  }
  return {
    beacon_id,
    asset_token,
    event: canonicalEvent(beacon_type),
    occurred_at_ms: Math.floor(occurred_at_ms_client),
    ...(Object.keys(known).length === 0 ? {} : { measurements: known }),
    ...(Object.keys(others).length === 0 ? {} : { metadata: others }),
    ...(contract_version === undefined ? {} : { contract_version }),
  }
}

function isMeasurement(name: string, value: unknown): boolean {
  if (!Object.hasOwn(Measurements.shape, name)) return false
  return Measurements.shape[name as keyof Measurements].safeParse(value).success
}
