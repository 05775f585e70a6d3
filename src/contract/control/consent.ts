import { z } from 'zod'
import { declareEndpoints, reading } from '../endpoint.ts'
import { ConsentState, EpochMs, page, pageQuery, Since } from '../fields.ts'
import { assumed } from '../provenance.ts'

export const ConsentItem = z.strictObject({
  consent_id: assumed(z.string(), 'A66', 'Identifier of the consent record.'),
  client_id: assumed(z.string(), 'A93', 'Project ID.'),
  session_id: assumed(z.string(), 'A66', 'Session.'),
  revision: assumed(z.int(), 'A62', 'Grows by one when state, purposes or source change.'),
  is_current: assumed(z.boolean(), 'A65', 'Whether it is the newest revision of its session.'),
  lifecycle_state: assumed(ConsentState, 'A60', 'Only granted permits ads.'),
  source: assumed(z.string(), 'A63', 'Consent mechanism.'),
  semantic_targeting: assumed(z.boolean(), 'A61', 'Whether the topic may take part in matching.'),
  prompt_shared: assumed(z.boolean(), 'A61', 'Whether prompt text may be processed.'),
  updated_at_ms: assumed(EpochMs, 'A62', 'When it was stored, or last renewed.'),
  expires_at_ms: assumed(EpochMs, 'A62', 'When it ends.'),
  extras: assumed(z.record(z.string(), z.json()), 'A66', 'What came with it and is kept: strings, other purposes.'),
})
export type ConsentItem = z.infer<typeof ConsentItem>

export const endpoints = declareEndpoints({
  'consent.list': {
    ...reading,
    path: '/_sandbox/consent',
    summary: 'Show the consent history of sessions',
    description: 'Every revision, superseded ones too. The same consent again renews a revision and adds none.',
    query: z.strictObject({
      ...pageQuery,
      client_id: assumed(z.string().optional(), 'A93', 'Only this project.'),
      session_id: assumed(z.string().optional(), 'A93', 'Only this session.'),
      since: assumed(Since.optional(), 'A93', 'Only what was stored or renewed since.'),
    }),
    response: page(ConsentItem),
    errors: ['schema_invalid', 'field_unknown', 'origin_refused', 'internal_error'],
  },
})
