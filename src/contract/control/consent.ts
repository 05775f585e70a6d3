import { z } from 'zod'
import { declareEndpoints, reading } from '../endpoint.ts'
import { ConsentId, ConsentState, EpochMs, page, pageQuery, Since } from '../fields.ts'
import { assumed, assumedObject } from '../objects.ts'

export const ConsentItem = assumedObject('A66', () => ({
  consent_id: ConsentId.describe('Identifier of the consent record.'),
  client_id: assumed(z.string(), 'A93', 'Project ID.'),
  session_id: z.string().describe('Session.'),
  revision: assumed(z.int(), 'A62', 'Incremented when state, purposes or source change.'),
  is_current: assumed(z.boolean(), 'A65', 'Whether it is the newest revision of its session.'),
  lifecycle_state: assumed(ConsentState, 'A60', 'Only granted permits ads.'),
  source: assumed(z.string(), 'A63', 'Consent mechanism.'),
  semantic_targeting: assumed(z.boolean(), 'A61', 'Whether the topic may take part in matching.'),
  prompt_shared: assumed(z.boolean(), 'A61', 'Whether prompt text may be processed.'),
  updated_at_ms: assumed(EpochMs, 'A62', 'When it was stored, or last renewed.'),
  expires_at_ms: assumed(EpochMs, 'A62', 'When it expires.'),
  extras: z.record(z.string(), z.json()).describe('Other stored data of the consent: strings, other purposes.'),
}))
export type ConsentItem = z.infer<typeof ConsentItem>

export const endpoints = declareEndpoints({
  'consent.list': {
    ...reading,
    path: '/_sandbox/consent',
    summary: 'Show the consent history of sessions',
    description:
      'Every revision, including superseded ones. Sending the same consent again adds none: after 60 s it renews the revision, before it changes nothing.',
    query: assumedObject('A93', () => ({
      ...pageQuery(),
      client_id: z.string().optional().describe('Only this project.'),
      session_id: z.string().optional().describe('Only this session.'),
      since: Since.optional().describe('Only what was stored or renewed since then.'),
    })),
    response: page(ConsentItem),
  },
})
