import { describe } from 'vitest'
import { sponsoredSlot } from '../src/sponsored.ts'
import { expect, received, test, turn } from './sandbox.ts'

describe.each(['banner', 'clip', 'native'] as const)('%s', (format) => {
  test('is filled, with its label and a frame', async ({ service }) => {
    const slot = await sponsoredSlot(service, turn({ formats: [format] }))
    expect(slot?.label).toBeTruthy()
    expect((await fetch(slot!.frame_url)).status).toBe(200)
  })
})

test.for(['chat', 'code', 'image', 'voice', 'agent'] as const)(
  'a %s turn has a slot',
  async (job_type, { service }) => {
    expect(await sponsoredSlot(service, turn({ job_type }))).not.toBeNull()
  },
)

test('a no-fill is no slot, and one request', async ({ service, client }) => {
  await client.scenario.use({ params: { name: 'no_fill' }, body: {} })
  expect(await sponsoredSlot(service, turn())).toBeNull()
  expect(await received(client, '/v1/placements')).toBe(1)
})

test('a decision that takes its time is waited for', async ({ service, client, clock }) => {
  await client.scenario.use({ params: { name: 'pending_then_ready' }, body: {} })
  const from = clock.now()
  expect(await sponsoredSlot(service, turn())).not.toBeNull()
  expect(clock.now() - from).toBe(3_000)
  expect(await received(client, '/v1/placements')).toBe(1)
})

test('a decision that never comes costs five seconds and no more', async ({ service, client, clock }) => {
  await client.scenario.use({ params: { name: 'pending_forever' }, body: {} })
  const from = clock.now()
  expect(await sponsoredSlot(service, turn())).toBeNull()
  expect(clock.now() - from).toBe(5_000)
})

test('a frame that is not loaded within five minutes is gone', async ({ service, clock }) => {
  const slot = await sponsoredSlot(service, turn())
  clock.advance(5 * 60_000 + 1)
  expect((await fetch(slot!.frame_url)).status).toBe(404)
})

test('the same seed decides alike', async ({ service }) => {
  const slot = await sponsoredSlot(service, turn())
  expect(slot?.slot_id).toMatch(/^slot_/)
  expect(await sponsoredSlot(service, turn({ session_id: 'session-2' }))).toMatchObject({ label: slot?.label })
})
