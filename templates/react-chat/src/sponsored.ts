/**
 * All of this page's contact with the placement service. Three rules apply throughout:
 *
 * - Nothing is loaded from the service or sent to it before consent is granted.
 * - The page has only the publishable key. render.js exchanges it for a token that is bound to this page's origin.
 * - No-fill, pending, errors and an unavailable service are normal: the slot stays empty and the turn goes on.
 */
import { type GrantedConsent, grantOf } from './consent.ts'
import { placementRequest } from './placement-request.ts'

type RenderJs = NonNullable<Window['SponsoredPlacement']>

const base_url = import.meta.env.SVC_BASE_URL
const publishable_key = import.meta.env.SVC_PUBLISHABLE_KEY
/** Without settings there is nothing to consent to. */
export const isConfigured = base_url !== '' && publishable_key !== ''

let script: Promise<RenderJs> | null = null
let activation: Promise<object | null> | null = null

export interface SponsoredTurn {
  /** The turn is over, and its ad stays next to the answer. An ad that has not arrived by now is dropped. */
  finish(): void
  /** The turn is cancelled, and its ad is removed. */
  cancel(): void
}

/** A sponsored slot for a turn of the chat. Returns immediately and never throws: the turn does not wait for its ad. */
export function sponsorTurn(wanted: {
  id: string
  target: HTMLElement
  question: string
  consent: GrantedConsent
}): SponsoredTurn {
  const { id, target, question, consent } = wanted
  const cancelled = new AbortController()
  let isFinished = false
  let turn: SponsoredPlacementTurn | null = null
  void start()
  return {
    finish() {
      isFinished = true
      turn?.finish()
    },
    cancel: () => cancelled.abort(),
  }

  async function start(): Promise<void> {
    const renderer = await connect(cancelled.signal)
    if (renderer === null || isFinished || cancelled.signal.aborted || grantOf(consent) === null) return
    turn = renderer.startTurn({
      // The same id is the same turn: an effect that React's StrictMode runs twice sends one request.
      turnId: id,
      target,
      signal: cancelled.signal,
      body: placementRequest(consent, question, target.parentElement?.clientWidth ?? 0),
      keepMounted: true,
    })
    turn.on('rendered', () => target.setAttribute('data-rendered', ''))
    turn.on('error', ({ code, reason_code = '' }) => console.info('sponsored placement:', code, reason_code))
  }
}

/** Removes every ad, and tells the service that this session's consent has ended. */
export async function withdraw(session_id: string): Promise<void> {
  window.SponsoredPlacement?.destroy()
  activation = null
  try {
    const { activation_token, project_id } = await post('/v1/browser/activate', { publishable_key })
    const withdrawn = { client_id: project_id, session_id, decision: 'withdrawn', source: 'svc_consent' }
    await post('/v1/consent', withdrawn, activation_token)
  } catch (problem) {
    // The session id is deleted here: whatever the service still stores, nobody will use the id again.
    console.info('sponsored placement: the withdrawal did not reach the service:', String(problem))
  }
}

/** render.js, loaded and activated; null if that fails, in which case the next turn tries again. */
async function connect(signal: AbortSignal): Promise<RenderJs | null> {
  try {
    // An effect that StrictMode undoes immediately loads nothing.
    await Promise.resolve()
    if (signal.aborted) return null
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

function load(src: string): Promise<RenderJs> {
  return new Promise((resolve, reject) => {
    const element = Object.assign(document.createElement('script'), { src, async: true })
    element.onload = () => resolve(window.SponsoredPlacement!)
    element.onerror = () => reject(new Error(`${src} could not be loaded`))
    document.head.append(element)
  })
}

async function post(path: string, body: object, token?: string): Promise<Record<string, string>> {
  const response = await fetch(base_url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${path} answered ${response.status}`)
  return response.json()
}
