/** A turn that a virtual list mounts again (A102): the same frame, loaded again, and beacons of each mount. */
import { describe, expect, test } from 'vitest'
import type { BillingModel } from '#contract/beacon-verdict.ts'
import type { Format } from '#contract/fields.ts'
import { beacon, fill, key, origin, type Stage, stage } from './stage.ts'

const demo = { client_id: 'proj_demo' }

/** Loads the frame of a fill; returns its beacon token. */
async function mount(on: Stage, asset_token: string): Promise<string> {
  const { text } = await on.api.accept('render.frame', { params: { asset_token } })
  return /"beacon_token":"(bt_[\w-]+)"/.exec(text)![1]!
}

describe('a frame', () => {
  test('loads again until its beacons end, also when the time of the first load has passed', async () => {
    await using on = await stage()
    const { asset_token, slot_id } = await fill(on.api)
    const params = { asset_token }
    on.clock.advance(300_000)
    await mount(on, asset_token)
    // Past the first load's 300 s, and past the 600 s of the decision.
    for (const later_ms of [1_000, 600_000, 1_199_000]) {
      on.clock.advance(later_ms)
      const as = await mount(on, asset_token)
      const body = beacon(on.clock, { asset_token }, 'heartbeat')
      expect((await on.api.accept('beacons.send', { as, origin, body })).body.accepted).toBe(true)
    }
    const { body } = await on.api.accept('placements.explain', { params: { slot_id } })
    expect(body.first_frame_at_ms).toBe(on.clock.now() - 1_800_000)
    on.clock.advance(1)
    const refused = await on.api.refusePage('render.frame', { params })
    expect([refused.status, refused.text]).toEqual([404, expect.stringContaining('{"code":"asset_token_expired"}')])
  })
})

describe('beacons', () => {
  test('of every mount are kept, with the turn, and billed once in each model', async () => {
    await using on = await stage()
    const models: [BillingModel, Format][] = [
      ['cpm_viewable', 'banner'],
      ['cpm_render', 'native'],
      ['cpc', 'banner'],
      ['cpcv', 'clip'],
    ]
    for (const [billing_model, format] of models) {
      await on.api.accept('projects.update', { params: demo, body: { billing_model } })
      const filled = await fill(on.api, { format })
      const metadata = { turn_id: `turn-${format}`, row: { index: 7 } }
      for (const render_instance_id of ['one', 'two', 'three']) {
        const as = await mount(on, filled.asset_token)
        const send = (event: string, more: Record<string, unknown> = {}) => {
          const body = beacon(on.clock, filled, event, { render_instance_id, metadata, ...more })
          return on.api.accept('beacons.send', { as, origin, body })
        }
        await send('render')
        if (format === 'clip') await send('play_started')
        on.clock.advance(20_000)
        await send('visible', { measurements: { visible_ratio: 1, visible_ms: 3_000, page_visible: true } })
        await send('click')
        if (format === 'clip') await send('play_completed')
      }
      const { items } = (await on.api.accept('beacons.list', { query: { slot_id: filled.slot_id, limit: 100 } })).body
      expect(items).toHaveLength(format === 'clip' ? 15 : 9)
      expect([billing_model, items.filter(({ would_bill }) => would_bill).length]).toEqual([billing_model, 1])
      for (const item of items) expect(item).toMatchObject({ verdict: 'accepted', metadata })
      const { body } = await on.api.accept('placements.explain', { params: { slot_id: filled.slot_id } })
      expect([body.billing?.would_bill, body.beacons[0]?.metadata]).toEqual([true, metadata])
    }
    // The report counts what the lists say, with the model that is set now: one of each metric of each placement.
    const { lines } = (await on.api.accept('billing.report')).body
    expect(lines.filter(({ is_billed }) => is_billed)).toMatchObject([{ metric: 'completed_view', count: 1 }])
    expect(
      lines.filter(({ metric }) => metric === 'viewable_impression').reduce((sum, { count }) => sum + count, 0),
    ).toBe(models.length)
    expect((await on.api.accept('evidence.verify')).body.ok).toBe(true)
  })

  test('without metadata, or not accepted, have none in lists', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, filled, 'render') })
    const wrong = beacon(on.clock, filled, 'play_started', { metadata: { turn_id: 'turn-1' } })
    await on.api.refuse('beacons.send', { as: key, body: wrong })
    const { items } = (await on.api.accept('beacons.list')).body
    expect(items.map(({ verdict, metadata }) => [verdict, metadata])).toEqual([
      ['rejected', null],
      ['accepted', null],
    ])
  })
})
