import { z } from 'zod'
import { declareEndpoints, reading } from '../endpoint.ts'
import { EpochMs, queryNumber, Since } from '../fields.ts'
import { assumed } from '../provenance.ts'

export const eventTypes = [
  'job.created',
  'placement.decided',
  'frame.loaded',
  'beacon.accepted',
  'beacon.duplicate',
  'beacon.rejected',
  'consent.changed',
  'browser.activated',
  'sandbox.reset',
  'sandbox.restored',
  'clock.changed',
  'events.dropped',
] as const
export const EventType = z.enum(eventTypes)
export type EventType = z.infer<typeof EventType>

/** One event, as the data of a server-sent event; `seq` is its id there. */
export const SandboxEvent = z.strictObject({
  seq: assumed(z.int().min(1), 'A93', 'Always growing; resume with Last-Event-ID or since_seq.'),
  type: assumed(EventType, 'A93', 'What happened.'),
  at_ms: assumed(EpochMs, 'A93', 'When.'),
  client_id: assumed(z.string().nullable(), 'A93', 'Project.'),
  slot_id: assumed(z.string().nullable(), 'A93', 'Slot.'),
  data: assumed(
    z.record(z.string(), z.json()),
    'A93',
    'The list item of what it is about. Never a token or prompt text.',
  ),
})
export type SandboxEvent = z.infer<typeof SandboxEvent>

export const endpoints = declareEndpoints({
  'events.stream': {
    ...reading,
    path: '/_sandbox/events',
    summary: 'Follow events',
    description:
      'Server-sent events, from now or from a sequence number on. They are bounded: where events after that number are gone, the stream begins with events.dropped, whatever the filters, whose seq is that of the last one gone.',
    query: z.strictObject({
      since_seq: assumed(
        queryNumber(z.int().min(0)).optional(),
        'A93',
        'Begin after this sequence number; Last-Event-ID wins. Absent: from now.',
      ),
      since: assumed(
        Since.optional(),
        'A93',
        'Begin with the first event since: epoch milliseconds, or a span such as 10m. since_seq wins.',
      ),
      type: assumed(
        z.string().max(256).optional(),
        'A93',
        'Only these types, separated by commas; beacon.* takes all of a kind.',
      ),
      client_id: assumed(z.string().optional(), 'A93', 'Only this project.'),
      slot_id: assumed(z.string().optional(), 'A93', 'Only this slot.'),
    }),
    request_headers: {
      'Last-Event-ID': {
        type: 'integer',
        provenance: 'assumed',
        decision: 'A93',
        required: false,
        description: 'Resume after this sequence number. EventSource sends it by itself.',
      },
    },
    response: { media_type: 'text/event-stream' },
    errors: ['schema_invalid', 'field_unknown', 'origin_refused', 'internal_error'],
  },
})
