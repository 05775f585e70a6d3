import { describe, expect, test } from 'vitest'
import type { AuthoritativeConsent, RequestConsent } from '#contract/fields.ts'
import { limits } from '#contract/limits.ts'
import type { ConsentRequest } from '#contract/resources/consent.ts'
import { defaultSettings } from '#contract/resources/projects.ts'
import {
  type ConsentRecord,
  consentDeclaration,
  consentProblem,
  createSnapshot,
  mayProcessPrompt,
  requiresConsent,
  resolveConsent,
  resolveSentConsent,
} from './consent.ts'

const settings = { ...defaultSettings.consent, ttl_ms: 1_000_000 }
const needsBoth = { ...settings, required_purposes: ['semantic_targeting', 'prompt_shared'] as const }
const now = 500_000

/** A grant with both purposes that was stored two repeat intervals ago. */
function stored(change: Partial<ConsentRecord> = {}): ConsentRecord {
  return {
    id: 7,
    revision: 3,
    state: 'granted',
    source: 'wrapper_cmp',
    semantic_targeting: true,
    prompt_shared: true,
    extras: '{}',
    updated_at_ms: now - 2 * limits.consent_repeat_within_ms,
    expires_at_ms: now + 1_000,
    ...change,
  }
}

const both = { semantic_targeting: true, prompt_shared: true }

function resolve(
  sent: RequestConsent | undefined,
  record: ConsentRecord | null = null,
  own: Partial<typeof settings> = {},
) {
  return resolveConsent({ ...settings, ...own }, sent, record, now)
}

function resolveStored(
  request: Omit<ConsentRequest, 'client_id' | 'session_id'>,
  record: ConsentRecord | null = null,
  own: Partial<typeof settings> = {},
) {
  return resolveSentConsent(
    { ...settings, ...own },
    { client_id: 'proj_demo', session_id: 's', ...request },
    record,
    now,
  )
}

describe('a snapshot', () => {
  test('has the fields of its record, and has expired from its end on', () => {
    const record = stored({ state: 'denied', semantic_targeting: false })
    const snapshot = {
      lifecycle_state: 'denied',
      revision: 3,
      updated_at_ms: record.updated_at_ms,
      expires_at_ms: record.expires_at_ms,
      source: 'wrapper_cmp',
      purposes: { semantic_targeting: false, prompt_shared: true },
    }
    expect(createSnapshot(record, record.expires_at_ms - 1)).toEqual(snapshot)
    expect(createSnapshot(record, record.expires_at_ms)).toEqual({ ...snapshot, lifecycle_state: 'expired' })
  })

  test('is declared by its purposes', () => {
    expect(consentDeclaration(createSnapshot(stored({ prompt_shared: false }), now))).toBe('CS-S (S1/P0)')
    expect(consentDeclaration(createSnapshot(stored({ semantic_targeting: false }), now))).toBe('CS-S (S0/P1)')
  })

  test('permits use of the prompt only when it is granted, with that purpose', () => {
    expect(mayProcessPrompt(createSnapshot(stored(), now))).toBe(true)
    expect(mayProcessPrompt(createSnapshot(stored({ prompt_shared: false }), now))).toBe(false)
    expect(mayProcessPrompt(createSnapshot(stored({ state: 'denied' }), now))).toBe(false)
    expect(mayProcessPrompt(createSnapshot(stored({ expires_at_ms: now }), now))).toBe(false)
  })
})

test('a project needs consent by its setting, or because it has its own mechanism', () => {
  expect(requiresConsent({ ...settings, required: false, mechanism: 'none' })).toBe(false)
  expect(requiresConsent({ ...settings, required: true, mechanism: 'none' })).toBe(true)
  expect(requiresConsent({ ...settings, required: false, mechanism: 'svc_consent' })).toBe(true)
})

