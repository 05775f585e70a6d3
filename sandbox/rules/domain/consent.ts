/**
 * Consent of a session in numbered revisions, and the snapshot that a decision binds (A60 to A66).
 *
 * One rule applies everywhere: only consent that is granted, current and unexpired permits ads. A project that requires
 * no consent gets an implicit grant without purposes, so the rule needs no exception.
 */

import type { ReasonCode } from '#contract/errors.ts'
import type { AuthoritativeConsent, ConsentState, RequestConsent } from '#contract/fields.ts'
import { limits } from '#contract/limits.ts'
import type { ConsentRequest } from '#contract/resources/consent.ts'
import type { ProjectSettings } from '#contract/resources/projects.ts'

type ConsentSettings = ProjectSettings['consent']

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

/** A consent to be stored: a new revision, or a renewal of the current one. */
export interface ConsentDraft extends Omit<ConsentRecord, 'id'> {
  renews: boolean
}

/** The consent that a decision binds, and the record to store for it. */
export interface ConsentResolution {
  snapshot: AuthoritativeConsent
  /** To be stored; null when nothing was sent, or when it repeats the stored consent. */
  draft: ConsentDraft | null
  /** Whether a purpose that was not sent kept its stored grant. */
  keepsPurposes: boolean
  /** Whether the project requires consent, and none is sent or current (A64). */
  isMissing: boolean
  /** Whether it grants what the project's own mechanism has stored as denied or withdrawn (A63). */
  overturns: boolean
}

/** Returns the snapshot of a record at `now_ms`: expired when its end has passed. */
export function createSnapshot(record: Omit<ConsentRecord, 'id'>, now_ms: number): AuthoritativeConsent {
  return {
    lifecycle_state: now_ms >= record.expires_at_ms ? 'expired' : record.state,
    revision: record.revision,
    updated_at_ms: record.updated_at_ms,
    expires_at_ms: record.expires_at_ms,
    source: record.source,
    purposes: { semantic_targeting: record.semantic_targeting, prompt_shared: record.prompt_shared },
  }
}

/** Whether a placement needs consent: by setting, or because the project has its own mechanism (A64). */
export function requiresConsent({ required, mechanism }: ConsentSettings): boolean {
  return required || mechanism === 'svc_consent'
}

/** Returns the consent of a request for ads: sent with it, stored, implied, or required and missing (A61, A63, A64). */
export function resolveConsent(
  settings: ConsentSettings,
  sent: RequestConsent | undefined,
  stored: ConsentRecord | null,
  now_ms: number,
): ConsentResolution {
  if (sent !== undefined) {
    const { semantic_targeting, prompt_shared, consent_source, source, purposes = {}, decision, ...extras } = sent
    const mechanism = parseMechanism(consent_source ?? source)
    const flags = defined({ semantic_targeting, prompt_shared })
    const words = { source, purposes: { ...purposes, ...flags }, decision, extras }
    return revise(settings, sentConsent(words, mechanism), stored, now_ms)
  }
  const isCurrent = stored !== null && now_ms < stored.expires_at_ms
  const snapshot = stored === null ? withoutConsent(settings, now_ms) : createSnapshot(stored, now_ms)
  return {
    snapshot,
    draft: null,
    keepsPurposes: false,
    isMissing: !isCurrent && requiresConsent(settings),
    overturns: false,
  }
}

/**
 * `none` is stored unchanged; `svc_consent`, or any other `<name>_consent`, is the project's own mechanism (A63, C02).
 * Every other source, and none, is `wrapper_cmp` (A66).
 */
function parseMechanism(source: string | undefined): string {
  if (source === 'none') return 'none'
  return source?.endsWith('_consent') === true ? 'svc_consent' : 'wrapper_cmp'
}

/** Consent in the words of its senders, which a request for ads and POST /v1/consent share. */
interface ConsentWords extends Pick<ConsentRequest, 'source' | 'decision'> {
  purposes: Readonly<Record<string, boolean | undefined>> | undefined
  extras: Record<string, unknown>
}

