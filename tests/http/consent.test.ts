/** What only a test sees of consent: writers at once, and what is stored. Its rules are in the shipped suite `consent`. */
import { expect, test } from 'vitest'
import type { Api } from './call.ts'
import { asked, key, stage, strictKey } from './stage.ts'

const session = { client_id: 'proj_demo', session_id: 'sess_1' }
const strict = { client_id: 'proj_strict', session_id: 'sess_1' }

async function store(api: Api, body: Record<string, unknown>) {
  return (await api.accept('consent.set', { as: key, body })).body.authoritative_consent
}

async function snapshot(api: Api, more: Record<string, unknown> = {}) {
  const { body } = await api.accept('placements.create', { as: key, body: asked(more) })
  return { consent: body.authoritative_consent! }
}

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

test('consent of a request that grants what POST /v1/consent has refused is accepted with a warning; none is no grant (A63)', async () => {
  await using on = await stage()
  const place = async (client_id: string, consent: object, as = key) => {
    const body = { client_id, session_id: 's1', job_type: 'chat', consent }
    const { headers, body: response } = await on.api.accept('placements.create', { as, body })
    return [response.authoritative_consent?.lifecycle_state, headers['x-sandbox-warning']]
  }
  const own = { client_id: 'proj_demo', session_id: 's1' }
  const all = { semantic_targeting: true, prompt_shared: true }
  expect(await place('proj_demo', all)).toEqual(['granted', undefined])
  for (const decision of ['denied', 'withdrawn']) {
    await on.api.accept('consent.set', { as: key, body: { ...own, decision } })
    expect(await place('proj_demo', { ...all, decision: 'denied' })).toEqual(['denied', undefined])
    await on.api.accept('consent.set', { as: key, body: { ...own, decision } })
    expect(await place('proj_demo', all)).toEqual(['granted', 'consent_overturned'])
    expect(await place('proj_demo', all)).toEqual(['granted', undefined])
    const expires_at_ms = on.clock.now() + 1_000
    await on.api.accept('consent.set', { as: key, body: { ...own, decision, expires_at_ms } })
    on.clock.advance(1_000)
    expect(await place('proj_demo', all)).toEqual(['granted', undefined])
  }
  expect(await place('proj_demo', { ...all, consent_source: 'none' })).toEqual(['granted', undefined])
  expect(await place('proj_strict', { ...all, consent_source: 'none' }, strictKey)).toEqual(['denied', undefined])
  expect(await place('proj_strict', all, strictKey)).toEqual(['granted', undefined])
})
