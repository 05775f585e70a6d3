import { grantedConsent, storeConsent, viewOf } from '../../../lib/consent-cookie'
import { isForeign, membersOf, refuse } from '../../../lib/requests'
import { callService, clientId } from '../../../lib/service'

/** POST { decision, shares_questions }: stores the user's answer. A grant that it replaces is withdrawn at the service. */
export async function POST(request: Request): Promise<Response> {
  if (isForeign(request)) return refuse(403, 'foreign_origin')
  const { decision, shares_questions } = await membersOf(request)
  if (decision !== 'granted' && decision !== 'denied') return refuse(400, 'decision_missing')
  const before = await grantedConsent()
  const consent = await storeConsent(decision, shares_questions === true)
  if (before !== null) await withdraw(before.session_id)
  return Response.json(viewOf(consent))
}

async function withdraw(session_id: string): Promise<void> {
  try {
    const body = { client_id: clientId(), session_id, decision: 'withdrawn', source: 'svc_consent' }
    const { ok, status } = await callService('/v1/consent', body)
    if (!ok) throw new Error(`POST /v1/consent answered ${status}`)
  } catch (problem) {
    // The session id is deleted with the cookie: whatever the service still stores, nobody will use the id again.
    console.warn('placement service: a withdrawal did not reach it:', problem)
  }
}
