/** Which member of a beacon somebody meant who wrote another name. */
import { BeaconRequest, Measurements } from '../contract/v1/beacons.ts'

/** Names that other beacon APIs use, beside those that differ only in their case. */
const otherNames: Readonly<Record<string, string>> = {
  id: 'beacon_id',
  event_id: 'beacon_id',
  idempotency_key: 'beacon_id',
  token: 'asset_token',
  type: 'event',
  kind: 'event',
  event_type: 'event',
  beacon_type: 'event',
  event_name: 'event',
  time: 'occurred_at_ms',
  ts: 'occurred_at_ms',
  timestamp: 'occurred_at_ms',
  timestamp_ms: 'occurred_at_ms',
  occurred_at_ms_client: 'occurred_at_ms',
  slot: 'slot_id',
  instance_id: 'render_instance_id',
  sequence: 'seq',
  revision: 'consent_revision',
  metrics: 'measurements',
  meta: 'metadata',
  data: 'metadata',
  ratio: 'measurements.visible_ratio',
  duration: 'measurements.duration_ms',
}

/** The members of a beacon. */
export const beaconMembers = Object.keys(BeaconRequest.shape)
const measured = Object.keys(Measurements.shape)

/** The member that was probably meant; null for a name that resembles none. */
export function rightName(wrong: string): string | null {
  const snake = wrong.replace(/[A-Z]/g, (letter, at: number) => `${at === 0 ? '' : '_'}${letter.toLowerCase()}`)
  if (beaconMembers.includes(snake)) return snake
  if (measured.includes(snake)) return `measurements.${snake}`
  return otherNames[snake] ?? null
}
