/** Consent: whether it is requested, respected and sent. */

import { reasonsAbout } from '#contract/facts/reason-subjects.ts'
import {
  countPhrase,
  groupBy,
  hasWarning,
  isAdRequest,
  isBeacon,
  isFrame,
  type JournaledExchange,
  listSlots,
  readNoFillReason,
  sessionKey,
  textAt,
} from '#diagnosis/exchange.ts'
import { withoutQuery } from '#foundation/http.ts'
import { valueAt } from '#foundation/json.ts'
import { findingFor, judgeMatching, judgeRefused, type Observed, ruleSet } from '../rule.ts'

export const consentRules = ruleSet('journal', {
  'consent-missing': {
    title: 'consent is known before ads are requested',
    severity: 'error',
    costs: 'The request is refused: no ad.',
    fix: 'Send consent with the request, or store it with POST /v1/consent first. Missing consent does not mean that none is needed.',
    needs: 'a request for a placement or a job',
    judge: judgeRefused(reasonsAbout.consent_missing, isAdRequest),
  },
  'asked-after-denial': {
    title: 'no ad is requested after consent was denied',
    severity: 'error',
    costs: "The user's choice is ignored: the result is a no-fill at best, a complaint to an authority at worst.",
    fix: 'Request placements only while the consent of the session is granted; after a denial, wait for new consent.',
    needs: 'a session whose consent was denied or withdrawn',
    judge({ exchanges }) {
      const denied = new Map<string, 'stored' | 'sent' | null>()
      const wrong: JournaledExchange[] = []
      for (const exchange of exchanges) {
        if (exchange.session_id === null) continue
        const session = sessionKey(exchange)
        const isGranted = isGrantedBy(exchange)
        if (isConsent(exchange) && isGranted !== null) denied.set(session, isGranted ? null : 'stored')
        if (!isAdRequest(exchange)) continue
        // The denial may be older than the journal.
        if (hasWarning(exchange, 'consent_overturned') && !denied.has(session)) denied.set(session, 'stored')
        const before = denied.get(session) ?? null
        // Where consent comes with each request, a later request may bring the user's new choice.
        if (before === 'sent' && isGranted === true) denied.set(session, null)
        else if (before !== null) wrong.push(exchange)
        else if (readNoFillReason(exchange) === 'consent_not_granted') denied.set(session, 'sent')
      }
      const findings = [...groupBy(wrong, ({ session_id }) => session_id)].flatMap(([session_id, requests]) => {
        const message = `Ads were requested ${countPhrase(requests.length)} in session ${session_id}, after its consent was no longer granted.`
        return findingFor(requests, message, requests.some(isGrantedBy) ? constantFix : undefined)
      })
      return { sample_size: denied.size, findings }
    },
  },
  'shown-after-withdrawal': {
    title: 'no ad is shown or reported after consent ends',
    severity: 'error',
    costs: 'The ad is refused or does not count, and leaves an empty slot.',
    fix: 'Clear the slot when consent is withdrawn or changes, and request a new placement once it is granted.',
    needs: 'a frame or a beacon',
    judge: judgeMatching(
      (exchange) => isFrame(exchange) || isBeacon(exchange),
      (shown) => {
        const frames = shown.filter((exchange) => isFrame(exchange) && exchange.status === 403)
        const beacons = shown.filter((each) => isBeacon(each) && withdrawn.has(each.reason_code ?? ''))
        return [
          ...findingFor(
            frames,
            `A frame was loaded ${countPhrase(frames.length)} without granted consent: ${listSlots(frames)}.`,
          ),
          ...findingFor(
            beacons,
            `A beacon was sent ${countPhrase(beacons.length)} after consent had ended: ${listSlots(beacons)}.`,
          ),
        ]
      },
    ),
  },
  'text-without-consent': {
    title: "a user's text is sent only along with consent",
    severity: 'error',
    costs: 'Personal text leaves your systems without a legal basis.',
    fix: 'Send no prompt.text until consent is known; a topic alone is enough for a placement.',
    needs: 'a request with prompt text',
    judge: judgeMatching(hasText, (texts, observed) => {
      const isKnown = consentKnowledge(observed)
      const bare = texts.filter((exchange) => isKnown(exchange) === false)
      return findingFor(bare, `Prompt text was sent ${countPhrase(bare.length)} without consent.`)
    }),
  },
  'text-not-shared': {
    title: "a user's text is sent only when prompt_shared is true",
    severity: 'error',
    costs: 'The text is discarded unread, and should never have left your systems.',
    fix: 'Leave prompt.text out unless the user agreed to prompt_shared.',
    needs: 'a request with prompt text and consent',
    judge(observed) {
      const isKnown = consentKnowledge(observed)
      const texts = observed.exchanges.filter((exchange) => hasText(exchange) && isKnown(exchange) !== false)
      const refused = texts.filter(
        (exchange) =>
          valueAt(exchange.response_body, 'authoritative_consent.purposes.prompt_shared') === false ||
          hasWarning(exchange, 'prompt_text_discarded'),
      )
      const message = `Prompt text was sent ${countPhrase(refused.length)}, although prompt_shared is not true.`
      return { sample_size: texts.length, findings: findingFor(refused, message) }
    },
  },
})

const constantFix =
  "Send the user's choice as consent, not a constant: a request granted again what the user had denied."

/** Returns whether consent is granted after a request, or null when its response does not say. */
function isGrantedBy({ response_body }: JournaledExchange): boolean | null {
  const state = textAt(response_body, 'authoritative_consent.lifecycle_state')
  return state === null ? null : state === 'granted'
}

const withdrawn: ReadonlySet<string> = new Set(['consent_not_granted', 'consent_superseded', 'consent_expired'])

function isConsent({ path }: JournaledExchange): boolean {
  return withoutQuery(path) === '/v1/consent'
}

/** Whether a request has prompt text. The journal stores the length of a text, never the text. */
function hasText(exchange: JournaledExchange): boolean {
  if (!isAdRequest(exchange)) return false
  const texts = ['prompt', 'prompt.text', 'context.prompt_text'].map((path) => textAt(exchange.request_body, path))
  return texts.some((text) => text !== null && text !== '' && text !== '[removed: 0 characters]')
}

/**
 * Returns a function that says whether consent was known when a request was made: sent with it, or stored earlier. Null
 * when the journal does not show it, for example for a job whose consent may have been stored before the journal
 * begins.
 */
function consentKnowledge({ exchanges, is_whole }: Observed): (exchange: JournaledExchange) => boolean | null {
  const stored = new Map<string, number>()
  for (const [index, exchange] of exchanges.entries()) {
    const session = sessionKey(exchange)
    if (isConsent(exchange) && exchange.status === 200 && !stored.has(session)) stored.set(session, index)
  }
  const places = new Map(exchanges.map((exchange, index) => [exchange, index]))
  return (exchange) => {
    if (valueAt(exchange.request_body, 'consent') !== undefined) return true
    const source = textAt(exchange.response_body, 'authoritative_consent.source')
    if (source !== null) return source !== 'none'
    if (exchange.reason_code === 'consent_required') return false
    const storedAt = stored.get(sessionKey(exchange))
    if (storedAt !== undefined) return storedAt < (places.get(exchange) ?? 0)
    return is_whole ? false : null
  }
}
