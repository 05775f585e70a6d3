import { z } from 'zod'
import { endpoint, reading } from '../endpoint.ts'
import { EpochMs } from '../fields.ts'
import { assumed } from '../provenance.ts'

export const EvidenceEntry = z.strictObject({
  seq: assumed(z.int().min(1), 'A77', 'Position in the chain of its project, from 1.'),
  kind: assumed(z.enum(['decision', 'consent', 'beacon']), 'A77', 'What it records.'),
  at_ms: assumed(EpochMs, 'A77', 'When it was recorded.'),
  entry: assumed(z.string(), 'A77', 'RFC 8785 canonical JSON. Asset tokens appear only as hashes.'),
  hash: assumed(z.string(), 'A77', 'SHA-256 over the hash before and the entry, hexadecimal.'),
})
export type EvidenceEntry = z.infer<typeof EvidenceEntry>

export const EvidenceVerification = z.strictObject({
  ok: assumed(z.boolean(), 'A77', 'Whether every chain holds.'),
  chains: assumed(
    z.array(
      z.strictObject({
        client_id: assumed(z.string(), 'A77', 'Project.'),
        entries: assumed(z.int(), 'A77', 'Entries in the chain.'),
        head: assumed(z.string().nullable(), 'A77', 'Hash of the last entry; null for an empty chain.'),
        broken_at: assumed(z.int().nullable(), 'A77', 'Position of the first entry that does not hold.'),
        problem: assumed(z.string().nullable(), 'A77', 'What is wrong there.'),
      }),
    ),
    'A77',
    'One chain a project.',
  ),
})
export type EvidenceVerification = z.infer<typeof EvidenceVerification>

export const verifyEvidence = endpoint({
  ...reading,
  id: 'evidence.verify',
  path: '/_sandbox/evidence/verify',
  summary: 'Verify the evidence chains',
  description: 'Recomputes every hash, compares each entry with the row it records, and names the first broken entry.',
  query: z.strictObject({}),
  response: EvidenceVerification,
  errors: ['origin_refused', 'internal_error'],
})
