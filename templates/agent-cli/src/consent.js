/** The user's answer about sponsored suggestions, in its own file. */
import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * @typedef {object} Answer
 * @property {boolean} granted
 * @property {{ semantic_targeting: boolean, prompt_shared: boolean }} purposes
 * @property {string | null} session_id created by a grant, deleted by a withdrawal
 */

/** @returns {Answer | null} null when the user has not answered or the file cannot be read: nothing is permitted */
export function readAnswer(file) {
  try {
    const { granted, purposes, session_id } = JSON.parse(readFileSync(file, 'utf8'))
    if (granted !== true) return { granted: false, purposes: none(), session_id: null }
    if (typeof session_id !== 'string') return null
    const { semantic_targeting, prompt_shared } = purposes
    return {
      granted,
      purposes: { semantic_targeting: semantic_targeting === true, prompt_shared: prompt_shared === true },
      session_id,
    }
  } catch {
    return null
  }
}

/** @returns {Answer} */
export function writeAnswer(file, granted, purposes = none()) {
  const answer = { granted, purposes: granted ? purposes : none(), session_id: granted ? randomUUID() : null }
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${JSON.stringify(answer)}\n`, { mode: 0o600 })
  return answer
}

/** Whether the service's snapshot permits showing a placement and reporting it. */
export function isInForce(snapshot, now = Date.now()) {
  return snapshot?.lifecycle_state === 'granted' && snapshot.expires_at_ms > now
}

function none() {
  return { semantic_targeting: false, prompt_shared: false }
}
