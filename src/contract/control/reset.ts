import { z } from 'zod'
import { endpoint, writeErrors, writing } from '../endpoint.ts'
import { assumed } from '../provenance.ts'

export const resetSandbox = endpoint({
  ...writing,
  id: 'sandbox.reset',
  path: '/_sandbox/reset',
  summary: 'Reset to the seed',
  description:
    'Back to the seeded projects, keys and demand in one transaction, and to the time of the machine. Event sequence numbers go on growing.',
  body: z.strictObject({}),
  response: z.strictObject({ ok: assumed(z.literal(true), 'A93', 'true when done.') }),
  errors: writeErrors,
})
