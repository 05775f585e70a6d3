/** A placement from request to billing: a page with a publishable key, a page with a backend, and what neither gets. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Format } from '#contract/fields.ts'
import type { BeaconEvent } from '#contract/resources/beacons.ts'
import type { PlacementResponse } from '#contract/resources/placements.ts'
import { type Host, openStage, type Stage } from './stage.ts'
import { beaconPosts } from './turns.ts'

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage?.[Symbol.asyncDispose]())

/** Requests placements as a page does, with a publishable key only, and mounts each on the element of its format. */
function renderFromBrowser(host: Host, formats: readonly Format[]): Promise<PlacementResponse[]> {
  return host.page.evaluate(
    async ({ publishableKey, wanted }) => {
      const activation = await window.SponsoredPlacement!.activate({ publishableKey })
      return Promise.all(
        wanted.map(async ({ target, body }) => {
          const response = (await activation!.requestPlacement(body)) as PlacementResponse
          window.SponsoredPlacement!.renderPlacement({ target, response })
          return response
        }),
      )
    },
    {
      publishableKey: stage.sandbox.keys.publishable_key,
      wanted: formats.map((format) => ({
        target: `#${format}`,
        body: host.body({ format, max_width: 640, max_height: 300 }),
      })),
    },
  )
}

describe('a banner in a slot', () => {
  const startBanner = (host: Host) =>
    host.page.evaluate(
      ({ endpoint, body }) => {
        window.SponsoredPlacement!.startTurn({ target: '#slot', endpoint, body, keepMounted: true })
      },
      { endpoint: host.endpoint, body: host.body({ format: 'banner' }) },
    )

  test.each([
    ['that is below the fold', '<div style="height:3000px"></div><div id="slot"></div>'],
    [
      'whose content the browser skips',
      '<div style="height:3000px"></div><div id="slot" style="content-visibility:auto"></div>',
    ],
    ['of no height, cut off', '<div id="slot" style="height:0;overflow:hidden"></div>'],
    ['that begins scaled to nothing', '<div id="slot" style="transform:scale(0)"></div>'],
  ])('%s is rendered at once', async (_, slot) => {
    await using host = await stage.open({ html: slot })
    await startBanner(host)
    await host.waitForEvent('beacon', { event: 'render', accepted: true })
  })

  test.each([
    ['is not displayed', '<div id="slot" class="closed" style="display:none"></div>'],
    ['is in a tab that is not shown', '<section class="closed" style="display:none"><div id="slot"></div></section>'],
  ])('that %s is rendered once it has room, and not before', async (_, slot) => {
    await using host = await stage.open({ html: slot })
    await startBanner(host)
    await host.page.waitForFunction(() => window.findAll('iframe').length === 1)
    // By then its frame has said that the creative is there.
    await host.pass(3_000)
    expect(await host.types()).not.toContain('rendered')
    expect(await host.ledger()).toEqual([])
    await host.page.evaluate(() => document.querySelector<HTMLElement>('.closed')!.style.removeProperty('display'))
    await host.waitForEvent('beacon', { event: 'visible', accepted: true })
    expect(await host.ledger()).toEqual(['render accepted OK', 'visible accepted OK +viewable_impression'])
  })
})

const html = '<div id="banner"></div><div id="clip"></div><div id="native"></div>'
const context = { viewport: { width: 800, height: 1_100 } }

describe('a page with a publishable key', () => {
  test('shows every format, and each is counted as production would, with evidence that holds', async () => {
    await using host = await stage.open({ html, context })
    const responses = await renderFromBrowser(host, ['banner', 'clip', 'native'])
    await host.waitForEvent('beacon', { event: 'visible' }, 3)
    for (const { slot_id, placement } of responses) {
      const detail = await stage.client.placements.explain({ params: { slot_id } })
      const isClip = placement?.format === 'clip'
      expect(detail).toMatchObject({
        session_id: host.session_id,
        format: placement?.format,
        first_frame_at_ms: expect.any(Number),
        billing: { metric: 'viewable_impression', would_bill: true },
      })
      expect(detail.beacons.map(({ event }) => event).toSorted()).toEqual([
        ...(isClip ? ['play_started'] : []),
        'render',
        'visible',
      ])
      const at = (wanted: BeaconEvent) => detail.beacons.find(({ event }) => event === wanted)?.occurred_at_ms ?? 0
      expect(at('visible') - Math.max(at('play_started'), at('render'))).toBeGreaterThanOrEqual(isClip ? 1_990 : 990)
      expect(detail.evidence.map(({ kind }) => kind)).toEqual(['decision', ...detail.beacons.map(() => 'beacon')])
    }
    expect(await stage.client.evidence.verify()).toMatchObject({ ok: true })
    expect(host.console_lines).toEqual([])
  })

  test('after a denial gets no fill, and sends no beacon', async () => {
    await using host = await stage.open({ html, context })
    const { client_id } = stage.sandbox.keys
    await stage.client.consent.set({ body: { client_id, session_id: host.session_id, decision: 'denied' } })
    const [response] = await renderFromBrowser(host, ['banner'])
    expect(response?.decision).toMatchObject({ fill: false, no_fill_reason: 'consent_not_granted' })
    await host.waitForEvent('no_fill')
    expect(await host.page.locator('iframe, [data-sp-label]').count()).toBe(0)
    expect(beaconPosts(host)).toEqual([])
    expect(await host.recorded()).toEqual([])
  })
})

describe('a page with a backend', () => {
  test("sends beacons with the frame's token only, and never has the secret key", async () => {
    await using host = await stage.open()
    await host.show({ format: 'native' })
    await host.waitForEvent('beacon', { event: 'visible' })
    for (const post of beaconPosts(host)) {
      const headers = await post.allHeaders()
      expect(headers).toMatchObject({ authorization: expect.stringMatching(/^Bearer bt_/), origin: stage.host_url })
    }
    const credentials = host.requests.flatMap((request) => request.headers().authorization ?? [])
    expect(credentials.filter((credential) => !credential.startsWith('Bearer bt_'))).toEqual([])
  })

  test("a frame's token is pinned to the origin of its page: on another one it is rejected", async () => {
    await using host = await stage.open()
    await host.show({ format: 'banner' })
    await host.waitForEvent('beacon', { event: 'render' })
    const [post] = beaconPosts(host)
    const { authorization } = await post!.allHeaders()
    const elsewhere = await host.context.newPage()
    await elsewhere.goto(host.page.url().replace('localhost', '127.0.0.1'))
    const outcome = await elsewhere.evaluate(
      async ({ url, authorization, body }) => {
        const headers = { authorization: authorization ?? '', 'content-type': 'application/json' }
        return fetch(url, { method: 'POST', headers, body }).then(
          () => 'readable',
          () => 'unreadable',
        )
      },
      {
        url: post!.url(),
        authorization,
        body: JSON.stringify({ ...post!.postDataJSON(), beacon_id: 'elsewhere', event: 'click' }),
      },
    )
    expect(outcome).toBe('unreadable')
    const { items } = await stage.client.requests.list({ query: { path: '/v1/beacons', status: 403 } })
    expect(items[0]).toMatchObject({ status: 403, reason_code: 'origin_mismatch' })
    expect((await host.recorded()).filter(({ event }) => event === 'click')).toEqual([])
  })
})
