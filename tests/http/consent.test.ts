import { describe, expect, test } from 'vitest'
import type { Api } from './call.ts'
import { activate, asked, beacon, day_ms, fill, key, origin, stage, stageWith, strictKey } from './stage.ts'

const session = { client_id: 'proj_demo', session_id: 'sess_1' }
const strict = { client_id: 'proj_strict', session_id: 'sess_1' }
const lifetime_ms = 180 * day_ms

async function store(api: Api, body: Record<string, unknown>, as = key) {
  return (await api.accept('consent.set', { as, body })).body.authoritative_consent
}

async function snapshot(api: Api, more: Record<string, unknown> = {}, as = key) {
  const { body } = await api.accept('placements.create', { as, body: asked(more) })
  return { consent: body.authoritative_consent!, decision: body.decision!, placement: body.placement }
}

describe('storing consent', () => {
  test('a grant responds with the snapshot in force and an identifier', async () => {
    await using on = await stage()
    const purposes = { semantic_targeting: true, prompt_shared: false }
    const { body } = await on.api.accept('consent.set', { as: key, body: { ...session, purposes } })
    expect(body).toMatchObject({ ok: true, consent_id: expect.stringMatching(/^cns_[0-9a-z]{11}$/) })
    expect(body.authoritative_consent).toEqual({
      lifecycle_state: 'granted',
      revision: 1,
      updated_at_ms: on.clock.now(),
      expires_at_ms: on.clock.now() + lifetime_ms,
      source: 'svc_consent',
      purposes,
    })
    expect((await snapshot(on.api)).consent).toEqual(body.authoritative_consent)
  })

  test('the state follows from the purposes that the project requires, unless it is sent', async () => {
    await using on = await stage()
    const state = async (project: typeof session, more: Record<string, unknown>) =>
      (await store(on.api, { ...project, ...more }, project === strict ? strictKey : key)).lifecycle_state
    expect(await state(session, {})).toBe('granted')
    expect(await state(session, { purposes: { semantic_targeting: false } })).toBe('granted')
    expect(await state(strict, {})).toBe('denied')
    expect(await state(strict, { purposes: { prompt_shared: true } })).toBe('denied')
    expect(await state(strict, { purposes: { semantic_targeting: true } })).toBe('granted')
    for (const decision of ['granted', 'denied', 'withdrawn'] as const) {
      expect(await state(strict, { decision })).toBe(decision)
      expect(await state(session, { decision })).toBe(decision)
    }
  })

  test('the revision grows when state, purposes or source change; the same consent a minute later renews it', async () => {
    await using on = await stage()
    const steps: [Record<string, unknown>, number][] = [
      [{ purposes: { semantic_targeting: true } }, 1],
      [{ purposes: { semantic_targeting: true } }, 1],
      [{ purposes: { semantic_targeting: true, prompt_shared: false } }, 1],
      [{ purposes: { semantic_targeting: true, prompt_shared: true } }, 2],
      [{ purposes: { semantic_targeting: true, prompt_shared: true }, source: 'wrapper_cmp' }, 3],
      [{ purposes: { semantic_targeting: true, prompt_shared: true }, source: 'wrapper_cmp', tcf_string: 'x' }, 3],
      [{ decision: 'withdrawn' }, 4],
      [{ decision: 'withdrawn' }, 4],
      [{ decision: 'granted' }, 5],
    ]
    for (const [more, revision] of steps) {
      on.clock.advance(60_000)
      const consent = await store(on.api, { ...session, ...more })
      expect([more, consent.revision]).toEqual([more, revision])
      expect([consent.updated_at_ms, consent.expires_at_ms]).toEqual([on.clock.now(), on.clock.now() + lifetime_ms])
    }
  })

  test('the same consent again within a minute changes nothing: no renewal, no evidence, no event', async () => {
    await using on = await stage()
    const purposes = { semantic_targeting: true, prompt_shared: true }
    const written = async () => [
      (await on.api.accept('evidence.list', { query: { kind: 'consent' } })).body.items.length,
      (await on.api.accept('sandbox.info')).body.events.size,
    ]
    const first = await on.api.accept('consent.set', { as: key, body: { ...session, purposes, tcf_string: 'x' } })
    const before = await written()
    on.clock.advance(59_999)
    const again = await on.api.accept('consent.set', { as: key, body: { ...session, purposes, tcf_string: 'x' } })
    expect(again.body).toEqual({ ...first.body, request_id: again.body.request_id })
    expect(await written()).toEqual(before)
    on.clock.advance(1)
    const renewed = await store(on.api, { ...session, purposes, tcf_string: 'x' })
    expect(renewed).toMatchObject({ revision: 1, updated_at_ms: on.clock.now() })
    expect((await written())[0]).toBe(2)
  })

  test('a new extra, another end or an end that has passed is written at once', async () => {
    await using on = await stage()
    await store(on.api, session)
    on.clock.advance(1_000)
    expect(await store(on.api, { ...session, tcf_string: 'x' })).toMatchObject({ updated_at_ms: on.clock.now() })
    on.clock.advance(1_000)
    const expires_at_ms = on.clock.now() + 5_000
    expect(await store(on.api, { ...session, tcf_string: 'x', expires_at_ms })).toMatchObject({ expires_at_ms })
    on.clock.advance(5_000)
    expect(await store(on.api, { ...session, tcf_string: 'x' })).toMatchObject({ lifecycle_state: 'granted' })
  })

  test('placements that repeat the consent in force store it once, in parallel too', async () => {
    await using on = await stage()
    const sent = { consent: { semantic_targeting: true, gdpr_applies: true } }
    const places = () => Promise.all(Array.from({ length: 8 }, () => snapshot(on.api, sent)))
    await places()
    on.clock.advance(1_000)
    for (const { consent } of await places()) {
      expect(consent).toMatchObject({ revision: 1, updated_at_ms: on.clock.now() - 1_000 })
    }
    on.clock.advance(60_000)
    await places()
    const { body } = await on.api.accept('evidence.list', { query: { kind: 'consent' } })
    expect(body.items).toHaveLength(2)
    const { items } = (await on.api.accept('consent.list')).body
    expect(items).toMatchObject([{ revision: 1, updated_at_ms: on.clock.now() }])
  })

  test('a wrong expected_revision is a conflict and changes nothing', async () => {
    await using on = await stage()
    const conflict = async (expected_revision: number) =>
      on.api.refuse('consent.set', { as: key, body: { ...session, decision: 'denied', expected_revision } })
    const { status, body } = await conflict(1)
    expect([status, body.reason_code]).toEqual([400, 'consent_revision_conflict'])
    expect(await store(on.api, { ...session, expected_revision: 0 })).toMatchObject({ revision: 1 })
    for (const wrong of [0, 2]) expect((await conflict(wrong)).body.reason_code).toBe('consent_revision_conflict')
    expect((await snapshot(on.api)).consent).toMatchObject({ lifecycle_state: 'granted', revision: 1 })
    const next = { ...session, decision: 'denied', expected_revision: 1 }
    expect(await store(on.api, next)).toMatchObject({ lifecycle_state: 'denied', revision: 2 })
  })

  test('of parallel writers that expect the same revision one wins', async () => {
    await using on = await stage()
    await store(on.api, session)
    const responses = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        on.api.send('POST', '/v1/consent', {
          as: key,
          body: { ...session, decision: index % 2 === 0 ? 'denied' : 'withdrawn', expected_revision: 1 },
        }),
      ),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(400)])
  })

  test('parallel writers without an expected revision all succeed, and no revision has two contents', async () => {
    await using on = await stage()
    const responses = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        store(on.api, { ...session, purposes: { prompt_shared: index % 2 === 0 } }),
      ),
    )
    const byRevision = new Map<number, boolean>()
    for (const { revision, purposes } of responses) {
      expect(byRevision.get(revision) ?? purposes.prompt_shared).toBe(purposes.prompt_shared)
      byRevision.set(revision, purposes.prompt_shared)
    }
  })

  test('other boolean purposes and consent strings are accepted', async () => {
    await using on = await stage()
    const purposes = { ads: true, measurement: false, semantic_targeting: true }
    const strings = { gdpr_applies: true, tcf_string: 'CPXxRfAPXxRfA', gpp_string: 'DBABMA~CPXxRfA' }
    const consent = await store(on.api, { ...session, purposes, ...strings })
    expect(consent.purposes).toEqual({ semantic_targeting: true, prompt_shared: false })
    const body = { ...session, purposes: { ads: 'yes' } }
    const refused = await on.api.refuse('consent.set', { as: key, body })
    expect([refused.body.reason_code, refused.body.fields[0]?.path]).toEqual(['schema_invalid', 'purposes.ads'])
  })

  test('can have an end of its own', async () => {
    await using on = await stage()
    const expires_at_ms = on.clock.now() + 5_000
    expect(await store(on.api, { ...session, expires_at_ms })).toMatchObject({
      expires_at_ms,
      lifecycle_state: 'granted',
    })
    on.clock.advance(5_000)
    expect((await snapshot(on.api)).consent).toMatchObject({ expires_at_ms, lifecycle_state: 'expired' })
  })

  test('its end is in milliseconds and in the future', async () => {
    await using on = await stage()
    const now_ms = on.clock.now()
    const ends = [
      [now_ms - 1, 'expires_at_past'],
      [now_ms, 'expires_at_past'],
      [0, 'expires_at_past'],
      [Math.floor(now_ms / 1_000) + 3_600, 'expires_at_in_seconds'],
    ] as const
    for (const [expires_at_ms, reason_code] of ends) {
      const { body } = await on.api.refuse('consent.set', { as: key, body: { ...session, expires_at_ms } })
      expect([body.reason_code, body.fields[0]?.path]).toEqual([reason_code, 'expires_at_ms'])
    }
    expect((await on.api.accept('consent.list')).body.items).toEqual([])
  })

  test('a grant without the purposes that the project requires is no grant', async () => {
    await using on = await stage()
    const body = { ...strict, decision: 'granted', purposes: { prompt_shared: true } }
    expect((await store(on.api, body, strictKey)).lifecycle_state).toBe('denied')
    const both = { ...body, purposes: { semantic_targeting: true } }
    expect(await store(on.api, both, strictKey)).toMatchObject({
      lifecycle_state: 'granted',
      purposes: { semantic_targeting: true, prompt_shared: true },
    })
  })

  test('from a browser, with an activation token', async () => {
    await using on = await stage()
    const as = await activate(on.api)
    await on.api.accept('consent.set', { as, origin, body: session })
    expect((await snapshot(on.api)).consent.source).toBe('svc_consent')
  })

  test('needs client_id and session_id, known decisions and sources', async () => {
    await using on = await stage()
    const wrong = [
      { client_id: 'proj_demo' },
      { session_id: 'sess_1' },
      { ...session, decision: 'pending' },
      { ...session, decision: 'expired' },
      { ...session, source: 'none' },
      { ...session, expected_revision: -1 },
      { ...session, expires_at_ms: '2026' },
    ]
    for (const body of wrong) {
      expect((await on.api.refuse('consent.set', { as: key, body })).body.reason_code).toBe('schema_invalid')
    }
  })

  test('consent of one session or project does not affect another', async () => {
    await using on = await stage()
    await store(on.api, { ...session, decision: 'denied' })
    expect((await snapshot(on.api, { session_id: 'sess_2' })).decision.fill).toBe(true)
    await store(on.api, { ...strict, decision: 'denied' }, strictKey)
    expect((await snapshot(on.api)).decision).toMatchObject({ no_fill_reason: 'consent_not_granted' })
  })
})

