/**
 * The integration of this page with sponsored placements. Read it as an example.
 *
 * One turn of the product is one call of `withTurn`: it requests a placement from the page's own backend, mounts it
 * into `target`, measures, sends the beacons and clears it. Whatever happens to the ad, the work of the turn runs and
 * its result is returned unchanged. The backend holds the secret key; the page never sees it.
 */
import { tokenHeaders } from '#browser/tab-token.ts'
import type { JobType, NativeTemplateId, SlotHint } from '#contract/fields.ts'
import type { ConsentStored } from '#contract/resources/consent.ts'
import type { PlacementRequest } from '#contract/resources/placements.ts'
import type { Turn } from '#renderer/host/turn.ts'
import { changeConsentTool, readToolStrings, type ToolStrings } from './consent-tool.ts'
import type { Choices } from './surfaces.ts'

/** Routes of the page's own backend. */
const backend = '/_sandbox/demo/api'
/** The product waits no longer than this for an activation, or for consent to be stored, milliseconds. */
const timeoutMs = 1_500

/** Read from the backend of this page. The secret key is not part of it. */
interface PageSettings {
  /** Protects the backend against cross-site requests. It is sent only to the backend. */
  token: string
  client_id: string
  publishable_key: string
  campaigns: { campaign_id: string; sponsor_name: string }[]
  since_seq: number
  consent_strings: ToolStrings
}

export const settings = await readSettings()

/** Beyond loopback the backend needs the admin token of this tab. */
async function readSettings(): Promise<PageSettings> {
  const response = await fetch('/_sandbox/demo/settings', { headers: tokenHeaders(), cache: 'no-store' })
  if (response.ok) return response.json()
  if (response.status === 403) location.replace('/_sandbox/')
  throw new Error(`The sandbox responded ${response.status} to GET /_sandbox/demo/settings.`)
}

interface SponsoredTurn {
  id: string
  /** The empty element for the ad. */
  target: Element
  session_id: string
  job_type: JobType
  prompt: { topic?: string; text?: string }
  slot_hint: SlotHint
  template: NativeTemplateId
  choices: Choices
  /** The campaign that must fill; empty: the market decides. */
  force_campaign_id: string
  /** Aborted when the user stops the turn or asks something else. */
  signal: AbortSignal
}

/** Runs `work` as a turn with a sponsored slot. Without render.js, blocked or not loaded, it only runs the work. */
export async function withSponsoredTurn<Result>(
  sponsored: SponsoredTurn,
  work: () => Promise<Result>,
  onStart: (turn: Turn) => void,
): Promise<Result> {
  const { SponsoredPlacement } = window
  if (SponsoredPlacement === undefined) return work()
  const { id, target, signal, choices } = sponsored

  if (choices.integration === 'browser' && SponsoredPlacement.state().activation === null) {
    const activation = SponsoredPlacement.activate({ publishableKey: settings.publishable_key })
    await Promise.race([activation, new Promise((resolve) => setTimeout(resolve, timeoutMs))])
  }
  const turn = {
    turnId: id,
    target,
    signal,
    body: placementRequest(sponsored),
    keepMounted: choices.keep === 'on',
    ...(choices.integration === 'server' && {
      endpoint: `${backend}/${choices.outcome === 'slow' ? 'slow-placement' : 'placement'}`,
      headers: { 'x-sandbox-token': settings.token },
    }),
  }
  return SponsoredPlacement.withTurn(turn, (turn) => {
    onStart(turn)
    return work()
  })
}

/** Returns the v1 request. The backend, or the browser's activation, adds the project and its key. */
function placementRequest(sponsored: SponsoredTurn): Omit<PlacementRequest, 'client_id'> {
  const { session_id, job_type, prompt, slot_hint, choices, force_campaign_id } = sponsored
  const { format, outcome } = choices
  const template = choices.template === 'fitting' ? sponsored.template : choices.template
  return {
    session_id,
    job_type,
    prompt,
    slot_hint,
    overrides: {
      timing: 'during',
      ...(format !== 'auto' && { allowed_formats: [format] }),
      ...(force_campaign_id !== '' && { force_campaign_id }),
      ...((format === 'native' || format === 'auto') && { native_template_id: template }),
    },
    ...(outcome === 'no_fill' && { test_outcome: 'no_fill' }),
  }
}

/** Clears a target. Does nothing when it is empty. */
export function clearSlot(target: Element): void {
  window.SponsoredPlacement?.clearPlacement({ target })
}

/** The user's answer to the consent question. The backend stores it with POST /v1/consent. */
type ConsentAnswer = Exclude<Choices['consent'], 'unasked'>

/** Lifetime of a consent that is about to expire, milliseconds. */
const expiringMs = 8_000

/** Stores the answer of a session. On a withdrawal, clear the slot first: its beacons would be refused from now on. */
async function storeConsent(session_id: string, answer: ConsentAnswer, strings: object): Promise<Response> {
  const isGrant = answer === 'granted' || answer === 'expiring'
  return fetch(`${backend}/consent`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-sandbox-token': settings.token },
    body: JSON.stringify({
      session_id,
      decision: isGrant ? 'granted' : answer,
      purposes: { semantic_targeting: isGrant, prompt_shared: isGrant },
      ...strings,
      ...(answer === 'expiring' && { expires_in_ms: expiringMs }),
    }),
    signal: AbortSignal.timeout(timeoutMs),
  })
}

interface HostSession {
  readonly id: string
  /**
   * Stores the chosen consent unless it is stored already: before a turn, and at once for a withdrawal. Resolves to
   * whether an ad may be requested: not before a refusal is stored.
   */
  setConsent(choice: Choices['consent'], tool: Choices['tool']): Promise<boolean>
}

/** Opens the session of this page. `onStored` is called with every consent that the service stored. */
export function openSession(onStored: (consent: Record<string, unknown>) => void): HostSession {
  let session_id = newSessionId()
  let stored: ConsentAnswer | null = null
  return {
    get id() {
      return session_id
    },
    async setConsent(choice, tool) {
      if (choice === 'unasked') {
        if (stored !== null) session_id = newSessionId()
        stored = null
        return true
      }
      if (choice === stored && choice !== 'expiring') return true
      const isRefusal = choice === 'denied' || choice === 'withdrawn'
      changeConsentTool(tool, isRefusal, settings.consent_strings)
      const strings = tool === 'absent' ? {} : await readToolStrings(timeoutMs)
      // The tool has not answered: nothing is known, so nothing is stored, and the next turn asks it again.
      if (strings === null) return !isRefusal
      try {
        const response = await storeConsent(session_id, choice, strings)
        if (!response.ok) return !isRefusal
        stored = choice
        const { consent_id, authoritative_consent }: ConsentStored = await response.json()
        const { lifecycle_state, ...snapshot } = authoritative_consent
        onStored({ consent_id, session_id, state: choice === 'expiring' ? 'expiring' : lifecycle_state, ...snapshot })
        return true
      } catch {
        // Not stored: the next turn tries again, and until then the service uses the consent it has.
        return !isRefusal
      }
    },
  }
}

function newSessionId(): string {
  return `demo-${Array.from(crypto.getRandomValues(new Uint8Array(6)), (byte) => byte.toString(36).padStart(2, '0')).join('')}`
}
