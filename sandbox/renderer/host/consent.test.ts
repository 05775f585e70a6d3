import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { consentProblem, openConsentMemory, watchExpiry } from './consent.ts'

const now_ms = 1_790_000_000_000
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
  expect(consentProblem(granted, now_ms, 1)).toBe(null)
  expect(consentProblem(granted, now_ms, 3)).toBe(null)
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
  expect(consentProblem(consent, now_ms, 1)).toBe(reason)
})

test('a revision below the last one seen for its session is superseded', () => {
  const consents = openConsentMemory(() => now_ms)
  expect(consents.problem({ ...granted, revision: 2 }, 'a')).toBe(null)
  expect(consents.problem({ ...granted, revision: 3 }, 'a')).toBe(null)
  expect(consents.problem({ ...granted, revision: 2 }, 'a')).toBe('consent_superseded')
  expect(consents.problem({ ...granted, revision: 2 }, 'b')).toBe(null)
})

test('expiry months away is waited for, although a timer cannot hold it', () => {
  const expired = vi.fn()
  const days = 86_400_000
  watchExpiry(now_ms + 180 * days, () => Date.now(), expired)
  vi.advanceTimersByTime(179 * days)
  expect(expired).not.toHaveBeenCalled()
  vi.advanceTimersByTime(days)
  expect(expired).toHaveBeenCalledOnce()
})
