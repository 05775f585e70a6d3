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
  const consents = openConsentMemory({ steady: () => now_ms, isSynced: true })
  expect(consents.problem({ ...granted, revision: 2 }, 'a')).toBe(null)
  expect(consents.problem({ ...granted, revision: 3 }, 'a')).toBe(null)
  expect(consents.problem({ ...granted, revision: 2 }, 'a')).toBe('consent_superseded')
  expect(consents.problem({ ...granted, revision: 2 }, 'b')).toBe(null)
  // Two sessions that nobody names may be two people.
  expect(consents.problem({ ...granted, revision: 3 }, '')).toBe(null)
  expect(consents.problem({ ...granted, revision: 2 }, '')).toBe(null)
})

test('until a server has sent its time, the user’s clock makes no snapshot one from the future, nor expired where that is checked again', () => {
  const consents = openConsentMemory({ steady: () => now_ms, isSynced: false })
  const fresh = { ...granted, updated_at_ms: now_ms + 60_000, expires_at_ms: now_ms + 120_000 }
  const old = { ...granted, expires_at_ms: now_ms - 1 }
  expect(consents.problem(fresh, 'a')).toBe(null)
  expect(consents.problem(old, 'a')).toBe('consent_expired')
  expect(consents.problem(old, 'a', true)).toBe(null)
  expect(consents.problem({ ...old, lifecycle_state: 'withdrawn' }, 'a', true)).toBe('consent_not_granted')
})

/** Watches the end of a consent in `ms`. `monotonic` stands still while the user's clock is set, and both pass with timers. */
function watchEnd(ms: number) {
  const [expired, doubted] = [vi.fn(), vi.fn()]
  const clock = { now: () => Date.now(), steady: () => now_ms + performance.now() - started_at }
  const started_at = performance.now()
  watchExpiry(now_ms + ms, clock, expired, doubted).rearm()
  return { expired, doubted }
}

test('expiry is days away, and no browser timer has to last that long', () => {
  const days = 24 * 60 * 60_000
  const { expired } = watchEnd(3 * days)
  vi.advanceTimersByTime(2 * days)
  expect(expired).not.toHaveBeenCalled()
  vi.advanceTimersByTime(days)
  expect(expired).toHaveBeenCalledOnce()
})

test('a clock that is set past the end, as by a computer that slept, ends nothing: it is asked once', () => {
  const { expired, doubted } = watchEnd(3_600_000)
  vi.setSystemTime(now_ms + 3_600_000)
  vi.advanceTimersByTime(30_000)
  expect(doubted).toHaveBeenCalledOnce()
  expect(expired).not.toHaveBeenCalled()
})

test('a clock that is set back prolongs nothing', () => {
  const { expired, doubted } = watchEnd(60_000)
  vi.setSystemTime(now_ms - 3_600_000)
  vi.advanceTimersByTime(60_000)
  expect(expired).toHaveBeenCalledOnce()
  expect(doubted).not.toHaveBeenCalled()
})
