/**
 * All of this page's contact with the placement service. Three rules apply throughout:
 *
 * - Nothing is loaded from the service or sent to it before consent is granted.
 * - The page has only the publishable key. render.js exchanges it for a token that is bound to this page's origin.
 * - No-fill, pending, errors and an unavailable service are normal: the slot stays empty and the turn goes on.
 */
import { grantedConsent } from './consent.js'
import { placementRequest } from './placement-request.js'

/** `{ base_url, publishable_key }`, written by the server from its environment. */
const settings = fetch('config.json').then((response) => response.json())
let script = null
let activation = null

/**
 * A sponsored slot for a turn of the chat. Returns immediately and never throws: the turn does not wait for its ad.
 * Call `finish` when the turn is over. `signal` cancels the ad along with the turn.
 */
export function sponsorTurn({ target, question, signal }) {
  let isFinished = false
  let turn = null
  const consent = grantedConsent()
  if (consent !== null) void start()
  return {
    finish() {
      isFinished = true
      turn?.finish()
    },
  }

  async function start() {
    const renderer = await connect()
    const isCurrent = grantedConsent()?.session_id === consent.session_id
    if (renderer === null || isFinished || !isCurrent || signal.aborted) return
    const body = placementRequest(consent, question, target.parentElement.clientWidth)
    turn = renderer.startTurn({ target, signal, body, keepMounted: true })
    turn.on('rendered', () => target.setAttribute('data-rendered', ''))
    turn.on('error', ({ code, reason_code = '' }) => console.info('sponsored placement:', code, reason_code))
  }
}

/** Removes every ad. */
export function clearSponsored() {
  window.SponsoredPlacement?.destroy()
  activation = null
}

/** Removes every ad, and tells the service that this session's consent has ended. */
export async function withdraw(session_id) {
  clearSponsored()
  try {
    const { base_url, publishable_key } = await settings
    const { activation_token, project_id } = await post(`${base_url}/v1/browser/activate`, { publishable_key })
    const withdrawn = { client_id: project_id, session_id, decision: 'withdrawn', source: 'svc_consent' }
    await post(`${base_url}/v1/consent`, withdrawn, activation_token)
  } catch (problem) {
    // The session id is deleted here: whatever the service still stores, nobody will use the id again.
    console.info('sponsored placement: the withdrawal did not reach the service:', String(problem))
  }
}

/** render.js, loaded and activated; null if that fails, in which case the next turn tries again. */
async function connect() {
  try {
    const { base_url, publishable_key } = await settings
    script ??= load(`${base_url}/v1/render.js`)
    const renderer = await script
    activation ??= renderer.activate({ publishableKey: publishable_key })
    if ((await activation) !== null) return renderer
    activation = null
    console.info('sponsored placement: no activation:', renderer.getEvents().at(-1)?.reason_code)
  } catch (problem) {
    script = null
    console.info('sponsored placement:', String(problem))
  }
  return null
}

function load(src) {
  return new Promise((resolve, reject) => {
    const element = Object.assign(document.createElement('script'), { src, async: true })
    element.onload = () => resolve(window.SponsoredPlacement)
    element.onerror = () => reject(new Error(`${src} could not be loaded`))
    document.head.append(element)
  })
}

async function post(url, body, token) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${url} answered ${response.status}`)
  return response.json()
}
