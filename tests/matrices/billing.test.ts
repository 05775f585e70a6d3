/** Billing reports that are too large for the event loop: a thread counts them, and later ones go on from what it counted. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { beacon, fill, folder, key, type Stage, stage } from '#tests/http/stage.ts'
import { addTraffic } from '#tests/reliability/large-state.ts'

/** More than 20 pieces of 50 slots, and of 50 new beacons: so many move a report to its thread. */
const placements = 1_200
const newBeacons = 1_100

async function report(on: Stage, query: Record<string, string> = {}) {
  return (await on.api.accept('billing.report', { query })).body
}

async function sendMany(on: Stage, count: number, perPlacement: number): Promise<void> {
  const { now_ms } = (await on.api.accept('clock.show')).body
  for (let sent = 0; sent < count; sent += perPlacement) {
    const filled = await fill(on.api, { format: 'banner' })
    const send = (_: unknown, index: number) => {
      const event = index % 3 === 1 ? 'render' : 'click'
      const body = beacon(on.clock, filled, event, { occurred_at_ms: Math.max(now_ms, on.clock.now()) })
      return on.api.send('POST', '/v1/beacons', { as: key, body })
    }
    await Promise.all(Array.from({ length: perPlacement }, send))
  }
}

test('a report of all time is that of all beacons, as many as have come since the last one, and after a reset', async () => {
  using place = folder()
  const database = join(place.path, 'sandbox.db')
  {
    await using on = await stage({ database })
    await fill(on.api, { format: 'banner' })
  }
  addTraffic(database, { beacons: 10 * placements, unaccepted: 6_000, exchanges: 0, events: 0 })
  await using on = await stage({ database, rate_limit: 'off' })
  const compare = async () => expect(await report(on)).toEqual(await report(on, { since: '0' }))

  const first = report(on)
  await sendMany(on, 60, 3)
  expect((await first).lines.length).toBeGreaterThan(0)
  await compare()
  await sendMany(on, newBeacons, 550)
  await Promise.all([report(on), sendMany(on, 60, 3), report(on)])
  await compare()
  const { lines } = await report(on)
  expect(lines.find(({ metric }) => metric === 'rendered_impression')!.count).toBeGreaterThan(placements)
  await on.api.accept('snapshots.save', { params: { name: 'large' }, body: {} })
  const [during] = await Promise.all([report(on), on.api.accept('sandbox.reset', { body: {} })])
  expect([lines, []]).toContainEqual(during.lines)
  expect((await report(on)).lines).toEqual([])
  await on.api.accept('snapshots.restore', { params: { name: 'large' }, body: {} })
  expect((await report(on)).lines).toEqual(lines)
  await compare()
})
