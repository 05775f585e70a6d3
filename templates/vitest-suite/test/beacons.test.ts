import { report, sponsoredSlot } from '../src/sponsored.ts'
import { expect, test, turn } from './sandbox.ts'

const seen = { visible_ratio: 1, visible_ms: 1_000, page_visible: true }

test('a view counts once, however often it is reported', async ({ service, sandbox, clock }) => {
  const slot = await sponsoredSlot(service, turn())
  const rendered = clock.now()
  for (let time = 0; time < 3; time++) {
    expect(await report({ ...service, now: () => rendered }, slot!, 'render')).toBe(true)
    expect(await report({ ...service, now: () => rendered + 1_000 }, slot!, 'visible', seen)).toBe(true)
  }
  await expect(sandbox).toHaveAccepted('render', { slot_id: slot!.slot_id, count: 1 })
  await expect(sandbox).toHaveBilled({ slot_id: slot!.slot_id, event: 'visible', count: 1 })
  await expect(sandbox).toHaveNoRejectedBeacons()
})

test('a glance is accepted, and would not be billed', async ({ service, sandbox, client }) => {
  const slot = await sponsoredSlot(service, turn())
  await report(service, slot!, 'render')
  await report(service, slot!, 'visible', { ...seen, visible_ms: 400 })
  await expect(sandbox).toHaveAccepted('visible', { slot_id: slot!.slot_id })
  await expect(sandbox).not.toHaveBilled()
  const { items } = await client.beacons.list({ query: { event: 'visible' } })
  expect(items).toMatchObject([{ verdict: 'accepted', would_bill: false, reason_code: 'BELOW_THRESHOLD' }])
})

test('an event of another format is refused', async ({ service, client }) => {
  const slot = await sponsoredSlot(service, turn({ formats: ['banner'] }))
  expect(await report(service, slot!, 'play_started')).toBe(false)
  const { items } = await client.beacons.list({ query: { verdict: 'rejected' } })
  expect(items).toMatchObject([{ reason_code: 'event_not_supported_for_format' }])
})

test('a clock that runs five minutes late loses its beacons', async ({ service, client, clock }) => {
  const slot = await sponsoredSlot(service, turn())
  clock.advance(400_000)
  expect(await report({ ...service, now: () => clock.now() - 301_000 }, slot!, 'render')).toBe(false)
  const { items } = await client.beacons.list({ query: { verdict: 'rejected' } })
  expect(items).toMatchObject([{ reason_code: 'beacon_stale' }])
})