/** Returns a consent as the rules read it. A source that the mechanism does not name is kept beside it. */
function sentConsent({ source, purposes = {}, decision, extras }: ConsentWords, mechanism: string): SentConsent {
  const { semantic_targeting, prompt_shared, ...others } = purposes
  const kept = source === mechanism ? undefined : source
  return {
    purposes: { ...impliedPurposes(decision), ...defined({ semantic_targeting, prompt_shared }) },
    source: mechanism,
    extras: { ...others, ...extras, source: kept },
    decision,
  }
}

/** The purposes that a decision means unless they are sent (A66). */
function impliedPurposes(decision: ConsentRequest['decision']): SentConsent['purposes'] {
  if (decision === 'personalized') return { semantic_targeting: true, prompt_shared: true }
  return decision === 'basic' ? { semantic_targeting: false } : {}
}

function defined<Values extends object>(values: Values): Partial<Values> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Partial<Values>
}

/** Returns the consent that POST /v1/consent stores (A66). */
export function resolveSentConsent(
  settings: ConsentSettings,
  request: ConsentRequest,
  stored: ConsentRecord | null,
  now_ms: number,
): ConsentResolution {
  const { source, purposes, decision, expires_at_ms, gdpr_applies, tcf_string, gpp_string } = request
  const words = { source, purposes, decision, extras: { gdpr_applies, tcf_string, gpp_string } }
  const sent = sentConsent(words, parseMechanism(source ?? 'svc_consent'))
  return revise(settings, { ...sent, expires_at_ms }, stored, now_ms)
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
    if (isImplied(bound, latest) || latest.revision !== bound.revision) return 'consent_superseded'
    if (now_ms >= latest.expires_at_ms) return 'consent_expired'
  }
  return now_ms >= bound.expires_at_ms ? 'consent_expired' : null
}

/**
 * Whether a bound consent was implied and a stored one exists now. A stored one may have the source `none` too (C02).
 */
function isImplied(bound: AuthoritativeConsent, latest: ConsentRecord): boolean {
  return bound.source === 'none' && (latest.source !== 'none' || !hasPurposes(latest, bound.purposes))
}

function hasPurposes(stored: ConsentRecord, { semantic_targeting, prompt_shared }: Record<Purpose, boolean>): boolean {
  return stored.semantic_targeting === semantic_targeting && stored.prompt_shared === prompt_shared
}

/** Whether prompt text, and anything derived from it, may be used (A50). */
export function mayProcessPrompt({ lifecycle_state, purposes }: AuthoritativeConsent): boolean {
  return lifecycle_state === 'granted' && purposes.prompt_shared
}

/** Returns the consent declaration of a decision: `CS-S (S1/P0)` (A32). */
export function consentDeclaration(snapshot: AuthoritativeConsent): string {
  const flag = (on: boolean) => (on ? '1' : '0')
  return `CS-S (S${flag(snapshot.purposes.semantic_targeting)}/P${flag(snapshot.purposes.prompt_shared)})`
}

/** A consent as the rules below read it, whichever way it was sent. */
interface SentConsent {
  purposes: Partial<Record<Purpose, boolean | undefined>>
  source: string
  extras: Record<string, unknown>
  decision?: ConsentRequest['decision']
  expires_at_ms?: number | undefined
}

type Purpose = keyof AuthoritativeConsent['purposes']

/**
 * The same state, purposes and source renew the current revision; any change makes the next one (A62). A purpose that
 * was not sent keeps its stored value, unless the consent that contains it has expired, or is now denied or withdrawn
 * (A61).
 */
