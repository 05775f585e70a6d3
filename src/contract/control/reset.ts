import { z } from 'zod'
import { endpoint } from '../endpoint.ts'
import { limits } from '../limits.ts'
import { assumed } from '../provenance.ts'

export const resetSandbox = endpoint({
  id: 'sandbox.reset',
  method: 'POST',
  path: '/_sandbox/reset',
  summary: 'Reset to the seed',
  description:
    'Back to the seeded projects, keys and demand in one transaction, and to the time of the machine. Event sequence numbers go on growing.',
  stability: 'sandbox',
  provenance: 'assumed',
  credentials: [],
  rate: null,
  body_limit_bytes: limits.body_bytes,
  body: z.strictObject({}),
  status: 200,
  response: z.strictObject({ ok: assumed(z.literal(true), 'A93', 'true when done.') }),
  errors: [
    'content_type_unsupported',
    'json_malformed',
    'field_unknown',
    'origin_refused',
    'storage_unavailable',
    'internal_error',
  ],
})
