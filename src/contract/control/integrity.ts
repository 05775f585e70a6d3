import { z } from 'zod'
import { endpoint, reading } from '../endpoint.ts'
import { assumed } from '../provenance.ts'
import { EvidenceVerification } from './evidence.ts'

export const Integrity = z.strictObject({
  ok: assumed(z.boolean(), 'A93', 'Whether the database and every evidence chain hold.'),
  database: assumed(
    z.strictObject({
      ok: assumed(z.boolean(), 'A93', 'Whether SQLite found nothing wrong.'),
      problems: assumed(z.array(z.string()), 'A93', 'What SQLite found, at most 20 lines.'),
    }),
    'A93',
    'quick_check of SQLite.',
  ),
  evidence: assumed(EvidenceVerification, 'A77', 'The evidence chains, as evidence/verify answers them.'),
})
export type Integrity = z.infer<typeof Integrity>

export const getIntegrity = endpoint({
  ...reading,
  id: 'sandbox.integrity',
  path: '/_sandbox/integrity',
  summary: 'Whether the database holds',
  description: 'Runs the quick_check of SQLite and verifies the evidence chains. It reads the whole database.',
  query: z.strictObject({}),
  response: Integrity,
  errors: ['origin_refused', 'internal_error'],
})