describe('a request without consent', () => {
  const none = { revision: 1, updated_at_ms: now, expires_at_ms: now + settings.ttl_ms, source: 'none' }
  const purposes = { semantic_targeting: false, prompt_shared: false }

  test('has an implicit grant without purposes where none is required', () => {
    expect(resolve(undefined)).toEqual({
      snapshot: { lifecycle_state: 'granted', ...none, purposes },
      draft: null,
      keepsPurposes: false,
      isMissing: false,
      overturns: false,
    })
  })

  test('misses one where it is required', () => {
    expect(resolve(undefined, null, { required: true })).toEqual({
      snapshot: { lifecycle_state: 'pending', ...none, purposes },
      draft: null,
      keepsPurposes: false,
      isMissing: true,
      overturns: false,
    })
  })

  test('uses the stored one until its end', () => {
    const record = stored()
    const required = { required: true }
    const expected = { draft: null, keepsPurposes: false }
    expect(resolve(undefined, record, required)).toEqual({
      snapshot: createSnapshot(record, now),
      isMissing: false,
      overturns: false,
      ...expected,
    })
    const ended = stored({ expires_at_ms: now })
    expect(resolve(undefined, ended, required)).toEqual({
      snapshot: createSnapshot(ended, now),
      isMissing: true,
      overturns: false,
      ...expected,
    })
    expect(resolve(undefined, ended).isMissing).toBe(false)
  })
})

describe('a grant', () => {
  const own = (state: 'denied' | 'withdrawn' | 'granted' | 'pending') => stored({ state, source: 'svc_consent' })

  test.each<[string, boolean, RequestConsent, Parameters<typeof resolve>[1]]>([
    ['a denial', true, both, own('denied')],
    ['a withdrawal', true, both, own('withdrawn')],
    ['a grant', false, both, own('granted')],
    ['a state that is open', false, both, own('pending')],
    ['a denial, and denies it again', false, { decision: 'denied' }, own('denied')],
    ['a denial that another mechanism has stored', false, both, stored({ state: 'denied', source: 'wrapper_cmp' })],
    ['a denial that has ended', false, both, stored({ state: 'denied', source: 'svc_consent', expires_at_ms: now })],
    ['nothing', false, both, null],
  ])('that follows %s overturns it: %s (A63)', (_, expected, sent, record) => {
    expect(resolve(sent, record).overturns).toBe(expected)
  })

  test.each<[Partial<typeof settings>, string, string]>([
    [{ required: true }, 'none', 'denied'],
    [{ mechanism: 'svc_consent' }, 'none', 'denied'],
    [{ required: true }, 'svc_consent', 'granted'],
    [{ required: false, mechanism: 'none' }, 'none', 'granted'],
  ])('in a project of %o from %s is %s (A63)', (change, consent_source, state) => {
    expect(resolve({ ...both, consent_source }, null, change).snapshot.lifecycle_state).toBe(state)
  })
})

describe('a source', () => {
  test.each<[RequestConsent, string, string]>([
    [{}, 'wrapper_cmp', '{}'],
    [{ consent_source: 'none' }, 'none', '{}'],
    [{ source: 'wrapper_cmp' }, 'wrapper_cmp', '{}'],
    [{ source: 'svc_consent' }, 'svc_consent', '{}'],
    [{ consent_source: 'chat_consent' }, 'svc_consent', '{}'],
    [{ consent_source: '_consent_tool' }, 'wrapper_cmp', '{}'],
    [{ source: 'publisher' }, 'wrapper_cmp', '{"source":"publisher"}'],
    [{ source: 'publisher', consent_source: 'svc_consent' }, 'svc_consent', '{"source":"publisher"}'],
    [{ source: 'svc_consent', consent_source: 'other' }, 'wrapper_cmp', '{"source":"svc_consent"}'],
  ])('%j sent with a request is the mechanism %s', (sent, source, extras) => {
    const { snapshot, draft } = resolve(sent)
    expect(snapshot.source).toBe(source)
    expect(draft).toMatchObject({ source, extras })
  })

  test.each<[ConsentRequest['source'], string, string]>([
    [undefined, 'svc_consent', '{}'],
    ['wrapper_cmp', 'wrapper_cmp', '{}'],
    ['publisher', 'wrapper_cmp', '{"source":"publisher"}'],
  ])('%s stored by itself is the mechanism %s', (source, mechanism, extras) => {
    expect(resolveStored({ source }).draft).toMatchObject({ source: mechanism, extras })
  })
})

describe('what is not used', () => {
  test('is kept with sorted names, without what was not sent', () => {
    const { draft } = resolve({
      us_privacy: '1YNN',
      gdpr_applies: true,
      gpp_string: undefined,
      purposes: { zeta: true, alpha: false, semantic_targeting: true },
    })
    expect(draft?.extras).toBe('{"alpha":false,"gdpr_applies":true,"us_privacy":"1YNN","zeta":true}')
  })

  test('is kept of a consent that is stored by itself', () => {
    const { draft } = resolveStored({ tcf_string: 'CO', gdpr_applies: false, gpp_string: 'DB', decision: 'basic' })
    expect(draft?.extras).toBe('{"gdpr_applies":false,"gpp_string":"DB","tcf_string":"CO"}')
  })
})

