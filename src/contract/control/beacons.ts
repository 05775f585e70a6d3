import { z } from 'zod'
import { declareEndpoints, reading } from '../endpoint.ts'
import { ReasonCode } from '../errors.ts'
import { EpochMs, Format, page, pageQuery, Since, SlotFilter } from '../fields.ts'
import { assumed, assumedObject } from '../objects.ts'
import { AcceptCode, BeaconEvent } from '../v1/beacons.ts'

export const Verdict = z.enum(['accepted', 'duplicate', 'rejected'])
export type Verdict = z.infer<typeof Verdict>
export const Metric = z.enum(['viewable_impression', 'rendered_impression', 'click', 'completed_view'])
export type Metric = z.infer<typeof Metric>

/** Whether an accepted beacon counts, or why it was rejected. */
export const BeaconReason = z.union([AcceptCode, ReasonCode])

export const BeaconItem = assumedObject('A93', () => ({
  beacon_id: assumed(z.string().nullable(), 'A70', 'Idempotency key; null when a rejected body had none.'),
  slot_id: assumed(z.string().nullable(), 'A70', 'Slot; null when the asset token named none.'),
  client_id: z.string().nullable().describe('Project of the credential.'),
  session_id: z.string().nullable().describe('Session of the slot.'),
  format: Format.nullable().describe('Format of the creative.'),
  event: assumed(BeaconEvent.nullable(), 'A71', 'Canonical event.'),
  verdict: assumed(Verdict, 'A74', 'accepted, duplicate or rejected.'),
  reason_code: assumed(BeaconReason, 'A72', 'OK, why it does not count, or why it was rejected.'),
  would_bill: assumed(z.boolean(), 'A78', 'Whether production would bill it.'),
  metric: assumed(Metric.nullable(), 'A76', 'The metric it counts for.'),
  occurred_at_ms: assumed(
    z.int().nullable(),
    'A70',
    'When it happened; for a rejected beacon, the time that it stated.',
  ),
  received_at_ms: EpochMs.describe('When it arrived.'),
}))
export type BeaconItem = z.infer<typeof BeaconItem>

export const endpoints = declareEndpoints({
  'beacons.list': {
    ...reading,
    path: '/_sandbox/beacons',
    summary: 'List beacons',
    description:
      'Accepted and rejected beacons with their verdict. The billing verdict is computed over the current set.',
    query: assumedObject('A93', () => ({
      ...pageQuery(),
      slot_id: SlotFilter.optional().describe('Only this slot.'),
      beacon_id: z.string().optional().describe('Only beacons with this idempotency key: one, and its duplicates.'),
      event: BeaconEvent.optional().describe('Only this event.'),
      verdict: Verdict.optional().describe('Only this verdict.'),
      format: Format.optional().describe('Only this format.'),
      session_id: z.string().optional().describe('Only this session.'),
      client_id: z.string().optional().describe('Only this project.'),
      since: Since.optional().describe('Only beacons received since then.'),
    })),
    response: page(BeaconItem),
  },
})
