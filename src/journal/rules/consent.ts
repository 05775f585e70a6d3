/** Consent: whether it is asked for, kept to, and sent. */
import { type Exchange, groupBy, member, pathOf, some, times } from '../exchange.ts'
import { isFrame } from '../frames.ts'
import { noFillReasonOf } from '../no-fills.ts'
import { type Observed, type Rule, refusalRule } from '../rule.ts'

const asksForAds = (exchange: Exchange) =>
  exchange.method === 'POST' && /^\/v1\/(placements|jobs)$/.test(pathOf(exchange))

export const askedAfterDenial: Rule = {
  title: 'no ad is asked for after consent was denied',
  severity: 'error',
  costs: "The person's choice is passed over; the answer is a no-fill at best, a complaint to an authority at worst.",
  fix: 'Ask for placements only while the consent of the session is granted; after a denial wait for a new consent.',
  needs: 'a session whose consent was denied or withdrawn',
  judge({ exchanges }) {
    const denied = new Map<string, boolean>()
    const wrong: Exchange[] = []
    for (const exchange of exchanges) {
      const { session_id, client_id } = exchange
      if (session_id === null) continue
      const session = `${client_id} ${session_id}`
      if (asksForAds(exchange)) {
        if (denied.get(session) === true) wrong.push(exchange)
        if (noFillReasonOf(exchange) === 'consent_not_granted') denied.set(session, true)
      }
      const state = member(exchange.detail?.response_body, 'authoritative_consent', 'lifecycle_state')
      if (pathOf(exchange) === '/v1/consent' && typeof state === 'string') denied.set(session, state !== 'granted')
    }
    const sessions = [...groupBy(wrong, ({ session_id }) => session_id)]
    return {
      looked_at: denied.size,
      findings: sessions.map(([session_id, requests]) => ({
        seen: `Ads were asked for ${times(requests.length)} in session ${session_id}, after its consent was no longer granted.`,
        requests,
      })),
    }
  },
}

const withdrawn = new Set(['consent_not_granted', 'consent_superseded', 'consent_expired'])

export const shownAfterWithdrawal: Rule = {
  title: 'nothing is shown or told after consent has ended',
  severity: 'error',
  costs: 'The ad is refused or does not count, and an empty slot stays where it was.',
  fix: 'Clear the slot when consent is withdrawn or changes, and ask for a new placement once it is granted.',
  needs: 'a frame or a beacon',
  judge({ exchanges }) {
    const shown = exchanges.filter((exchange) => isFrame(exchange) || pathOf(exchange) === '/v1/beacons')
    const frames = shown.filter((exchange) => isFrame(exchange) && exchange.status === 403)
    const beacons = shown.filter(({ reason_code }) => withdrawn.has(reason_code ?? ''))
    return {
      looked_at: shown.length,
      findings: [
        ...about(frames, (slots, count) => `A frame was loaded ${count} without a granted consent: ${slots}.`),
        ...about(beacons, (slots, count) => `A beacon was sent ${count} after consent had ended: ${slots}.`),
      ],
    }
  },
}

function about(requests: readonly Exchange[], seen: (slots: string, count: string) => string) {
  const slots = requests.map(({ slot_id }) => slot_id ?? 'an unknown slot')
  return requests.length === 0 ? [] : [{ seen: seen(some(slots), times(requests.length)), requests }]
}

export const consentMissing = refusalRule(
  {
    title: 'consent is known before ads are asked for',
    severity: 'error',
    costs: 'The request is refused: no ad.',
    fix: 'Send consent with the request, or store it with POST /v1/consent first. Absent consent is not "does not apply".',
    needs: 'a request for a placement or a job',
  },
  ['consent_required'],
  asksForAds,
)

export const textWithoutConsent: Rule = {
  title: 'text of a person is sent only with consent',
  severity: 'error',
  costs: 'Personal text leaves your systems without any legal ground.',
  fix: 'Send no prompt.text until consent is known; a topic alone is enough for a placement.',
  needs: 'a request with prompt text',
  judge(observed) {
    const texts = observed.exchanges.filter(hasText)
    const isKnown = consentKnowledge(observed)
    const bare = texts.filter((exchange) => isKnown(exchange) === false)
    return { looked_at: texts.length, findings: aboutText(bare, 'and nothing about consent') }
  },
}

export const textNotShared: Rule = {
  title: 'text of a person is sent only when prompt_shared is true',
  severity: 'error',
  costs: 'The text is thrown away unread, and should never have left your systems.',
  fix: 'Leave prompt.text out unless the person agreed to prompt_shared.',
  needs: 'a request with prompt text and consent',
  judge(observed) {
    const isKnown = consentKnowledge(observed)
    const texts = observed.exchanges.filter((exchange) => hasText(exchange) && isKnown(exchange) !== false)
    const refused = texts.filter(
      ({ detail }) =>
        member(detail?.response_body, 'authoritative_consent', 'purposes', 'prompt_shared') === false ||
        detail?.response_headers['x-sandbox-warning']?.includes('prompt_text_discarded') === true,
    )
    return { looked_at: texts.length, findings: aboutText(refused, 'although prompt_shared is not true') }
  },
}

function aboutText(requests: readonly Exchange[], circumstance: string) {
  return requests.length === 0
    ? []
    : [{ seen: `Prompt text was sent ${times(requests.length)}, ${circumstance}.`, requests }]
}

/** The journal keeps the length of a text, never the text. */
function hasText(exchange: Exchange): boolean {
  if (!asksForAds(exchange)) return false
  const body = exchange.detail?.request_body
  const texts = [member(body, 'prompt'), member(body, 'prompt', 'text'), member(body, 'context', 'prompt_text')]
  return texts.some((text) => typeof text === 'string' && text !== '' && text !== '[removed: 0 characters]')
}

/**
 * Whether consent was known when a request was made: by the request itself, or stored before it. Null where the traffic does
 * not tell, as of a job whose session may have been asked before the look began.
 */
function consentKnowledge({ exchanges, is_whole }: Observed): (exchange: Exchange) => boolean | null {
  const stored = new Map<string, number>()
  for (const [index, exchange] of exchanges.entries()) {
    const session = sessionOf(exchange)
    if (pathOf(exchange) === '/v1/consent' && exchange.status === 200 && !stored.has(session))
      stored.set(session, index)
  }
  const places = new Map(exchanges.map((exchange, index) => [exchange, index]))
  return (exchange) => {
    const { detail } = exchange
    if (member(detail?.request_body, 'consent') !== undefined) return true
    const source = member(detail?.response_body, 'authoritative_consent', 'source')
    if (typeof source === 'string') return source !== 'none'
    if (exchange.reason_code === 'consent_required') return false
    const storedAt = stored.get(sessionOf(exchange))
    if (storedAt !== undefined) return storedAt < (places.get(exchange) ?? 0)
    return is_whole ? false : null
  }
}

function sessionOf({ client_id, session_id }: Exchange): string {
  return `${client_id} ${session_id}`
}
