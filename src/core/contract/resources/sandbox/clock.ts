import { z } from 'zod'
import { declareEndpoints, reading, writing } from '../../endpoint.ts'
import { NoFields } from '../../fields.ts'
import { assumedObject } from '../../objects.ts'

/** 9000-01-01T00:00:00Z: dates in headers and JSON have a year of four digits, with room to spare. */
export const maxClockMs = 221_845_392_000_000

export const SandboxClock = assumedObject('A93', () => ({
  now_ms: z.int().describe('Sandbox time, Unix epoch milliseconds.'),
  offset_ms: z.int().describe('Ahead of the system clock, milliseconds; negative when behind it.'),
  frozen: z.boolean().describe('Whether it is stopped.'),
}))
export type SandboxClock = z.infer<typeof SandboxClock>

const steering = {
  ...writing,
  response: SandboxClock,
} as const

export const control = declareEndpoints({
  'clock.show': {
    ...reading,
    path: '/_sandbox/clock',
    summary: 'Show the sandbox clock',
    description:
      'One clock for tokens, consent, rate windows, frequency caps, staleness and latency. It is stored in the database; a reset returns it to the system time.',
    response: SandboxClock,
  },
  'clock.advance': {
    ...steering,
    path: '/_sandbox/clock/advance',
    summary: 'Move the clock forward',
    description: 'Everything that becomes due is done before the response: pending decisions are made, in order.',
    body: assumedObject('A93', () => ({ by_ms: z.int().min(0).max(maxClockMs).describe('Milliseconds to advance.') })),
  },
  'clock.set': {
    ...steering,
    path: '/_sandbox/clock/set',
    summary: 'Set the clock to a time',
    description:
      'Backward or forward. Moving back undoes nothing: existing tokens and consent last longer, fills stay counted.',
    body: assumedObject('A93', () => ({
      to_ms: z
        .int()
        .min(0)
        .max(maxClockMs)
        .nullable()
        .describe('The new time, Unix epoch milliseconds; null for the system time.'),
    })),
  },
  'clock.freeze': {
    ...steering,
    path: '/_sandbox/clock/freeze',
    summary: 'Stop the clock',
    description: 'Nothing expires until it is moved or resumed; advance and set still move it.',
    body: NoFields,
  },
  'clock.resume': {
    ...steering,
    path: '/_sandbox/clock/resume',
    summary: 'Resume the clock from its current time',
    description: 'It keeps its offset from the system clock.',
    body: NoFields,
  },
})
