/** Lists and reports that do not read everything again find the same as those that do. */
import { expect, test } from 'vitest'
import { manualClock } from '#sandbox/index.ts'
import { addBeaconRows } from '#tests/reliability/large-state.ts'
import { asked, beacon, edit, fill, folder, key, type Stage, stage } from './stage.ts'

const dimensions = ['day', 'campaign', 'format', 'job_type', 'session', 'country'] as const

async function render(on: Stage, session_id: string): Promise<void> {
  const filled = await fill(on.api, { format: 'banner', body: asked({ session_id }) })
  await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, filled, 'render') })
}

test('a divided report that continues says the same as one that is counted from the first beacon', async () => {
  using at = folder()
  const options = { database: `${at.path}/sandbox.db`, clock: manualClock() }
  const report = async (on: Stage) => {
    const reports = await Promise.all(dimensions.map((by) => on.api.accept('billing.report', { query: { by } })))
    return reports.map(({ body }) => body)
  }
  let continued: Awaited<ReturnType<typeof report>>
  {
    await using on = await stage(options)
    const filled = await fill(on.api, { format: 'banner' })
    await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, filled, 'click') })
    const before = await report(on)
    expect(before[1]!.groups).toEqual([])
    // The click counts now that the ad has begun.
    await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, filled, 'render') })
    await render(on, 'sess_2')
    continued = await report(on)
    expect(continued[1]!.groups!.length).toBeGreaterThan(1)
  }
  await using on = await stage(options)
  expect(await report(on)).toEqual(continued)
})

test('billed beacons are found below any number of those that do not count, and their absence is too', async () => {
  using at = folder()
  const options = { database: `${at.path}/sandbox.db`, clock: manualClock() }
  {
    await using on = await stage(options)
    await render(on, 'sess_1')
  }
  // Views that nobody measured.
  edit(options.database, (db) => {
    addBeaconRows(db, 2_000)
    db.exec("UPDATE beacon SET event = 'visible' WHERE event = 'heartbeat'")
  })
  await using on = await stage(options)
  const list = async (query: Record<string, string | number>) => (await on.api.accept('beacons.list', { query })).body
  expect(await list({ billed: 'true' })).toEqual({ items: [], next_cursor: null })
  expect(await list({ metric: 'viewable_impression' })).toEqual({ items: [], next_cursor: null })
  const { items } = await list({ metric: 'rendered_impression' })
  expect(items).toMatchObject([{ event: 'render', session_id: 'sess_1' }])
  expect(await list({ event: 'play_completed' })).toEqual({ items: [], next_cursor: null })
  expect((await list({ event: 'visible', limit: 1_000 })).items).toHaveLength(1_000)
})
