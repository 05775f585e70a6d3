/**
 * Consent, failing closed: an ad may be requested, mounted or counted only while its snapshot is granted, current and
 * unexpired. A snapshot that is missing or unreadable is not granted.
 */
import type { AuthoritativeConsent } from '#contract/fields.ts'
import type { Clock } from './clock.ts'

export type ConsentReason =
  | 'consent_missing'
  | 'consent_unreadable'
  | 'consent_not_granted'
  | 'consent_from_future'
  | 'consent_expired'
  | 'consent_superseded'
  | 'consent_revision_mismatch'

/** Whether a reason or error code of the service is about consent. */
export function isConsentReason(code: string): code is ConsentReason {
  return code.startsWith('consent_')
}

/** Two clocks never agree to the millisecond: a snapshot made just now is not from the future. */
const toleranceMs = 5_000
/** A browser's timers stand still while the computer sleeps, so the clocks are read again at least as often. */
const maxTimerMs = 10_000

/** The time lies between two: the user's clock may be wrong until a server has sent its time. Unix epoch milliseconds. */
interface TimeBounds {
  min_ms: number
  max_ms: number
}

/** Returns why `consent` permits nothing now, or null when it does. `min_revision` is the last one seen for its session. */
export function consentProblem(
  consent: unknown,
  { min_ms, max_ms }: TimeBounds,
  min_revision: number,
): ConsentReason | null {
  if (consent === undefined || consent === null) return 'consent_missing'
  const { lifecycle_state, revision, updated_at_ms, expires_at_ms }: Partial<AuthoritativeConsent> = consent
  if (lifecycle_state === 'expired') return 'consent_expired'
  if (typeof lifecycle_state === 'string' && lifecycle_state !== 'granted') return 'consent_not_granted'
  if (lifecycle_state !== 'granted' || !isWhole(revision) || !isWhole(updated_at_ms) || !isWhole(expires_at_ms)) {
    return 'consent_unreadable'
  }
  if (updated_at_ms > max_ms + toleranceMs) return 'consent_from_future'
  if (expires_at_ms <= min_ms) return 'consent_expired'
  return revision < min_revision ? 'consent_superseded' : null
}

/** Whether a value is a whole number of at least 1. */
export function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0
}

/** Opens the memory of the latest revision of every session on this page. */
export function openConsentMemory(clock: Pick<Clock, 'steady' | 'isSynced'>) {
  const revisions = new Map<string, number>()
  return {
    /**
     * Returns why `consent` permits nothing now, or null; a permitted revision becomes the least one of its session. Sessions that
     * nobody names are not one session: nothing is kept of them. A snapshot
     * is from the future only by a server's time. With `untilSynced` it is expired only by a server's time, too.
     */
    problem: (consent: unknown, session_id: string, untilSynced = false): ConsentReason | null => {
      const now_ms = clock.steady()
      const bounds = clock.isSynced
        ? { min_ms: now_ms, max_ms: now_ms }
        : { min_ms: untilSynced ? 0 : now_ms, max_ms: Infinity }
      const reason = consentProblem(consent, bounds, revisions.get(session_id) ?? 1)
      if (!reason && session_id) revisions.set(session_id, (consent as AuthoritativeConsent).revision)
      return reason
    },
    clear: () => revisions.clear(),
  }
}

/**
 * Calls `onExpired` at `expires_at_ms` by the monotonic clock, once `rearm` was called; call it again when the clock has been
 * corrected. Where the user's clock is past that time and the monotonic one is not, the computer has slept or somebody has set the
 * clock: then `onDoubt` is called, once, which asks the service.
 */
export function watchExpiry(
  expires_at_ms: number,
  { now, steady }: Pick<Clock, 'now' | 'steady'>,
  onExpired: () => void,
  onDoubt: () => void,
): { rearm(): void; close(): void } {
  let timer: ReturnType<typeof setTimeout> | undefined
  let isAsked = false
  const rearm = (): void => {
    clearTimeout(timer)
    timer = setTimeout(check, Math.max(0, Math.min(expires_at_ms - steady(), maxTimerMs)))
  }
  const check = (): void => {
    if (steady() >= expires_at_ms) {
      onExpired()
      return
    }
    if (now() >= expires_at_ms && !isAsked) {
      isAsked = true
      onDoubt()
    }
    rearm()
  }
  return { rearm, close: () => clearTimeout(timer) }
}