function revise(
  settings: ConsentSettings,
  sent: SentConsent,
  stored: ConsentRecord | null,
  now_ms: number,
): ConsentResolution {
  const { decision } = sent
  const isRefused = decision === 'denied' || decision === 'withdrawn'
  const kept = isRefused || stored === null || now_ms >= stored.expires_at_ms ? null : stored
  const resolvePurpose = (name: Purpose) => sent.purposes[name] ?? kept?.[name] ?? false
  const purposes = {
    semantic_targeting: resolvePurpose('semantic_targeting'),
    prompt_shared: resolvePurpose('prompt_shared'),
  }
  const state = isRefused ? decision : isGrant(settings, sent, purposes) ? 'granted' : 'denied'
  const renews = stored?.state === state && stored.source === sent.source && hasPurposes(stored, purposes)
  const draft: ConsentDraft = {
    revision: nextRevision(stored, renews),
    state,
    source: sent.source,
    ...purposes,
    extras: canonicalExtras(sent.extras),
    updated_at_ms: now_ms,
    expires_at_ms: sent.expires_at_ms ?? now_ms + settings.ttl_ms,
    renews,
  }
  const keepsEnd = sent.expires_at_ms === undefined || sent.expires_at_ms === stored?.expires_at_ms
  const isRepeated = stored !== null && keepsEnd && repeats(stored, draft)
  return {
    snapshot: createSnapshot(isRepeated ? stored : draft, now_ms),
    draft: isRepeated ? null : draft,
    keepsPurposes: purposeNames.some((name) => sent.purposes[name] === undefined && purposes[name]),
    isMissing: false,
    overturns: overturns(stored, state, now_ms),
  }
}

/** Whether a grant follows a denial or a withdrawal that the project's own mechanism has stored and that is current (A63). */
function overturns(stored: ConsentRecord | null, state: ConsentRecord['state'], now_ms: number): boolean {
  if (state !== 'granted' || stored?.source !== 'svc_consent' || now_ms >= stored.expires_at_ms) return false
  return stored.state === 'denied' || stored.state === 'withdrawn'
}

function nextRevision(stored: ConsentRecord | null, renews: boolean): number {
  if (stored === null) return 1
  return renews ? stored.revision : stored.revision + 1
}

/**
 * Whether a consent that is not refused is a grant: by its decision, or by the purposes that the project requires. Where
 * consent is required, the source `none` grants nothing (A63).
 */
function isGrant(
  settings: ConsentSettings,
  { decision, source }: SentConsent,
  purposes: Record<Purpose, boolean>,
): boolean {
  const { required_purposes } = settings
  if (source === 'none' && requiresConsent(settings)) return false
  if (decision === 'personalized' || decision === 'basic') return true
  if (decision === 'custom') return required_purposes.length === 0 || required_purposes.some((name) => purposes[name])
  return required_purposes.every((purpose) => purposes[purpose])
}

const purposeNames: readonly Purpose[] = ['semantic_targeting', 'prompt_shared']

/** Whether a draft repeats the consent in force so soon after it was written that nothing is written (A62). */
function repeats(stored: ConsentRecord, draft: ConsentDraft): boolean {
  if (!draft.renews || draft.extras !== stored.extras) return false
  const age_ms = draft.updated_at_ms - stored.updated_at_ms
  return age_ms >= 0 && age_ms < limits.consent_repeat_within_ms && draft.updated_at_ms < stored.expires_at_ms
}

/** The snapshot of a session without consent: an implicit grant (A63), or pending where consent is required. */
function withoutConsent(settings: ConsentSettings, now_ms: number): AuthoritativeConsent {
  return {
    lifecycle_state: requiresConsent(settings) ? 'pending' : 'granted',
    revision: 1,
    updated_at_ms: now_ms,
    expires_at_ms: now_ms + settings.ttl_ms,
    source: 'none',
    purposes: { semantic_targeting: false, prompt_shared: false },
  }
}

/** JSON drops what is undefined. */
function canonicalExtras(extras: Record<string, unknown>): string {
  const names = Object.keys(extras).sort()
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, extras[name]])))
}
