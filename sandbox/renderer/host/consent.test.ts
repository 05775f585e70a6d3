import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { consentProblem, openConsentMemory, watchExpiry } from './consent.ts'

const now_ms = 1_790_000_000_000
const now = { min_ms: now_ms, max_ms: now_ms }
const granted = {
  lifecycle_state: 'granted',
  revision: 3,
  updated_at_ms: now_ms - 1_000,
  expires_at_ms: now_ms + 1_000,
  source: 'wrapper_cmp',
  purposes: { semantic_targeting: true, prompt_shared: false },
}

beforeEach(() => {
  vi.useFakeTimers({ now: now_ms })
})
afterEach(() => {
  vi.useRealTimers()
})

test('only granted, current, unexpired consent permits an ad', () => {
  expect(consentProblem(granted, now, 1)).toBe(null)
  expect(consentProblem(granted, now, 3)).toBe(null)
})

test.each([
  [undefined, 'consent_missing'],
  [null, 'consent_missing'],
  ['granted', 'consent_unreadable'],
  [{}, 'consent_unreadable'],
  [{ ...granted, lifecycle_state: 'denied' }, 'consent_not_granted'],
  [{ ...granted, lifecycle_state: 'pending' }, 'consent_not_granted'],
  [{ ...granted, lifecycle_state: 'withdrawn' }, 'consent_not_granted'],
  [{ ...granted, lifecycle_state: 'a state of a later version' }, 'consent_not_granted'],
  [{ ...granted, lifecycle_state: 'expired' }, 'consent_expired'],
  [{ ...granted, revision: 0 }, 'consent_unreadable'],
  [{ ...granted, revision: 1.5 }, 'consent_unreadable'],
  [{ ...granted, revision: '3' }, 'consent_unreadable'],
  [{ ...granted, expires_at_ms: `${now_ms + 1}` }, 'consent_unreadable'],
  [{ ...granted, expires_at_ms: now_ms }, 'consent_expired'],
  [{ ...granted, expires_at_ms: undefined }, 'consent_unreadable'],
  [{ ...granted, updated_at_ms: now_ms + 60_000 }, 'consent_from_future'],
])('%j permits nothing: %s', (consent, reason) => {
  expect(consentProblem(consent, now, 1)).toBe(reason)
})

test('a revision below the last one seen for its session is superseded', () => {
  const consents = openConsentMemory({ now: () => now_ms, isSynced: true })
  expect(consents.problem({ ...granted, revision: 2 }, 'a')).toBe(null)
  expect(consents.problem({ ...granted, revision: 3 }, 'a')).toBe(null)
  expect(consents.problem({ ...granted, revision: 2 }, 'a')).toBe('consent_superseded')
  expect(consents.problem({ ...granted, revision: 2 }, 'b')).toBe(null)
  // Two sessions that nobody names may be two people.
  expect(consents.problem({ ...granted, revision: 3 }, '')).toBe(null)
  expect(consents.problem({ ...granted, revision: 2 }, '')).toBe(null)
})

test('until a server has sent its time, the user’s clock makes no snapshot one from the future, nor expired where that is checked again', () => {
  const consents = openConsentMemory({ now: () => now_ms, isSynced: false })
  const fresh = { ...granted, updated_at_ms: now_ms + 60_000, expires_at_ms: now_ms + 120_000 }
  const old = { ...granted, expires_at_ms: now_ms - 1 }
  expect(consents.problem(fresh, 'a')).toBe(null)
  expect(consents.problem(old, 'a')).toBe('consent_expired')
  expect(consents.problem(old, 'a', true)).toBe(null)
  expect(consents.problem({ ...old, lifecycle_state: 'withdrawn' }, 'a', true)).toBe('consent_not_granted')
})

test('expiry is days away, and no browser timer has to last that long', () => {
  const days = 24 * 60 * 60_000
  const expired = vi.fn()
  watchExpiry(now_ms + 3 * days, () => Date.now(), expired).rearm()
  vi.advanceTimersByTime(2 * days)
  expect(expired).not.toHaveBeenCalled()
  vi.advanceTimersByTime(days)
  expect(expired).toHaveBeenCalledOnce()
})

test('expiry while the computer slept is noticed within 10 s of waking, although timers stood still', () => {
  const expired = vi.fn()
  watchExpiry(now_ms + 3_600_000, () => Date.now(), expired).rearm()
  vi.setSystemTime(now_ms + 3_600_000)
  vi.advanceTimersByTime(10_000)
  expect(expired).toHaveBeenCalledOnce()
})
