/**
 * Consent of a session in numbered revisions, and the snapshot that a decision binds (A60 to A66).
 *
 * One rule applies everywhere: only consent that is granted, current and unexpired permits ads. A project that requires
 * no consent gets an implicit grant without purposes, so that the rule needs no exception.
 */

import type { ProjectSettings } from '../../src/contract/control/projects.ts'
import type { ReasonCode } from '../../src/contract/errors.ts'
import type { AuthoritativeConsent, ConsentState, RequestConsent } from '../../src/contract/fields.ts'
import { limits } from '../../src/contract/limits.ts'
import type { ConsentRequest } from '../../src/contract/v1/consent.ts'

export type ConsentSettings = ProjectSettings['consent']

/** A stored revision of a session's consent. */
export interface ConsentRecord {
  id: number
  revision: number
  state: Exclude<ConsentState, 'expired'>
  source: string
  semantic_targeting: boolean
  prompt_shared: boolean
  /** Canonical JSON of fields that are stored and not used. */
  extras: string
  updated_at_ms: number
  expires_at_ms: number
}

/** A consent to be stored: a new revision, or a renewal of the present one. */
export interface ConsentDraft extends Omit<ConsentRecord, 'id'> {
  renews: boolean
}

export type ConsentResolution =
  | { status: 'known'; snapshot: AuthoritativeConsent; draft: ConsentDraft | null }
  | { status: 'required' }

/** Returns the snapshot of a record at `now_ms`: expired when its end has passed. */
export function snapshotOf(record: Omit<ConsentRecord, 'id'>, now_ms: number): AuthoritativeConsent {
  return {
    lifecycle_state: now_ms >= record.expires_at_ms ? 'expired' : record.state,
    revision: record.revision,
    updated_at_ms: record.updated_at_ms,
    expires_at_ms: record.expires_at_ms,
    source: record.source,
    purposes: { semantic_targeting: record.semantic_targeting, prompt_shared: record.prompt_shared },
  }
}

/** Returns the consent of a placement request: sent with it, stored, implied, or required and missing (A61, A63, A64). */
export function resolveConsent(
  settings: ConsentSettings,
  sent: RequestConsent | undefined,
  stored: ConsentRecord | null,
  now_ms: number,
): ConsentResolution {
  if (sent !== undefined) {
    const draft = draftFromRequest(settings, sent, stored, now_ms)
    return { status: 'known', snapshot: snapshotOf(draft ?? stored!, now_ms), draft }
  }
  if (stored !== null) return { status: 'known', snapshot: snapshotOf(stored, now_ms), draft: null }
  if (settings.required) return { status: 'required' }
  return { status: 'known', snapshot: implicitGrant(settings, now_ms), draft: null }
}

/** Returns the consent that POST /v1/consent stores (A66); null when it repeats the stored one. */
export function draftFromConsent(
  settings: ConsentSettings,
  request: ConsentRequest,
  stored: ConsentRecord | null,
  now_ms: number,
): ConsentDraft | null {
  const { semantic_targeting = false, prompt_shared = false, ...others } = request.purposes ?? {}
  const purposes = { semantic_targeting, prompt_shared }
  const draft = revise(stored, {
    state: request.decision ?? (meetsRequired(settings, purposes) ? 'granted' : 'denied'),
    source: request.source ?? 'svc_consent',
    ...purposes,
    extras: canonicalExtras({
      ...others,
      gdpr_applies: request.gdpr_applies,
      tcf_string: request.tcf_string,
      gpp_string: request.gpp_string,
    }),
    updated_at_ms: now_ms,
    expires_at_ms: request.expires_at_ms ?? now_ms + settings.ttl_ms,
  })
  const keepsEnd = request.expires_at_ms === undefined || request.expires_at_ms === stored?.expires_at_ms
  return keepsEnd && repeats(stored, draft) ? null : draft
}

/**
 * Returns why the snapshot that a decision has bound no longer permits rendering and beacons, given the newest stored
 * revision of its session (A65); null when it still does.
 */
export function consentProblem(
  bound: AuthoritativeConsent,
  latest: ConsentRecord | null,
  now_ms: number,
): Extract<ReasonCode, 'consent_not_granted' | 'consent_superseded' | 'consent_expired'> | null {
  if (bound.lifecycle_state !== 'granted') return 'consent_not_granted'
  if (latest !== null) {
    if (latest.state !== 'granted') return 'consent_not_granted'
    if (bound.source === 'none' || latest.revision !== bound.revision) return 'consent_superseded'
    if (now_ms >= latest.expires_at_ms) return 'consent_expired'
  }
  return now_ms >= bound.expires_at_ms ? 'consent_expired' : null
}

/** Returns the consent declaration of a decision: `CS-S (S1/P0)` (A32). */
export function consentDeclaration(snapshot: AuthoritativeConsent): string {
  const flag = (on: boolean) => (on ? '1' : '0')
  return `CS-S (S${flag(snapshot.purposes.semantic_targeting)}/P${flag(snapshot.purposes.prompt_shared)})`
}

function draftFromRequest(
  settings: ConsentSettings,
  sent: RequestConsent,
  stored: ConsentRecord | null,
  now_ms: number,
): ConsentDraft | null {
  const { semantic_targeting = false, prompt_shared = false, consent_source, ...others } = sent
  const purposes = { semantic_targeting, prompt_shared }
  const draft = revise(stored, {
    state: meetsRequired(settings, purposes) ? 'granted' : 'denied',
    source: consent_source === 'svc_consent' ? 'svc_consent' : 'wrapper_cmp',
    ...purposes,
    extras: canonicalExtras(others),
    updated_at_ms: now_ms,
    expires_at_ms: now_ms + settings.ttl_ms,
  })
  return repeats(stored, draft) ? null : draft
}

/** Whether a draft is the consent in force again, so soon after it was written that nothing is written (A62). */
function repeats(stored: ConsentRecord | null, draft: ConsentDraft): boolean {
  if (stored === null || !draft.renews || draft.extras !== stored.extras) return false
  const age_ms = draft.updated_at_ms - stored.updated_at_ms
  return age_ms >= 0 && age_ms < limits.consent_repeat_within_ms && draft.updated_at_ms < stored.expires_at_ms
}

/** The same state, purposes and source renew the present revision; any change is the next revision (A62). */
function revise(stored: ConsentRecord | null, wanted: Omit<ConsentRecord, 'id' | 'revision'>): ConsentDraft {
  if (stored === null) return { ...wanted, revision: 1, renews: false }
  const isSame =
    stored.state === wanted.state &&
    stored.source === wanted.source &&
    stored.semantic_targeting === wanted.semantic_targeting &&
    stored.prompt_shared === wanted.prompt_shared
  return { ...wanted, revision: isSame ? stored.revision : stored.revision + 1, renews: isSame }
}

function meetsRequired(settings: ConsentSettings, purposes: { semantic_targeting: boolean; prompt_shared: boolean }) {
  return settings.required_purposes.every((purpose) => purposes[purpose])
}

function implicitGrant(settings: ConsentSettings, now_ms: number): AuthoritativeConsent {
  return {
    lifecycle_state: 'granted',
    revision: 1,
    updated_at_ms: now_ms,
    expires_at_ms: now_ms + settings.ttl_ms,
    source: 'none',
    purposes: { semantic_targeting: false, prompt_shared: false },
  }
}

function canonicalExtras(extras: Record<string, unknown>): string {
  const names = Object.keys(extras).filter((name) => extras[name] !== undefined)
  return names.length === 0
    ? '{}'
    : JSON.stringify(Object.fromEntries(names.sort().map((name) => [name, extras[name]])))
}