describe('purposes', () => {
  test('are sent as a list, or by their own names, which come first', () => {
    expect(resolve({ purposes: both }).snapshot.purposes).toEqual(both)
    expect(resolve({ semantic_targeting: true }).snapshot.purposes).toEqual({ ...both, prompt_shared: false })
    const sent = { purposes: both, prompt_shared: false, semantic_targeting: undefined }
    expect(resolve(sent).snapshot.purposes).toEqual({ ...both, prompt_shared: false })
  })

  test.each<[ConsentRequest['decision'], boolean, boolean]>([
    ['personalized', true, true],
    ['basic', false, true],
    ['custom', true, true],
    ['denied', false, false],
    ['withdrawn', false, false],
    [undefined, true, true],
  ])('that the decision %s implies', (decision, semantic_targeting, prompt_shared) => {
    const kept = resolveStored({ source: 'wrapper_cmp', decision }, stored())
    expect(kept.snapshot.purposes).toEqual({ semantic_targeting, prompt_shared })
  })

  test('that are sent come before those of the decision', () => {
    expect(resolveStored({ decision: 'personalized', purposes: { prompt_shared: false } }).snapshot.purposes).toEqual({
      semantic_targeting: true,
      prompt_shared: false,
    })
    expect(resolveStored({ decision: 'basic', purposes: { semantic_targeting: true } }).snapshot.purposes).toEqual({
      semantic_targeting: true,
      prompt_shared: false,
    })
    expect(resolveStored({ decision: 'personalized' }).snapshot.purposes).toEqual(both)
  })

  test('that were not sent keep their stored grant until it ends, and that is reported', () => {
    const kept = resolve({ semantic_targeting: false }, stored())
    expect(kept.snapshot.purposes).toEqual({ semantic_targeting: false, prompt_shared: true })
    expect(kept.keepsPurposes).toBe(true)
    expect(resolve({ prompt_shared: false }, stored())).toMatchObject({ keepsPurposes: true })
    expect(resolve(both, stored())).toMatchObject({ keepsPurposes: false, isMissing: false })
    const ended = resolve({ semantic_targeting: true }, stored({ expires_at_ms: now }))
    expect(ended.snapshot.purposes).toEqual({ semantic_targeting: true, prompt_shared: false })
    expect(ended.keepsPurposes).toBe(false)
  })
})

describe('the state', () => {
  test.each<[ConsentRequest['decision'], Record<string, boolean>, readonly (keyof typeof both)[], string]>([
    [undefined, {}, [], 'granted'],
    [undefined, both, needsBoth.required_purposes, 'granted'],
    [undefined, { prompt_shared: true }, needsBoth.required_purposes, 'denied'],
    ['personalized', { prompt_shared: false }, needsBoth.required_purposes, 'granted'],
    ['basic', {}, needsBoth.required_purposes, 'granted'],
    ['custom', {}, [], 'granted'],
    ['custom', {}, needsBoth.required_purposes, 'denied'],
    ['custom', { prompt_shared: true }, needsBoth.required_purposes, 'granted'],
    ['denied', both, [], 'denied'],
    ['withdrawn', both, [], 'withdrawn'],
  ])('of decision %s with %j where %j are required', (decision, purposes, required_purposes, state) => {
    const own = { required_purposes: [...required_purposes] }
    expect(resolveStored({ decision, purposes }, null, own).draft?.state).toBe(state)
    expect(resolve({ decision, purposes }, null, own).snapshot.lifecycle_state).toBe(state)
  })
})

