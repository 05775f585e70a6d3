/**
 * The user's answer to "may we show sponsored suggestions?", stored in this browser with its time.
 *
 * It fails closed: no answer, an unreadable answer and an expired answer all mean no consent. The session id, by
 * which the service recognizes this user, is created by a grant and deleted with it: before, nothing personal exists.
 */
export interface Answer {
  decision: 'granted' | 'denied'
  decided_at_ms: number
  expires_at_ms: number
}

export interface GrantedConsent extends Answer {
  decision: 'granted'
  purposes: { semantic_targeting: boolean; prompt_shared: boolean }
  session_id: string
}

export const key = 'hazelby.consent'
const lifetime_ms = 180 * 24 * 60 * 60 * 1000

/** The current answer, or null if the user must be asked. */
export function readAnswer(): Answer | GrantedConsent | null {
  const answer = stored()
  const isAnswer = answer?.decision === 'granted' || answer?.decision === 'denied'
  return isAnswer && answer.expires_at_ms > Date.now() ? answer : null
}

/** The answer, if it permits sponsored suggestions now. */
export function grantOf(answer: Answer | GrantedConsent | null): GrantedConsent | null {
  const isGrant = answer?.decision === 'granted' && 'session_id' in answer && answer.expires_at_ms > Date.now()
  return isGrant ? answer : null
}

/** `sharesQuestions` says whether questions may be sent to select suggestions. */
export function makeAnswer(decision: Answer['decision'], sharesQuestions: boolean): Answer | GrantedConsent {
  const decided_at_ms = Date.now()
  const times = { decided_at_ms, expires_at_ms: decided_at_ms + lifetime_ms }
  if (decision === 'denied') return { decision, ...times }
  const purposes = { semantic_targeting: sharesQuestions, prompt_shared: sharesQuestions }
  return { decision, ...times, purposes, session_id: crypto.randomUUID() }
}

export function storeAnswer(answer: Answer): void {
  try {
    localStorage.setItem(key, JSON.stringify(answer))
  } catch {
    console.info('consent: this browser stores nothing, the answer lasts as long as the page')
  }
}

function stored(): Answer | GrantedConsent | null {
  try {
    return JSON.parse(localStorage.getItem(key) ?? 'null')
  } catch {
    return null
  }
}
