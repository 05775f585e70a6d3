import { z } from 'zod'
import { declareEndpoints, publicApi, reading } from '../endpoint.ts'
import {
  AuthoritativeConsent,
  ClientId,
  ConsentId,
  ConsentState,
  decisionField,
  EpochMs,
  page,
  pageQuery,
  purposesField,
  requestIdField,
  SessionId,
  Since,
  sourceField,
} from '../fields.ts'
import { assumed, assumedObject, observed, strictObject } from '../objects.ts'

const consentString = z.string().max(4096)

export const ConsentRequest = strictObject(() => ({
  client_id: observed(ClientId, 'A66', 'Project ID.'),
  session_id: observed(SessionId, 'A66', 'Session that the consent is for.'),
  source: sourceField,
  purposes: purposesField,
  decision: decisionField,
  gdpr_applies: observed(z.boolean().optional(), 'A66', 'Whether the GDPR applies.'),
  tcf_string: observed(consentString.optional(), 'A66', 'IAB TCF string, stored unchanged.'),
  gpp_string: observed(consentString.optional(), 'A66', 'IAB GPP string, stored unchanged.'),
  expires_at_ms: assumed(EpochMs.optional(), 'A66', 'When the consent expires; 180 days from now when absent.'),
  expected_revision: assumed(z.int().min(0).optional(), 'A66', 'The current revision, 0 for none; any other is a 400.'),
}))
export type ConsentRequest = z.infer<typeof ConsentRequest>

export const ConsentStored = strictObject(() => ({
  ok: observed(z.literal(true), 'A66', 'true when stored.'),
  consent_id: observed(ConsentId, 'A66', 'Identifier of the consent record.'),
  authoritative_consent: observed(AuthoritativeConsent, 'A66', 'The snapshot now in force.'),
  request_id: assumed(requestIdField, 'A66', 'Support identifier, equal to the x-request-id header.'),
}))
export type ConsentStored = z.infer<typeof ConsentStored>

export const v1 = declareEndpoints({
  'consent.set': {
    ...publicApi,
    method: 'POST',
    path: '/v1/consent',
    summary: 'Store consent for a session',
    description: 'Stores consent for a client_id and session_id. The contract may change.',
    stability: 'may_change',
    body: ConsentRequest,
    response: ConsentStored,
    response_headers: ['x-sandbox-warning'],
    errors: ['project_mismatch', 'consent_revision_conflict', 'expires_at_in_seconds', 'expires_at_past'],
  },
})

/* The control plane: the consent history of sessions. */

/** What a stored string of a consent tool says. */
export const DecodedConsentString = assumedObject('A66', () => ({
  field: z.string().describe('The field that has it: tcf_string, tcf_consent_string or gpp_string.'),
  standard: z.enum(['tcf', 'gpp']).describe('TCF (Europe) or GPP (sections by region).'),
  problem: z.string().nullable().describe('Why it cannot be decoded; null when it can.'),
  created_at_ms: EpochMs.nullable().describe('When the consent tool made it.'),
  cmp_id: z.int().nullable().describe('The consent tool.'),
  purposes: z.array(z.int()).describe('TCF purposes that are consented to.'),
  vendors: z.int().describe('Vendors that are consented to.'),
  sections: z.array(z.string()).describe('GPP sections.'),
  opt_outs: z.array(z.string()).describe('What sections of the United States opt out of.'),
}))

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
  strings: z.array(DecodedConsentString).describe('What the strings in it say.'),
}))
export type ConsentItem = z.infer<typeof ConsentItem>

export const control = declareEndpoints({
  'consent.list': {
    ...reading,
    path: '/_sandbox/consent',
    summary: 'Show the consent history of sessions',
    description:
      'Every revision, including superseded ones. Sending the same consent again adds no revision: after 60 s it renews the current one, earlier it changes nothing.',
    query: assumedObject('A93', () => ({
      ...pageQuery(),
      client_id: z.string().optional().describe('Only this project.'),
      session_id: z.string().optional().describe('Only this session.'),
      since: Since.optional().describe('Only revisions stored or renewed since then.'),
    })),
    response: page(ConsentItem),
  },
})