describe('a revision', () => {
  test('is the first one without a stored consent, and lasts as long as the project says', () => {
    expect(resolve(both)).toEqual({
      snapshot: {
        lifecycle_state: 'granted',
        revision: 1,
        updated_at_ms: now,
        expires_at_ms: now + settings.ttl_ms,
        source: 'wrapper_cmp',
        purposes: both,
      },
      draft: {
        revision: 1,
        state: 'granted',
        source: 'wrapper_cmp',
        ...both,
        extras: '{}',
        updated_at_ms: now,
        expires_at_ms: now + settings.ttl_ms,
        renews: false,
      },
      keepsPurposes: false,
      isMissing: false,
      overturns: false,
    })
  })

  test('is renewed by the same state, purposes and source', () => {
    expect(resolve(both, stored()).draft).toMatchObject({ revision: 3, renews: true })
  })

  test.each<[string, RequestConsent]>([
    ['state', { ...both, decision: 'denied' }],
    ['source', { ...both, source: 'svc_consent' }],
    ['first purpose', { semantic_targeting: false }],
    ['second purpose', { prompt_shared: false }],
  ])('is followed by the next one when its %s changes', (_, sent) => {
    expect(resolve(sent, stored()).draft).toMatchObject({ revision: 4, renews: false })
  })

  test('ends when its sender says', () => {
    const { draft, snapshot } = resolveStored({ purposes: both, expires_at_ms: now + 5 })
    expect([draft?.expires_at_ms, snapshot.expires_at_ms]).toEqual([now + 5, now + 5])
  })
})

describe('a consent that was just stored', () => {
  const fresh = stored({ updated_at_ms: now - limits.consent_repeat_within_ms + 1 })

  test('is not stored again', () => {
    const { snapshot, draft } = resolve(both, fresh)
    expect(draft).toBeNull()
    expect(snapshot).toEqual(createSnapshot(fresh, now))
    expect(resolve(both, stored({ updated_at_ms: now })).draft).toBeNull()
  })

  test('is stored again with the interval, another extra, or a clock that was moved back', () => {
    expect(resolve(both, stored({ updated_at_ms: now - limits.consent_repeat_within_ms })).draft).not.toBeNull()
    expect(resolve({ ...both, us_privacy: '1---' }, fresh).draft).not.toBeNull()
    expect(resolve(both, stored({ updated_at_ms: now + 1 })).draft).not.toBeNull()
    expect(resolve(both, { ...fresh, expires_at_ms: now }).draft).not.toBeNull()
    expect(resolve({ ...both, semantic_targeting: false }, fresh).draft).not.toBeNull()
  })

  test('is stored again with another end, not with the same one', () => {
    const own = { ...fresh, source: 'svc_consent' }
    expect(resolveStored({ purposes: both, expires_at_ms: own.expires_at_ms }, own).draft).toBeNull()
    expect(resolveStored({ purposes: both, expires_at_ms: own.expires_at_ms + 1 }, own).draft).not.toBeNull()
    expect(resolveStored({ purposes: both }, own).draft).toBeNull()
    expect(resolveStored({ purposes: both, expires_at_ms: now + 1 }).draft).not.toBeNull()
  })
})

describe('what a decision has bound', () => {
  const record = stored()
  const bound = createSnapshot(record, now)
  const implied: AuthoritativeConsent = { ...bound, source: 'none' }

  test.each<[string, AuthoritativeConsent, ConsentRecord | null, number, string | null]>([
    ['still permits', bound, record, now, null],
    ['permits without a stored consent', bound, null, now, null],
    ['was no grant', { ...bound, lifecycle_state: 'denied' }, null, now, 'consent_not_granted'],
    ['was no grant, whatever is stored', { ...bound, lifecycle_state: 'pending' }, record, now, 'consent_not_granted'],
    ['is denied now', bound, { ...record, revision: 4, state: 'denied' }, now, 'consent_not_granted'],
    ['is withdrawn now', bound, { ...record, state: 'withdrawn' }, now, 'consent_not_granted'],
    ['has another revision now', bound, { ...record, revision: 4 }, now, 'consent_superseded'],
    ['was implied, and one is stored', implied, record, now, 'consent_superseded'],
    ['is a stored one without a source', implied, { ...record, source: 'none' }, now, null],
    [
      'was implied, and one with other purposes is stored',
      implied,
      { ...record, source: 'none', prompt_shared: false },
      now,
      'consent_superseded',
    ],
    ['permits until its end', bound, { ...record, expires_at_ms: now + 2_000 }, now + 999, null],
    ['ends', bound, { ...record, expires_at_ms: now + 2_000 }, now + 1_000, 'consent_expired'],
    ['ends without a stored one', bound, null, now + 1_000, 'consent_expired'],
    ['ends with the stored one', bound, { ...record, expires_at_ms: now + 500 }, now + 500, 'consent_expired'],
    ['does not end before the stored one', bound, { ...record, expires_at_ms: now + 500 }, now + 499, null],
  ])('%s', (_, consent, latest, at_ms, problem) => {
    expect(consentProblem(consent, latest, at_ms)).toBe(problem)
  })
})
