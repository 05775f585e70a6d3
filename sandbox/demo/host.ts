/**
 * Everything that this page has to do with sponsored placements. Read it as an example.
 *
 * One turn of the product is one call of `withTurn`: it asks the page's own backend for a placement, mounts it into
 * `target`, measures, sends the beacons and takes it down again. Whatever becomes of the ad, the work of the turn runs,
 * and its result comes back untouched. The backend holds the secret key; the page never sees it.
 */
import type { JobType, NativeTemplateId, SlotHint } from '../../src/contract/fields.ts'
import type { PlacementRequest } from '../../src/contract/v1/placements.ts'
import type { Turn } from '../renderer/host/turn.ts'
import type { Choices } from './choices.ts'

/** Routes of the page's own backend. */
const backend = '/_sandbox/demo/api'
/** The product never waits longer for an activation, or for consent to be stored, milliseconds. */
const patience_ms = 1_500

export interface SponsoredTurn {
  id: string
  /** The empty element that takes the ad. */
  target: Element
  session_id: string
  job_type: JobType
  prompt: { topic?: string; text?: string }
  timing: 'before' | 'during' | 'after'
  slot_hint: SlotHint
  template: NativeTemplateId
  choices: Choices
  /** Aborted when the user stops the turn or asks something else. */
  signal: AbortSignal
}

export interface Credentials {
  /** A proof against cross-site requests, as any host has one. It goes to the backend and nowhere else. */
  token: string
  publishable_key: string
}

/** Runs `work` as a turn with a sponsored slot. Without render.js, blocked or not loaded, it is just the work. */
export async function withSponsoredTurn<Result>(
  wanted: SponsoredTurn,
  credentials: Credentials,
  work: () => Promise<Result>,
  started: (turn: Turn) => void,
): Promise<Result> {
  const { SponsoredPlacement } = window
  if (SponsoredPlacement === undefined) return work()
  const { id, target, signal, choices } = wanted

  if (choices.integration === 'browser' && SponsoredPlacement.state().activation === null) {
    const activation = SponsoredPlacement.activate({ publishableKey: credentials.publishable_key })
    await Promise.race([activation, new Promise((resolve) => setTimeout(resolve, patience_ms))])
  }
  const turn = {
    turnId: id,
    target,
    signal,
    body: placementRequest(wanted),
    keepMounted: choices.keep === 'on',
    ...(choices.integration === 'server' && {
      endpoint: `${backend}/${choices.outcome === 'slow' ? 'slow-placement' : 'placement'}`,
      headers: { 'x-sandbox-token': credentials.token },
    }),
  }
  return SponsoredPlacement.withTurn(turn, (turn) => {
    started(turn)
    return work()
  })
}

/** The v1 request. Who asks, the project and its key, is added by the backend, or by the browser's activation. */
function placementRequest(wanted: SponsoredTurn): Omit<PlacementRequest, 'client_id'> {
  const { session_id, job_type, prompt, slot_hint, timing, choices } = wanted
  const { format, outcome } = choices
  const template = choices.template === 'fitting' ? wanted.template : choices.template
  return {
    session_id,
    job_type,
    prompt,
    slot_hint,
    overrides: {
      timing,
      ...(format !== 'auto' && { allowed_formats: [format] }),
      ...((format === 'native' || format === 'auto') && { native_template_id: template }),
    },
    ...(outcome === 'no_fill' && { test_outcome: 'no_fill' }),
  }
}

/** Takes down whatever a target shows. Nothing happens when it is empty. */
export function clearSlot(target: Element): void {
  window.SponsoredPlacement?.clearPlacement({ target })
}

/** What the user has answered to the consent question. The backend stores it with POST /v1/consent. */
export type ConsentAnswer = 'granted' | 'denied' | 'withdrawn' | 'expiring'

/** How long a consent that is about to expire still lasts, milliseconds. */
const expiring_ms = 8_000

/** Stores the answer of a session. On a withdrawal, clear the slot first: its beacons would be refused from now on. */
export async function storeConsent(session_id: string, answer: ConsentAnswer, token: string): Promise<Response> {
  const isGrant = answer === 'granted' || answer === 'expiring'
  return fetch(`${backend}/consent`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-sandbox-token': token },
    body: JSON.stringify({
      session_id,
      decision: isGrant ? 'granted' : answer,
      purposes: { semantic_targeting: isGrant, prompt_shared: isGrant },
      ...(answer === 'expiring' && { expires_in_ms: expiring_ms }),
    }),
    signal: AbortSignal.timeout(patience_ms),
  })
}
