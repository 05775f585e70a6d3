import { report, sponsoredSlot } from '../src/sponsored.ts'
import { expect, received, test, turn } from './sandbox.ts'

const days_180 = 180 * 24 * 3_600_000

test('a user who was not asked is not asked for: nothing is sent', async ({ service, client }) => {
  expect(await sponsoredSlot(service, turn({ consent: null }))).toBeNull()
  expect(await received(client, '/v1')).toBe(0)
})

test('a denial that the service knows of is no slot', async ({ service, client }) => {
  const strict = { ...service, client_id: 'proj_strict', secret_key: 'sk_test_sandbox_strict' }
  expect(await sponsoredSlot(strict, turn())).toBeNull()
  const consent = { semantic_targeting: true, prompt_shared: false }
  expect(await sponsoredSlot(strict, turn({ consent, session_id: 'session-2' }))).not.toBeNull()
  expect(await received(client, '/v1/placements')).toBe(2)
})

test('the topic leaves only with consent to semantic targeting', async ({ service, client }) => {
  const topics: unknown[] = []
  for (const semantic_targeting of [false, true]) {
    await sponsoredSlot(service, turn({ topic: 'coffee', consent: { semantic_targeting, prompt_shared: false } }))
    const [last] = (await client.requests.list({ query: { limit: 1 } })).items
    const { request_body } = await client.requests.show({ params: { request_id: last!.request_id } })
    topics.push(JSON.parse(request_body!).prompt?.topic)
  }
  expect(topics).toEqual([undefined, 'coffee'])
})

test('consent that runs out closes the frame, and nothing is reported any more', async ({ service, client, clock }) => {
  const slot = await sponsoredSlot(service, turn())
  clock.advance(days_180)
  expect(await report(service, slot!, 'render')).toBe(false)
  expect(await received(client, '/v1/beacons')).toBe(0)
})

test('a withdrawal in mid-turn closes the frame, and beacons are refused', async ({ service, client }) => {
  const slot = await sponsoredSlot(service, turn())
  const { client_id } = service
  await client.consent.set({ body: { client_id, session_id: 'session-1', decision: 'withdrawn' } })
  expect((await fetch(slot!.frame_url)).status).toBe(403)
  expect(await report(service, slot!, 'render')).toBe(false)
  const [rejected] = (await client.beacons.list({ query: { verdict: 'rejected' } })).items
  expect(rejected?.reason_code).toBe('consent_not_granted')
})
