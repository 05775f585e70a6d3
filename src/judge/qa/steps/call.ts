/** Steps that call one endpoint: consent, activation and configuration; and any endpoint by its id. */

import { z } from 'zod'
import { consentDecisions } from '#contract/fields.ts'
import { contract, type EndpointId } from '#contract/index.ts'
import type { Json } from '#foundation/json.ts'
import { tableNames } from '#foundation/table-entry.ts'
import { AnyJson, orVariable } from '../suite/variables.ts'
import { changesOfCall, definedFields, needsOfCall, needsOfRequest, stepKind } from './step-kind.ts'

const Decision = orVariable(z.enum(consentDecisions), consentDecisions.join(', '))

const Consent = z.strictObject({
  decision: Decision.optional(),
  semantic_targeting: orVariable(z.boolean(), 'true or false').optional(),
  prompt_shared: orVariable(z.boolean(), 'true or false').optional(),
  source: z.string().optional(),
  session: z.string().optional().describe("Another session than the case's own."),
  expires_at_ms: AnyJson.optional(),
  expected_revision: AnyJson.optional(),
})

export const consent = stepKind({
  name: 'consent',
  summary: 'stores consent for the session',
  shape: {
    consent: z
      .union([Decision, Consent])
      .describe('granted, denied, withdrawn, or { decision, semantic_targeting, ... }.'),
  },
  isRequest: true,
  title: ({ consent }) => `consent ${typeof consent === 'string' ? consent : ''}`.trim(),
  run: ({ consent, ...fields }, { call, state }) => {
    const options: z.output<typeof Consent> = typeof consent === 'string' ? { decision: consent } : consent
    const { session = state.session, source = 'svc_consent', semantic_targeting, prompt_shared, ...others } = options
    const isGranted = others.decision === undefined || others.decision === 'granted'
    const purposes = {
      semantic_targeting: semantic_targeting ?? isGranted,
      prompt_shared: prompt_shared ?? isGranted,
    }
    const body = definedFields({ client_id: state.client_id, session_id: session, source, purposes, ...others })
    return call('consent.set', { body, fields })
  },
})

export const activate = stepKind({
  name: 'activate',
  summary: 'exchanges the publishable key for an activation token, which later steps use by key: activation',
  shape: { activate: z.string().nullable().describe("The publishable key; default: the project's.") },
  isRequest: true,
  needs: (step) => ['publishable_key', ...needsOfRequest(step)],
  title: () => 'activate',
  run: async ({ activate, ...fields }, { call, state }) => {
    const publishable_key = activate ?? (await state.key('publishable'))
    const origin = fields.origin === undefined ? state.origin : fields.origin
    return call('browser.activate', { body: { publishable_key }, fields: { ...fields, origin } })
  },
})

export const config = stepKind({
  name: 'config',
  summary: 'reads the runtime configuration of the project',
  shape: { config: z.string().nullable().describe("A project; default: the case's own.") },
  isRequest: true,
  title: () => 'config',
  run: ({ config, ...fields }, { call, state }) =>
    call('projects.config', { params: { client_id: config ?? state.client_id }, fields }),
})

export const call = stepKind({
  name: 'call',
  summary: 'calls an endpoint of the contract by its id, v1 or control plane',
  shape: {
    call: z.enum(tableNames(contract)).describe('Id of the endpoint.'),
    params: z
      .record(z.string(), z.union([z.string(), z.number()]))
      .optional()
      .describe('Parameters of the path.'),
    body: AnyJson.optional().describe('The body, as JSON.'),
  },
  isRequest: true,
  needs: (step) => needsOfCall(step.call as EndpointId, step),
  changes: (step) => changesOfCall(step.call as EndpointId),
  title: (step) => String(step.call),
  run: ({ call, params = {}, body, ...fields }, context) =>
    context.call(call, {
      params: Object.fromEntries(Object.entries(params).map(([name, value]) => [name, String(value)])),
      body: body ?? defaultBody(call),
      fields,
    }),
})

/** Bodies of the control plane are objects, mostly without a required field. */
function defaultBody(id: EndpointId): Json | undefined {
  const endpoint = contract[id]
  return endpoint.stability === 'sandbox' && 'body' in endpoint ? {} : undefined
}
