/**
 * Everything this page has to do with the placement service. Three things hold throughout:
 *
 * - Nothing is loaded from the service, and nothing sent to it, before consent is granted.
 * - The page knows the publishable key alone. render.js exchanges it for a token that is bound to this page's origin.
 * - No-fill, pending, errors and a service that is not there are normal: the slot stays empty and the turn goes on.
 */
import { grantedConsent } from './consent.js'
import { placementRequest } from './placement-request.js'

/** `{ base_url, publishable_key }`, written by the server from its environment. */
const settings = fetch('config.json').then((response) => response.json())
let script = null
let activation = null

/**
 * A sponsored slot beside a turn of the chat. Answers at once and never throws: the turn does not wait for its ad.
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

/** Takes every ad away. */
export function clearSponsored() {
  window.SponsoredPlacement?.destroy()
  activation = null
}

/** Takes every ad away, and tells the service that the consent of this session has ended. */
export async function withdraw(session_id) {
  clearSponsored()
  try {
    const { base_url, publishable_key } = await settings
    const { activation_token, project_id } = await post(`${base_url}/v1/browser/activate`, { publishable_key })
    const withdrawn = { client_id: project_id, session_id, decision: 'withdrawn', source: 'svc_consent' }
    await post(`${base_url}/v1/consent`, withdrawn, activation_token)
  } catch (problem) {
    // The session id is forgotten here: whatever the service still knows, nobody will use it again.
    console.info('sponsored placement: the withdrawal did not reach the service:', String(problem))
  }
}

/** render.js, loaded and activated; null when that fails, and then the next turn tries again. */
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
