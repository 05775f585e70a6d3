/** A successful placement on a host page: its frame, its size, its API, and the fields of each beacon. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openStage, type Stage } from './stage.ts'
import { beaconPosts } from './turns.ts'

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage?.[Symbol.asyncDispose]())

describe.concurrent('a placement on a host page', () => {
  test('is rendered, then visible, with distinct beacons', async () => {
    await using host = await stage.open()
    const { slot_id, placement, authoritative_consent } = await host.show({ format: 'banner' })
    await host.waitForEvent('beacon', { event: 'visible' })
    expect(await host.types()).toEqual(['rendered', 'beacon', 'visible', 'beacon'])
    const posts = beaconPosts(host)
    const [rendered, visible] = posts.map((post) => post.postDataJSON())
    expect(rendered).toMatchObject({
      asset_token: placement?.asset_token,
      slot_id,
      event: 'render',
      consent_revision: authoritative_consent?.revision,
      seq: 0,
      measurements: { width_px: 300, height_px: 250, page_visible: true },
    })
    expect(visible).toMatchObject({
      event: 'visible',
      seq: 1,
      render_instance_id: rendered.render_instance_id,
      measurements: { visible_ratio: 1, width_px: 300, height_px: 250, page_visible: true },
    })
    expect([rendered.beacon_id, visible.beacon_id]).toEqual([
      `${rendered.render_instance_id}:render`,
      `${rendered.render_instance_id}:visible`,
    ])
    expect(visible.measurements.visible_ms).toBeGreaterThanOrEqual(1_000)
    for (const post of posts) expect((await post.allHeaders()).authorization).toMatch(/^Bearer bt_/)
    expect(host.console_lines).toEqual([])
  })

  test('has one isolated frame, and its label outside', async () => {
    await using host = await stage.open()
    const { placement } = await host.show({ format: 'banner' })
    await host.waitForEvent('rendered')
    const { render, sponsor_name } = placement!
    const attributes = await host.page.locator('iframe').evaluate((frame) => {
      return Object.fromEntries([...frame.attributes].map(({ name, value }) => [name, value]))
    })
    expect({ ...attributes, style: '' }).toEqual({
      title: `Sponsored: ${sponsor_name}`,
      sandbox: 'allow-scripts allow-popups allow-popups-to-escape-sandbox',
      referrerpolicy: 'no-referrer',
      allow: 'autoplay',
      loading: 'eager',
      width: '300',
      height: '250',
      src: render.frame_url,
      style: '',
    })
    expect(await host.page.locator('[data-sp-label]').textContent()).toBe(`${render.label_text} · ${sponsor_name}`)
  })

  test('keeps its aspect ratio where there is less room', { tags: 'depth' }, async () => {
    await using host = await stage.open({ html: '<div id="slot" style="width:200px"></div>' })
    await host.show({ format: 'banner' })
    await host.waitForEvent('rendered')
    const box = await host.page.locator('iframe').boundingBox()
    expect(box?.width).toBe(200)
    expect(box?.height).toBeCloseTo(200 * (250 / 300), 1)
  })

  test('of a native template takes the height of its content', { tags: 'depth' }, async () => {
    await using host = await stage.open()
    await host.show({ format: 'native', native_template_id: 'card' })
    await host.waitForEvent('beacon', { event: 'visible' })
    const { outside, inside } = {
      outside: (await host.page.locator('iframe').boundingBox())!.height,
      inside: await host.page
        .frameLocator('iframe')
        .locator('.creative')
        .evaluate((card) => Math.ceil(card.getBoundingClientRect().height)),
    }
    expect(outside).toBe(inside)
  })
})

test('no entry point throws, for any argument', async () => {
  await using host = await stage.open()
  const occupied = await host.page.evaluate(async () => {
    const api = window.SponsoredPlacement! as unknown as Record<string, (...given: unknown[]) => unknown>
    for (const given of [undefined, null, 1, 'x', {}, { target: '>>>' }, { target: null }]) {
      api.renderPlacement!(given)
      api.clearPlacement!(given)
      api.startTurn!(given)
      api.on!(given, given)
      await api.activate!(given)
      await api.withTurn!(given, () => 1)
    }
    api.destroy!()
    return window.SponsoredPlacement!.state().occupied
  })
  expect(occupied).toBe(0)
})

test('an activation names its project, and does not expose its token', async () => {
  await using host = await stage.open()
  const { publishable_key, client_id } = stage.sandbox.keys
  const { activation, state } = await host.page.evaluate(async (publishableKey) => {
    const activation = await window.SponsoredPlacement!.activate({ publishableKey })
    return { activation, state: window.SponsoredPlacement!.state() }
  }, publishable_key)
  expect(activation).toEqual({
    project_id: client_id,
    key_id: expect.stringMatching(/^key_/),
    expires_at_ms: expect.any(Number),
  })
  expect(state.activation).toEqual(activation)
})

test('at top level a frame is a labelled preview that sends nothing', { tags: 'depth' }, async () => {
  await using host = await stage.open()
  const { placement } = await host.place({ format: 'native' })
  await host.page.goto(placement!.render.frame_url)
  expect(await host.page.locator('.preview').textContent()).toContain('Preview: opened outside a page')
  await host.page.getByRole('link').click()
  await host.page.reload()
  expect(beaconPosts(host)).toEqual([])
  expect(await host.recorded()).toEqual([])
})
