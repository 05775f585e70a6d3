import { z } from 'zod'
import { declareEndpoints, reading } from '../endpoint.ts'
import { reasonCode } from '../errors.ts'
import { EpochMs, Format, page, pageQuery, Since } from '../fields.ts'
import { assumed } from '../provenance.ts'
import { AcceptCode, BeaconEvent } from '../v1/beacons.ts'

export const Verdict = z.enum(['accepted', 'duplicate', 'rejected'])
export type Verdict = z.infer<typeof Verdict>
export const Metric = z.enum(['viewable_impression', 'rendered_impression', 'click', 'completed_view'])
export type Metric = z.infer<typeof Metric>

export const BeaconItem = z.strictObject({
  beacon_id: assumed(z.string().nullable(), 'A70', 'Idempotency key; null when a rejected body had none.'),
  slot_id: assumed(z.string().nullable(), 'A70', 'Slot; null when the asset token named none.'),
  client_id: assumed(z.string().nullable(), 'A93', 'Project of the credential.'),
  session_id: assumed(z.string().nullable(), 'A93', 'Session of the slot.'),
  format: assumed(Format.nullable(), 'A93', 'Format of the creative.'),
  event: assumed(BeaconEvent.nullable(), 'A71', 'Canonical event.'),
  verdict: assumed(Verdict, 'A74', 'accepted, duplicate or rejected.'),
  reason_code: assumed(z.union([AcceptCode, reasonCode]), 'A72', 'OK, why it does not count, or why it was rejected.'),
  would_bill: assumed(z.boolean(), 'A78', 'Whether production would bill it.'),
  metric: assumed(Metric.nullable(), 'A76', 'What it counts as.'),
  occurred_at_ms: assumed(z.int().nullable(), 'A70', 'When it happened; of a rejected beacon, whatever it claimed.'),
  received_at_ms: assumed(EpochMs, 'A93', 'When it arrived.'),
})
export type BeaconItem = z.infer<typeof BeaconItem>

export const endpoints = declareEndpoints({
  'beacons.list': {
    ...reading,
    path: '/_sandbox/beacons',
    summary: 'List beacons',
    description:
      'Accepted and rejected beacons with their verdict. The verdict of billing is computed over the set as it is now.',
    query: z.strictObject({
      ...pageQuery,
      slot_id: assumed(z.string().optional(), 'A93', 'Only this slot.'),
      event: assumed(BeaconEvent.optional(), 'A93', 'Only this event.'),
      verdict: assumed(Verdict.optional(), 'A93', 'Only this verdict.'),
      format: assumed(Format.optional(), 'A93', 'Only this format.'),
      session_id: assumed(z.string().optional(), 'A93', 'Only this session.'),
      client_id: assumed(z.string().optional(), 'A93', 'Only this project.'),
      since: assumed(Since.optional(), 'A93', 'Only beacons received since.'),
    }),
    response: page(BeaconItem),
    errors: ['schema_invalid', 'field_unknown', 'origin_refused', 'internal_error'],
  },
})
