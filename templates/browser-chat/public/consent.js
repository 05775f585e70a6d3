/**
 * The user's answer to "may we show sponsored suggestions?", stored in this browser with its time.
 *
 * It fails closed: no answer, an unreadable answer and an expired answer all mean no consent. The session id, by
 * which the service recognizes this user, is created by a grant and deleted with it: before, nothing personal exists.
 */
const key = 'hazelby.consent'
const lifetime_ms = 180 * 24 * 60 * 60 * 1000

/** If storage is blocked, an answer lasts as long as the page. */
let unstored = null

/** `{ decision, decided_at_ms, expires_at_ms, purposes, session_id }`, or null if the user must be asked. */
export function readConsent() {
  const consent = read()
  const isAnswer = consent?.decision === 'granted' || consent?.decision === 'denied'
  return isAnswer && consent.expires_at_ms > Date.now() ? consent : null
}

/** The consent, if it permits sponsored suggestions now. Read it again before each use: it may have been withdrawn. */
export function grantedConsent() {
  const consent = readConsent()
  return consent?.decision === 'granted' && typeof consent.session_id === 'string' ? consent : null
}

/** Stores an answer. `sharesQuestions` says whether questions may be sent to select suggestions. */
export function writeConsent(decision, sharesQuestions) {
  const isGrant = decision === 'granted'
  const shares = isGrant && sharesQuestions
  unstored = {
    decision,
    decided_at_ms: Date.now(),
    expires_at_ms: Date.now() + lifetime_ms,
    purposes: { semantic_targeting: shares, prompt_shared: shares },
    session_id: isGrant ? crypto.randomUUID() : null,
  }
  try {
    localStorage.setItem(key, JSON.stringify(unstored))
  } catch {
    console.info('consent: this browser stores nothing, the answer lasts as long as the page')
  }
}

function read() {
  try {
    return JSON.parse(localStorage.getItem(key)) ?? unstored
  } catch {
    return unstored
  }
}
