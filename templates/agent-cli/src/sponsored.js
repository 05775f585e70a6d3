/** A native placement for a task: requested during the work, shown as text, reported by beacons. */
import { randomUUID } from 'node:crypto'
import { isInForce } from './consent.js'
import { call } from './service.js'

/** How long one poll waits for a decision. */
const poll_wait_ms = 2_000

/**
 * Requests a native placement; without consent, requests nothing.
 * @returns {Promise<object | null>} the response of a fill that can be shown; null otherwise
 */
export async function requestPlacement(settings, answer, task, signal) {
  if (!answer?.granted) return null
  const { semantic_targeting, prompt_shared } = answer.purposes
  const prompt = { ...(semantic_targeting && { topic: task.topic }), ...(prompt_shared && { text: task.text }) }
  const body = {
    client_id: settings.client_id,
    session_id: answer.session_id,
    job_type: 'agent',
    consent: answer.purposes,
    slot_hint: { position: 'below' },
    overrides: { allowed_formats: ['native'], native_template_id: 'minimal' },
    ...(Object.keys(prompt).length > 0 && { prompt }),
  }
  let response = await call(settings, 'POST', '/v1/placements?wait_ms=1500', { body, signal, once: true })
  // Pending is not no-fill: poll until it is decided, or the task has no more time for it.
  while (response?.status === 'pending') {
    response = await call(settings, 'GET', `/v1/decisions/${response.slot_id}?wait_ms=${poll_wait_ms}`, { signal })
  }
  const isFill = response?.status === 'ready' && response.decision?.fill === true && response.decision.assets !== null
  return isFill && isInForce(response.authoritative_consent) ? response : null
}

/** The placement as lines of text, its label first. */
export function placementText({ placement, decision }, columns = 80) {
  const { title, description, cta_text } = decision.assets
  const width = Math.max(20, Math.min(columns, 80) - 2)
  return [
    `${plain(placement.ad_label_text)}: ${plain(placement.sponsor_name)}`,
    ...wrapped(plain(title), width),
    ...wrapped(plain(description ?? ''), width),
    `${plain(cta_text)}: ${safeUrl(placement.click_url) ?? 'no address'}`,
  ]
    .filter((line) => line !== '')
    .map((line, index) => (index === 0 ? line : `  ${line}`))
}

/** The URL, if it is safe to open in a browser. */
export function safeUrl(address) {
  const url = URL.canParse(address) ? new URL(address) : null
  const isLocal = url?.protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)
  return url?.protocol === 'https:' || isLocal ? url.href : null
}

/** Reports the events of one shown placement, each once. Nothing is sent after consent has expired. */
export function createBeacons(settings, { slot_id, decision, authoritative_consent }) {
  const render_instance_id = randomUUID()
  const sent = new Set()
  return async function report(event, measurements) {
    if (sent.has(event) || !isInForce(authoritative_consent)) return null
    sent.add(event)
    return call(settings, 'POST', '/v1/beacons', {
      body: {
        beacon_id: `${render_instance_id}:${event}`,
        asset_token: decision.asset_token,
        slot_id,
        event,
        occurred_at_ms: Date.now(),
        render_instance_id,
        consent_revision: authoritative_consent.revision,
        ...(measurements && { measurements }),
      },
    })
  }
}

/** Sends a withdrawal to the service; ads already shown can no longer be reported. */
export function withdraw(settings, session_id) {
  const body = { client_id: settings.client_id, session_id, decision: 'withdrawn' }
  return call(settings, 'POST', '/v1/consent', { body })
}

/** Third-party text for the terminal, without control characters, which could steer it. */
function plain(text) {
  return String(text)
    .replace(/[\p{Cc}\p{Cf}]+/gu, ' ')
    .trim()
}

function wrapped(text, width) {
  const lines = ['']
  for (const word of text.split(/\s+/)) {
    const line = lines.at(-1) === '' ? word : `${lines.at(-1)} ${word}`
    if (line.length <= width) lines[lines.length - 1] = line
    else lines.push(word)
  }
  return lines
}