describe('consent of a placement', () => {
  test('a project that requires none implies a grant without purposes', async () => {
    await using on = await stage()
    const { consent, decision } = await snapshot(on.api, { prompt: { topic: 'coffee' } })
    expect(consent).toEqual({
      lifecycle_state: 'granted',
      revision: 1,
      updated_at_ms: on.clock.now(),
      expires_at_ms: on.clock.now() + lifetime_ms,
      source: 'none',
      purposes: { semantic_targeting: false, prompt_shared: false },
    })
    expect(decision.cs_declaration).toBe('CS-S (S0/P0)')
  })

  test('sent with the request it is granted, stored for the session, and becomes the snapshot', async () => {
    await using on = await stage()
    const sent = { consent: { semantic_targeting: true, prompt_shared: true, gdpr_applies: true } }
    const { consent, decision } = await snapshot(on.api, sent)
    expect(consent).toMatchObject({
      lifecycle_state: 'granted',
      revision: 1,
      source: 'wrapper_cmp',
      purposes: { semantic_targeting: true, prompt_shared: true },
    })
    expect(decision.cs_declaration).toBe('CS-S (S1/P1)')
    on.clock.advance(60_000)
    expect((await snapshot(on.api)).consent).toEqual(consent)
    expect((await snapshot(on.api, sent)).consent).toMatchObject({ revision: 1, updated_at_ms: on.clock.now() })
    const less = { semantic_targeting: true, prompt_shared: false }
    expect((await snapshot(on.api, { consent: less })).consent.revision).toBe(2)
  })

  test('an empty object is a grant when nothing is required, and a denial when something is', async () => {
    await using on = await stage()
    expect((await snapshot(on.api, { consent: {} })).consent.lifecycle_state).toBe('granted')
    const denied = await snapshot(on.api, { ...strict, consent: {} }, strictKey)
    expect(denied.consent.lifecycle_state).toBe('denied')
    expect(denied.decision).toMatchObject({ no_fill_reason: 'consent_not_granted', reason_origin: 'core_policy' })
  })

  test("the project's own mechanism is named svc_consent", async () => {
    await using on = await stage()
    const own = { consent: { semantic_targeting: true, consent_source: 'svc_consent' } }
    expect((await snapshot(on.api, own)).consent.source).toBe('svc_consent')
    const other = { consent: { semantic_targeting: true, consent_source: 'some_cmp' }, session_id: 'sess_2' }
    expect((await snapshot(on.api, other)).consent.source).toBe('wrapper_cmp')
  })

  test('the fields of public clients are accepted', async () => {
    await using on = await stage()
    const consent = {
      semantic_targeting: true,
      prompt_shared: false,
      session_persistence: true,
      cross_session_persistence: false,
      tcf_consent_string: 'CPXx',
      us_privacy: '1YNN',
      gpp_string: 'DBAB',
      gpp_sections: [7, 8],
    }
    expect((await snapshot(on.api, { consent })).decision.fill).toBe(true)
  })

  test('consent that is required and neither stored nor sent is 400; once stored it need not be sent again', async () => {
    await using on = await stage()
    const refused = await on.api.refuse('placements.create', { as: strictKey, body: asked(strict) })
    expect([refused.status, refused.body.error, refused.body.reason_code]).toEqual([
      400,
      'validation_error',
      'consent_required',
    ])
    await store(on.api, { ...strict, purposes: { semantic_targeting: true } }, strictKey)
    const { consent, decision } = await snapshot(on.api, strict, strictKey)
    expect([consent.source, decision.fill]).toEqual(['svc_consent', true])
  })

  test('on jobs consent is optional: without the consent that is required, they are a no-fill', async () => {
    await using on = await stage()
    for (const body of [asked(strict), { client_id: 'proj_strict' }]) {
      const { slot_ids } = (await on.api.accept('jobs.create', { as: strictKey, body })).body
      const decided = await on.api.accept('decisions.get', { as: strictKey, params: { slot_id: slot_ids[0]! } })
      expect(decided.body.decision).toMatchObject({ fill: false, no_fill_reason: 'consent_not_granted' })
      expect(decided.body.authoritative_consent).toMatchObject({ lifecycle_state: 'pending', source: 'none' })
    }
  })

  test('a pending job without the consent that is required decides by the consent stored meanwhile', async () => {
    await using on = await stage({ decision_latency_ms: 1_000 })
    const decide = async (more: object) => {
      const { body } = await on.api.accept('jobs.create', { as: strictKey, body: { ...strict, ...more } })
      return body.slot_ids[0]!
    }
    const [without, later] = [await decide({}), await decide({ session_id: 'sess_2' })]
    await store(on.api, { ...strict, session_id: 'sess_2', purposes: { semantic_targeting: true } }, strictKey)
    on.clock.advance(1_000)
    const filled = async (slot_id: string) => {
      const call = { as: strictKey, params: { slot_id }, query: { wait_ms: 1_000 } }
      return (await on.api.accept('decisions.get', call)).body.decision?.fill
    }
    expect([await filled(without), await filled(later)]).toEqual([false, true])
  })

  test('stored consent that has expired counts as absent where consent is required', async () => {
    await using on = await stage()
    await store(on.api, { ...strict, purposes: { semantic_targeting: true } }, strictKey)
    on.clock.advance(lifetime_ms)
    const refused = await on.api.refuse('placements.create', { as: strictKey, body: asked(strict) })
    expect(refused.body.reason_code).toBe('consent_required')
    const again = await on.api.accept('placements.create', { as: strictKey, body: asked({ ...strict, consent: {} }) })
    expect(again.body.authoritative_consent).toMatchObject({ lifecycle_state: 'denied', revision: 2 })
    expect(again.warnings).toEqual([])
  })

  test("the project's own mechanism makes consent required, whatever the setting says", async () => {
    const consent = { required: false, mechanism: 'svc_consent' as const, required_purposes: [], ttl_ms: 1_000 }
    await using on = await stageWith({ consent })
    const refused = await on.api.refuse('placements.create', { as: key, body: asked() })
    expect(refused.body.reason_code).toBe('consent_required')
    const params = { client_id: 'proj_demo' }
    expect((await on.api.accept('projects.config', { as: key, params })).body.consent.required).toBe(true)
    expect((await snapshot(on.api, { consent: {} })).decision.fill).toBe(true)
  })

  test('a consent object without purposes keeps the stored ones, with a warning', async () => {
    await using on = await stage()
    const purposes = { semantic_targeting: true, prompt_shared: true }
    await store(on.api, { ...session, purposes })
    for (const consent of [{ gdpr_applies: true }, { consent_source: 'svc_consent' }, {}]) {
      const { body, warnings } = await on.api.accept('placements.create', { as: key, body: asked({ consent }) })
      expect(body.authoritative_consent).toMatchObject({ lifecycle_state: 'granted', purposes })
      expect(warnings).toEqual(['consent_purposes_kept'])
    }
    const set = await on.api.accept('consent.set', { as: key, body: { ...session, decision: 'granted' } })
    expect([set.body.authoritative_consent.purposes, set.warnings]).toEqual([purposes, ['consent_purposes_kept']])
    const partial = await on.api.accept('placements.create', {
      as: key,
      body: asked({ consent: { prompt_shared: false } }),
    })
    expect(partial.warnings).toEqual(['consent_purposes_kept'])
    const kept = { semantic_targeting: true, prompt_shared: false }
    expect(partial.body.authoritative_consent!.purposes).toEqual(kept)
    const complete = await on.api.accept('placements.create', { as: key, body: asked({ consent: kept }) })
    expect(complete.warnings).toEqual([])
  })

  test('what was withdrawn or has expired does not come back with a consent object without purposes', async () => {
    await using on = await stage()
    const none = { semantic_targeting: false, prompt_shared: false }
    const purposes = { semantic_targeting: true, prompt_shared: true }
    await store(on.api, { ...session, purposes })
    expect((await store(on.api, { ...session, decision: 'withdrawn' })).purposes).toEqual(none)
    expect((await snapshot(on.api, { consent: { gdpr_applies: true } })).consent.purposes).toEqual(none)
    await store(on.api, { ...session, purposes })
    on.clock.advance(lifetime_ms)
    expect((await snapshot(on.api, { consent: {} })).consent.purposes).toEqual(none)
  })

  test('a rejected request stores nothing', async () => {
    await using on = await stage()
    await on.api.refuse('placements.create', { as: strictKey, body: asked(strict) })
    await on.api.refuse('placements.create', {
      as: key,
      body: asked({ consent: {}, overrides: { allowed_formats: [] } }),
    })
    expect((await on.api.accept('placements.list')).body.items).toEqual([])
    expect((await snapshot(on.api)).consent.source).toBe('none')
  })

  test('denied, withdrawn and expired consent are a no-fill', async () => {
    await using on = await stage()
    for (const decision of ['denied', 'withdrawn']) {
      await store(on.api, { ...session, decision })
      const { consent, decision: answered, placement } = await snapshot(on.api)
      expect(answered).toMatchObject({ fill: false, no_fill_reason: 'consent_not_granted' })
      expect([consent.lifecycle_state, placement]).toEqual([decision, null])
    }
    await store(on.api, { ...session, decision: 'granted' })
    expect((await snapshot(on.api)).decision.fill).toBe(true)
    on.clock.advance(lifetime_ms - 1)
    expect((await snapshot(on.api)).decision.fill).toBe(true)
    on.clock.advance(1)
    const { consent, decision } = await snapshot(on.api)
    expect([consent.lifecycle_state, consent.revision]).toEqual(['expired', 3])
    expect(decision).toMatchObject({ no_fill_reason: 'consent_not_granted' })
    expect(await store(on.api, { ...session, decision: 'granted' })).toMatchObject({
      lifecycle_state: 'granted',
      revision: 3,
    })
    expect((await snapshot(on.api)).decision.fill).toBe(true)
  })

  test('its lifetime is a setting of the project', async () => {
    const consent = { required: false, mechanism: 'none' as const, required_purposes: [], ttl_ms: 1_000 }
    await using on = await stageWith({ consent })
    expect((await store(on.api, session)).expires_at_ms).toBe(on.clock.now() + 1_000)
  })
})

