import { z } from 'zod'
import { declareEndpoints, reading } from '../endpoint.ts'
import { EpochMs, queryNumber, Since, SlotFilter } from '../fields.ts'
import { assumedObject, withKeywords } from '../objects.ts'

export const eventTypes = [
  'job.created',
  'placement.decided',
  'frame.loaded',
  'beacon.accepted',
  'beacon.duplicate',
  'beacon.rejected',
  'callback.delivered',
  'callback.retried',
  'callback.failed',
  'ticket.issued',
  'socket.opened',
  'socket.sent',
  'socket.closed',
  'consent.changed',
  'browser.activated',
  'sandbox.reset',
  'sandbox.restored',
  'clock.changed',
  'events.dropped',
] as const
export const EventType = z.enum(eventTypes)
export type EventType = z.infer<typeof EventType>

const subjects = [...new Set(eventTypes.map((type) => type.slice(0, type.indexOf('.'))))]
const filterValues = [...eventTypes, ...subjects.map((subject) => `${subject}.*`)]
const anyValue = `(${filterValues.map((value) => value.replaceAll(/[.*]/g, String.raw`\$&`)).join('|')})`

/** Types of events, separated by commas. Any other would match nothing. */
export const EventTypes = withKeywords(
  z
    .string()
    .max(256)
    .regex(
      new RegExp(`^${anyValue}( *, *${anyValue})*$`),
      'must be types of events, such as beacon.rejected or beacon.*',
    ),
  { examples: filterValues },
)

/** One event, as the data of a server-sent event; `seq` is its id there. */
export const SandboxEvent = assumedObject('A93', () => ({
  seq: z
    .int()
    .min(0)
    .describe(
      'Sequence number, always increasing from 1; resume with Last-Event-ID or since_seq. 0: the sandbox has started over.',
    ),
  type: EventType.describe('What happened.'),
  at_ms: EpochMs.describe('When it happened.'),
  client_id: z.string().nullable().describe('Project.'),
  slot_id: z.string().nullable().describe('Slot.'),
  data: z.record(z.string(), z.json()).describe('The list item of its subject. Never a token or prompt text.'),
}))
export type SandboxEvent = z.infer<typeof SandboxEvent>

export const control = declareEndpoints({
  'events.stream': {
    ...reading,
    path: '/_sandbox/events',
    summary: 'Follow events',
    description:
      'Server-sent events, from now or after a sequence number. Only a limited number is kept: when events after that sequence number have been dropped, the stream begins with events.dropped, regardless of the filters, with the seq of the last dropped event. A sequence number that this stream has not reached is of an earlier start of the sandbox: the stream begins with sandbox.reset and seq 0, then with its first event.',
    query: assumedObject('A93', () => ({
      since_seq: queryNumber(z.int().min(0))
        .optional()
        .describe('Begin after this sequence number; Last-Event-ID takes precedence. Absent: from now.'),
      since: Since.optional().describe(
        'Begin with the first event since then: epoch milliseconds, or a span such as 10m. since_seq takes precedence.',
      ),
      type: EventTypes.optional().describe(
        'Only these types, separated by commas; beacon.* matches every event of beacons.',
      ),
      client_id: z.string().optional().describe('Only this project.'),
      slot_id: SlotFilter.optional().describe('Only this slot.'),
    })),
    request_headers: {
      'Last-Event-ID': {
        type: 'integer',
        provenance: 'assumed',
        decision: 'A93',
        required: false,
        description: 'Resume after this sequence number. EventSource sends it automatically.',
      },
    },
    response: { media_type: 'text/event-stream' },
  },
})
