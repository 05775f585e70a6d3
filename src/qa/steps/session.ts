/** Steps about the session and its page: consent, activation, the project's config. */
import { z } from 'zod'
import { consentDecisions } from '../../contract/v1/consent.ts'
import { AnyJson, orVariable } from '../suite/variables.ts'
import { needsOfMembers, stepKind } from './step-kind.ts'

const decision = orVariable(z.enum(consentDecisions), consentDecisions.join(', '))
const Wish = z.strictObject({
  decision: decision.optional(),
  semantic_targeting: orVariable(z.boolean(), 'true or false').optional(),
  prompt_shared: orVariable(z.boolean(), 'true or false').optional(),
  source: z.string().optional(),
  session: z.string().optional().describe('Another session than that of the case.'),
  expires_at_ms: AnyJson.optional(),
  expected_revision: AnyJson.optional(),
})
const Consent = z.union([decision, Wish])

export const consent = stepKind({
  name: 'consent',
  summary: 'stores consent for the session',
  shape: { consent: Consent.describe('granted, denied, withdrawn, or { decision, semantic_targeting, ... }.') },
  isRequest: true,
  needs: needsOfMembers,
  moves: () => [],
  title: ({ consent }) => `consent ${typeof consent === 'string' ? consent : ''}`.trim(),
  run: ({ consent, ...members }, turn) => {
    const wish: z.output<typeof Wish> = typeof consent === 'string' ? { decision: consent } : consent
    const { session = turn.state.session, source = 'svc_consent', semantic_targeting, prompt_shared } = wish
    const isGranted = wish.decision === undefined || wish.decision === 'granted'
    return turn.call('consent.set', {
      body: {
        client_id: turn.state.client_id,
        session_id: session,
        source,
        purposes: {
          semantic_targeting: semantic_targeting ?? isGranted,
          prompt_shared: prompt_shared ?? isGranted,
        },
        ...(wish.decision === undefined ? {} : { decision: wish.decision }),
        ...(wish.expires_at_ms === undefined ? {} : { expires_at_ms: wish.expires_at_ms }),
        ...(wish.expected_revision === undefined ? {} : { expected_revision: wish.expected_revision }),
      },
      members,
    })
  },
})

export const activate = stepKind({
  name: 'activate',
  summary: 'exchanges the publishable key for an activation token; key: activation uses it from then on',
  shape: { activate: z.string().nullable().describe('The publishable key; nothing: that of the project.') },
  isRequest: true,
  needs: (step) => ['publishable_key', ...needsOfMembers(step)],
  moves: () => [],
  title: () => 'activate',
  run: async ({ activate, ...members }, turn) => {
    const publishable_key = activate ?? (await turn.state.key('publishable'))
    const origin = members.origin === undefined ? turn.state.origin : members.origin
    return turn.call('browser.activate', { body: { publishable_key }, members: { ...members, origin } })
  },
})

export const config = stepKind({
  name: 'config',
  summary: 'reads the runtime configuration of the project',
  shape: { config: z.string().nullable().describe('Project; nothing: that of the case.') },
  isRequest: true,
  needs: needsOfMembers,
  moves: () => [],
  title: () => 'config',
  run: ({ config, ...members }, turn) =>
    turn.call('projects.config', { params: { client_id: config ?? turn.state.client_id }, members }),
})
