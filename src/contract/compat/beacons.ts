import { z } from 'zod'
import { declareEndpoints } from '../endpoint.ts'
import { ContractVersion, Opaque } from '../fields.ts'
import { limits } from '../limits.ts'
import { strictObject } from '../objects.ts'
import { observed } from '../provenance.ts'
import { BeaconResult, endpoints as beacons } from '../v1/beacons.ts'
import { onBrowser, onWrapper } from './surface.ts'

export const legacyBeaconTypes = [
  'rendered',
  'on_view',
  'visible_started',
  'visible_ended',
  'heartbeat',
  'play_started',
  'play_completed',
  'clicked',
] as const

export const LegacyBeacon = strictObject(() => ({
  contract_version: observed(ContractVersion.optional(), 'C06', 'csl_wrapper_beacon/v1.'),
  beacon_id: observed(
    z.string().regex(/^[\x21-\x7e]{1,128}$/, 'must be 1 to 128 printable ASCII characters without spaces'),
    'C06',
    'Idempotency key, on this route and on POST /v1/beacons.',
  ),
  asset_token: observed(z.string().min(1).max(256), 'C06', 'Token of the fill.'),
  beacon_type: observed(z.enum(legacyBeaconTypes), 'C06', 'What happened; stored as the canonical event.'),
  occurred_at_ms_client: observed(
    z.number().min(0),
    'C06',
    "When it happened by the client's clock, Unix epoch milliseconds; shifted when the sandbox clock was moved.",
  ),
  measurements: observed(Opaque.optional(), 'C06', 'Known ones as in POST /v1/beacons; others become metadata.'),
}))
export type LegacyBeacon = z.infer<typeof LegacyBeacon>

const { errors, response_headers } = beacons['beacons.send']

const beacon = {
  method: 'POST',
  rate: 'beacons',
  description: 'Records a beacon of the shape that old clients send. Use POST /v1/beacons.',
  body_limit_bytes: limits.beacon_body_bytes,
  body: LegacyBeacon,
  misplaced: () => ({ places: {}, ignoresOthers: true }),
  response: BeaconResult,
  response_headers: [...response_headers, 'deprecation', 'link'],
  errors,
} as const

export const endpoints = declareEndpoints({
  'wrapper.beacon': {
    ...onWrapper('/v1/beacons'),
    ...beacon,
    path: '/public/wrapper/v1/beacons',
    summary: 'Record a beacon, as an old client of a server',
  },
  'browser.beacon': {
    ...onBrowser('/v1/beacons'),
    ...beacon,
    path: '/public/browser/v1/beacons',
    summary: 'Record a beacon, as an old client of a browser',
  },
})
