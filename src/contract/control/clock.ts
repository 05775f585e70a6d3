import { z } from 'zod'
import { declareEndpoints, reading, writeErrors, writing } from '../endpoint.ts'
import { assumedObject } from '../provenance.ts'

/** 9000-01-01T00:00:00Z. Dates in headers and JSON have four digits for the year, also a while from there. */
export const latest_ms = 221_845_392_000_000

export const SandboxClock = assumedObject('A93', {
  now_ms: z.int().describe('Sandbox time, Unix epoch milliseconds.'),
  offset_ms: z.int().describe('Ahead of the clock of the machine, milliseconds; negative behind it.'),
  frozen: z.boolean().describe('Whether it stands still.'),
})
export type SandboxClock = z.infer<typeof SandboxClock>

const steering = {
  ...writing,
  response: SandboxClock,
  errors: [...writeErrors, 'schema_invalid'],
} as const

export const endpoints = declareEndpoints({
  'clock.show': {
    ...reading,
    path: '/_sandbox/clock',
    summary: 'Show the sandbox clock',
    description:
      'One clock for tokens, consent, rate windows, frequency caps, staleness and latency. It is kept in the database; a reset brings back the time of the machine.',
    query: z.strictObject({}),
    response: SandboxClock,
    errors: ['field_unknown', 'origin_refused', 'internal_error'],
  },
  'clock.advance': {
    ...steering,
    path: '/_sandbox/clock/advance',
    summary: 'Move the clock forward',
    description: 'Whatever becomes due is done when this answers: pending decisions are made, in their order.',
    body: assumedObject('A93', {
      by_ms: z.int().min(0).max(latest_ms).describe('How far, milliseconds.'),
    }),
  },
  'clock.set': {
    ...steering,
    path: '/_sandbox/clock/set',
    summary: 'Set the clock to an instant',
    description:
      'Back or forth. A move back undoes nothing: tokens and consent that are there live longer, fills stay counted.',
    body: assumedObject('A93', {
      to_ms: z
        .int()
        .min(0)
        .max(latest_ms)
        .nullable()
        .describe('The instant, Unix epoch milliseconds; null for the time of the machine.'),
    }),
  },
  'clock.freeze': {
    ...steering,
    path: '/_sandbox/clock/freeze',
    summary: 'Stop the clock where it is',
    description: 'Nothing ages until it is moved or resumed; advance and set still move it.',
    body: z.strictObject({}),
  },
  'clock.resume': {
    ...steering,
    path: '/_sandbox/clock/resume',
    summary: 'Let the clock run on from where it stands',
    description: 'It keeps its offset from the clock of the machine.',
    body: z.strictObject({}),
  },
})
