import { cookies } from 'next/headers'
import { cookieAttributes, type GrantedConsent, grantedConsent } from '../../../lib/consent-cookie'
import { isForeign, membersOf, refuse } from '../../../lib/requests'
import { clientId, passOn } from '../../../lib/service'

/** The slot that this browser requested last. Nobody can poll another browser's slots with our key. */
const slotCookie = 'hazelby_slot'

/** POST { question, width }: a placement for a turn. The response is the service's, unchanged; render.js reads it. */
export async function POST(request: Request): Promise<Response> {
  if (isForeign(request)) return refuse(403, 'foreign_origin')
  const consent = await grantedConsent()
  if (consent === null) return refuse(403, 'consent_missing')
  const { question, width } = await membersOf(request)
  if (typeof question !== 'string' || typeof width !== 'number') return refuse(400, 'question_or_width_missing')

  const response = await passOn('/v1/placements?wait_ms=1500', placementRequest(consent, question, width))
  const { slot_id } = await membersOf(response.clone())
  if (typeof slot_id === 'string') {
    const jar = await cookies()
    jar.set(slotCookie, slot_id, { ...(await cookieAttributes()), path: '/api/placement' })
  }
  return response
}

/** GET ?slot_id&wait_ms: render.js polls while the decision is pending. */
export async function GET(request: Request): Promise<Response> {
  const { searchParams } = new URL(request.url)
  const slot_id = (await cookies()).get(slotCookie)?.value
  if (isForeign(request) || slot_id === undefined || searchParams.get('slot_id') !== slot_id) {
    return refuse(403, 'slot_not_yours')
  }
  if ((await grantedConsent()) === null) return refuse(403, 'consent_missing')
  const wait_ms = Number(searchParams.get('wait_ms') ?? 0) || 0
  return passOn(`/v1/decisions/${encodeURIComponent(slot_id)}?wait_ms=${wait_ms}`)
}

/** The request to the service. The question is sent only if the user agreed to share it. */
function placementRequest({ session_id, shares_questions }: GrantedConsent, question: string, width: number) {
  return {
    client_id: clientId(),
    session_id,
    job_type: 'chat',
    consent: {
      semantic_targeting: shares_questions,
      prompt_shared: shares_questions,
      consent_source: 'svc_consent',
    },
    ...(shares_questions && { prompt: { text: question.slice(0, 2000) } }),
    slot_hint: { position: 'inline', max_width: Math.min(4096, Math.max(1, Math.floor(width))), max_height: 400 },
    // A native card takes the colours and width of the page. Add banner and clip here to allow them too.
    overrides: { allowed_formats: ['native'], native_template_id: width < 480 ? 'card' : 'list_item' },
  }
}
