import { report, sponsoredSlot } from '../src/sponsored.ts'
import { expect, received, test, turn } from './sandbox.ts'

const placements = { path: '/v1/placements' }

test.for(['error', 'drop', 'reset', 'truncate', 'garble'] as const)(
  'an answer lost or spoilt (%s) is no slot, and no exception',
  async (effect, { service, client }) => {
    await client.faults.add({ body: { ...placements, effect } })
    expect(await sponsoredSlot(service, turn())).toBeNull()
    expect(await received(client, '/v1/placements')).toBe(1)
  },
)

test.for(['seconds', 'http_date'] as const)(
  'a 429 is waited out as Retry-After says (%s)',
  async (retry_after_format, { service, client, clock }) => {
    const fault = { ...placements, status: 429, retry_after_s: 2, retry_after_format, times: 1 }
    await client.faults.add({ body: fault })
    const from = clock.now()
    expect(await sponsoredSlot(service, turn())).not.toBeNull()
    expect(clock.now() - from).toBe(2_000)
  },
)

test('a 429 without Retry-After, or with too long a one, is not repeated', async ({ service, client }) => {
  await client.faults.add({ body: { ...placements, status: 429, retry_after_s: 60, times: 1 } })
  expect(await sponsoredSlot(service, turn())).toBeNull()
  await client.faults.add({ body: { ...placements, status: 429, retry_after_format: 'none', times: 1 } })
  expect(await sponsoredSlot(service, turn())).toBeNull()
  expect(await received(client, '/v1/placements')).toBe(2)
})

test('a beacon whose response is lost may be sent again: it counts once', async ({ service, client }) => {
  const slot = await sponsoredSlot(service, turn())
  await client.faults.add({ body: { path: '/v1/beacons', effect: 'reset', served: true, times: 1 } })
  expect(await report(service, slot!, 'render')).toBe(false)
  expect(await report(service, slot!, 'render')).toBe(true)
  const { items } = await client.beacons.list({ query: { slot_id: slot!.slot_id } })
  expect(items.map(({ verdict }) => verdict).toSorted()).toEqual(['accepted', 'duplicate'])
})