describe('the bound snapshot', () => {
  test('is the consent of the decision, even when consent has changed since', async () => {
    await using on = await stage()
    await store(on.api, session)
    const { slot_id } = await fill(on.api)
    await store(on.api, { ...session, decision: 'withdrawn' })
    const { body } = await on.api.accept('decisions.get', { as: key, params: { slot_id } })
    expect(body.authoritative_consent).toMatchObject({ lifecycle_state: 'granted', revision: 1 })
  })

  test('permits the frame and its beacons only while it is granted, current and unexpired', async () => {
    await using on = await stage()
    const expiring = { ...session, expires_at_ms: on.clock.now() + 10_000 }
    await store(on.api, expiring)
    const filled = await fill(on.api)
    const params = { asset_token: filled.asset_token }
    await on.api.accept('render.frame', { params })
    on.clock.advance(10_000)
    const reasons = async () => [
      (await on.api.refusePage('render.frame', { params })).reason_code,
      (await on.api.refuse('beacons.send', { as: key, body: beacon(on.clock, filled, 'render') })).body.reason_code,
    ]
    expect(await reasons()).toEqual(['consent_expired', 'consent_expired'])
    await store(on.api, { ...session, purposes: { semantic_targeting: true } })
    expect(await reasons()).toEqual(['consent_superseded', 'consent_superseded'])
    await store(on.api, { ...session, decision: 'withdrawn' })
    expect(await reasons()).toEqual(['consent_not_granted', 'consent_not_granted'])
  })

  test('withdrawn and granted again is another revision: the old fill stays closed', async () => {
    await using on = await stage()
    await store(on.api, session)
    const filled = await fill(on.api)
    await store(on.api, { ...session, decision: 'withdrawn' })
    await store(on.api, session)
    const call = { as: key, body: beacon(on.clock, filled, 'render') }
    expect((await on.api.refuse('beacons.send', call)).body.reason_code).toBe('consent_superseded')
  })

  test('the same content again keeps the revision, and the fill open', async () => {
    await using on = await stage()
    await store(on.api, session)
    const filled = await fill(on.api)
    on.clock.advance(1_000)
    await store(on.api, session)
    await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, filled, 'render') })
  })

  test('a decision that was pending while consent was withdrawn does not fill', async () => {
    await using on = await stage({ decision_latency_ms: 1_000 })
    await store(on.api, session)
    const { body } = await on.api.accept('jobs.create', { as: key, body: { ...session } })
    await store(on.api, { ...session, decision: 'withdrawn' })
    on.clock.advance(1_000)
    const call = { as: key, params: { slot_id: body.slot_ids[0]! }, query: { wait_ms: 1000 } }
    const decided = await on.api.accept('decisions.get', call)
    expect(decided.body.decision).toMatchObject({ no_fill_reason: 'consent_not_granted' })
    expect(decided.body.authoritative_consent).toMatchObject({ lifecycle_state: 'withdrawn', revision: 2 })
  })
})
