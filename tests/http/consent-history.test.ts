import { expect, test } from 'vitest'
import { asked, day_ms, key, otherKey, stage } from './stage.ts'

const session = { client_id: 'proj_demo', session_id: 'sess_1' }

test('every revision is listed, newest first, superseded ones included', async () => {
  await using on = await stage()
  const set = (more: object) => on.api.accept('consent.set', { as: key, body: { ...session, ...more } })
  await set({ purposes: { semantic_targeting: true, measurement: true }, tcf_string: 'CPabc' })
  on.clock.advance(1_000)
  await set({ decision: 'denied' })
  on.clock.advance(1_000)
  const withdrawn = await set({ decision: 'withdrawn' })
  const { body } = await on.api.accept('consent.list')
  expect(
    body.items.map(({ revision, lifecycle_state, is_current }) => [revision, lifecycle_state, is_current]),
  ).toEqual([
    [3, 'withdrawn', true],
    [2, 'denied', false],
    [1, 'granted', false],
  ])
  expect(body.items[0]).toMatchObject({ ...session, consent_id: withdrawn.body.consent_id })
  expect(body.items[2]).toMatchObject({
    source: 'svc_consent',
    semantic_targeting: true,
    prompt_shared: false,
    updated_at_ms: on.clock.now() - 2_000,
    extras: { measurement: true, tcf_string: 'CPabc' },
  })
})

test('the same consent a minute later renews its revision', async () => {
  await using on = await stage()
  for (let time = 0; time < 3; time++) {
    on.clock.advance(60_000)
    await on.api.accept('consent.set', { as: key, body: { ...session, decision: 'granted' } })
  }
  const { body } = await on.api.accept('consent.list')
  expect(body.items).toMatchObject([{ revision: 1, is_current: true, updated_at_ms: on.clock.now() }])
})

test('is filtered by project, session and time, in pages', async () => {
  await using on = await stage()
  const consent = { semantic_targeting: true }
  for (const session_id of ['a', 'b', 'c']) {
    on.clock.advance(60_000)
    await on.api.accept('placements.create', { as: key, body: asked({ session_id, consent }) })
  }
  const other = asked({ client_id: 'proj_other', session_id: 'a', consent })
  await on.api.accept('placements.create', { as: otherKey, body: other })
  const sessions = async (query: Record<string, string | number>) =>
    (await on.api.accept('consent.list', { query })).body.items.map(
      ({ client_id, session_id }) => `${client_id.slice(5)} ${session_id}`,
    )
  expect(await sessions({})).toEqual(['other a', 'demo c', 'demo b', 'demo a'])
  expect(await sessions({ client_id: 'proj_other' })).toEqual(['other a'])
  expect(await sessions({ session_id: 'a' })).toEqual(['other a', 'demo a'])
  expect(await sessions({ session_id: 'a', client_id: 'proj_strict' })).toEqual([])
  expect(await sessions({ client_id: 'proj_nobody' })).toEqual([])
  expect(await sessions({ since: '1m' })).toEqual(['other a', 'demo c', 'demo b'])
  const first = await on.api.accept('consent.list', { query: { limit: 3 } })
  expect(await sessions({ limit: 3, cursor: first.body.next_cursor! })).toEqual(['demo a'])
  expect((await on.api.refuse('consent.list', { query: { since: 'now' } })).body.reason_code).toBe('schema_invalid')
})

test('shows what has expired', async () => {
  await using on = await stage()
  await on.api.accept('consent.set', { as: key, body: { ...session, decision: 'granted' } })
  on.clock.advance(181 * day_ms)
  const { body } = await on.api.accept('consent.list')
  expect(body.items).toMatchObject([{ lifecycle_state: 'expired', is_current: true }])
})
