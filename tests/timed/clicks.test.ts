/** Clicks of every kind on every format: where they lead, how often they count, and what is billed under cpc. */
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { BeaconRequest } from '#contract/resources/beacons.ts'
import { SandboxError, startSandbox } from '#sandbox/index.ts'
import { oneCampaign } from '#tests/browser/campaign.ts'
import { databaseWith } from '#tests/browser/database.ts'
import { openSponsor, type Sponsor } from '#tests/browser/sponsor.ts'
import { type Host, openStage, type PlaceOptions, type Stage, withPatience } from '#tests/browser/stage.ts'

vi.setConfig({ maxConcurrency: 8 })

let database: Awaited<ReturnType<typeof databaseWith>>
/** Bills clicks. */
let stage: Stage
let sponsor: Sponsor

beforeAll(async () => {
  sponsor = await openSponsor()
  database = await databaseWith({ billing_model: 'cpc' })
  stage = await openStage({ database: database.path, demand: oneCampaign({ click_url: sponsor.click_url }) })
})
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]()
  database?.[Symbol.dispose]()
  sponsor?.[Symbol.dispose]()
})

const kinds = {
  banner: { format: 'banner' },
  clip: { format: 'clip', max_width: 320, max_height: 180 },
  native: { format: 'native', native_template_id: 'list_item', max_width: 400 },
} satisfies Record<string, PlaceOptions>

interface Gesture {
  perform: (link: Locator, page: Page) => Promise<void>
  /** Count of tabs that it opens. */
  tabs: number
}

const gestures: Record<string, Gesture> = {
  click: { perform: (link) => link.click(), tabs: 1 },
  'double click': { perform: (link) => link.dblclick(), tabs: 2 },
  keyboard: { perform: pressEnter, tabs: 1 },
  'middle click': { perform: (link) => link.click({ button: 'middle' }), tabs: 1 },
  'control click': { perform: (link) => link.click({ modifiers: ['Control'] }), tabs: 1 },
}

async function pressEnter(link: Locator, page: Page): Promise<void> {
  const isFocused = (): Promise<boolean> => link.evaluate((element) => element.matches(':focus'))
  if (!(await isFocused())) await page.keyboard.press('Tab')
  expect(await isFocused()).toBe(true)
  await page.keyboard.press('Enter')
}

const cases = Object.entries(kinds).flatMap(([format, place]) =>
  Object.entries(gestures).map(([gesture, { perform, tabs }]) => ({ format, place, gesture, perform, tabs })),
)

describe.concurrent('a click', () => {
  test.each(cases)('on a $format by $gesture opens a free tab and counts once', async ({ place, perform, tabs }) => {
    await using host = await stage.open()
    await sponsor.introduce(host)
    const { slot_id } = await host.show(place)
    await host.waitForEvent('beacon', { event: 'render' })
    const link = linkOf(host)

    await perform(link, host.page)
    await host.waitForEvent('beacon', { event: 'click' })
    await sponsor.visits(host, 2 * tabs)
    await perform(link, host.page)
    const visits = await sponsor.visits(host, 4 * tabs)
    const free = { origin: sponsor.origin, storage: 'kept' }
    const landed = { ...free, path: '/landing', referrer: '', referer: null, has_opener: false, can_open: true }
    expect(visits.filter(({ path }) => path === '/landing')).toEqual(Array.from({ length: 2 * tabs }, () => landed))
    const more = visits.filter(({ path }) => path === '/more').map(({ origin, storage }) => ({ origin, storage }))
    expect(more).toEqual(Array.from({ length: 2 * tabs }, () => free))

    expect(await clicksOf(host)).toEqual(oneClick(true))
    expect(await billOf(slot_id)).toEqual(['click', true, 'One click counted.'])
    expect(host.page.url()).toContain(stage.host_url)
    expect(host.console_lines).toEqual([])
  })

  test('counts, but is not billed, where views are', async () => {
    await using other = await openStage({
      demand: oneCampaign({ click_url: sponsor.click_url }),
    })
    await using host = await other.open()
    const { slot_id } = await host.show(kinds.banner)
    await host.waitForEvent('beacon', { event: 'visible' })
    await linkOf(host).click()
    await host.waitForEvent('beacon', { event: 'click' })
    expect(await host.ledger()).toEqual([
      'render accepted OK',
      'visible accepted OK +viewable_impression',
      'click accepted OK',
    ])
    const { billing, beacons } = await other.client.placements.explain({ params: { slot_id } })
    expect(billing).toMatchObject({ metric: 'viewable_impression', would_bill: true })
    expect(beacons.find(({ event }) => event === 'click')).toMatchObject({ metric: 'click', would_bill: false })
  })

  test('by the right button opens a menu, and is not a click', async () => {
    await using host = await stage.open()
    const { slot_id } = await host.show(kinds.banner)
    await host.waitForEvent('beacon', { event: 'render' })
    await linkOf(host).click({ button: 'right' })
    await linkOf(host).hover()
    expect(await clicksOf(host)).toEqual(noClick)
    expect(await billOf(slot_id)).toEqual(['click', false, 'No click: no click beacon was accepted.'])
  })

  test('on Play, Pause or Mute of a clip does not count, and one on the clip beside them does', async () => {
    await using host = await stage.open()
    await host.show(kinds.clip)
    await host.waitForEvent('play_started')
    const frame = host.page.frameLocator('iframe')
    for (const name of ['Pause', 'Play', 'Unmute', 'Mute']) await frame.getByRole('button', { name }).click()
    await frame.getByRole('button', { name: 'Unmute' }).waitFor()
    expect(await clicksOf(host)).toEqual(noClick)
    expect(host.context.pages()).toHaveLength(1)
    await linkOf(host).click({ position: { x: 20, y: 20 } })
    await host.waitForEvent('beacon', { event: 'click' })
    expect(await clicksOf(host)).toEqual(oneClick(true))
  })

  test('made by a script is reported as not made by a user', async () => {
    await using host = await stage.open({
      before: (page) =>
        page.addInitScript(() => {
          addEventListener('message', ({ data }) => {
            if (data === 'test:click') document.querySelector<HTMLElement>('a.surface')!.click()
          })
        }),
    })
    const { slot_id } = await host.show(kinds.banner)
    await host.waitForEvent('beacon', { event: 'render' })
    await host.page.evaluate(() =>
      (window.findAll('iframe')[0] as HTMLIFrameElement).contentWindow!.postMessage('test:click', '*'),
    )
    await host.waitForEvent('beacon', { event: 'click' })
    expect(await clicksOf(host)).toEqual(oneClick(false))
    // The contract does not reject it: it counts, and its measurements show the difference.
    expect(await billOf(slot_id)).toEqual(['click', true, 'One click counted.'])
  })
})

describe.concurrent('a click before the creative is rendered', () => {
  test('waits for the render, and counts with it', async () => {
    await using host = await stage.open({ before: holdPaint })
    const { slot_id } = await host.show(kinds.banner)
    const frame = (await (await host.page.waitForSelector('iframe')).contentFrame())!
    await frame.waitForFunction(() => window.isConnected && window.paint)
    await linkOf(host).click()
    expect(await host.waitForEvent('beacon', { event: 'click' })).toMatchObject({ reason_code: 'AWAITING_RENDER' })
    expect(await host.ledger()).toEqual(['click accepted AWAITING_RENDER'])
    expect(await billOf(slot_id)).toEqual(['click', false, 'No click: no render beacon has arrived yet.'])
    await frame.evaluate(() => window.paint!())
    await host.waitForEvent('beacon', { event: 'render' })
    // On a slow machine the view follows before the ledger is read.
    expect((await host.ledger()).slice(0, 2)).toEqual(['click accepted OK +click', 'render accepted OK'])
    expect((await host.types()).slice(0, 4)).toEqual(['click', 'beacon', 'rendered', 'beacon'])
    expect(await billOf(slot_id)).toEqual(['click', true, 'One click counted.'])
  })

  test('while its image still loads: one click beacon is sent in the end', async () => {
    const image = Promise.withResolvers<void>()
    await using host = await stage.open({
      before: async (page) => {
        await withPatience(page)
        await page.route('**/v1/test-assets/banner?**', async (route) => {
          await image.promise
          await route.continue()
        })
      },
    })
    const { slot_id } = await host.show(kinds.banner)
    await linkOf(host).click()
    image.resolve()
    await host.waitForEvent('beacon', { event: 'render' })
    await linkOf(host).click()
    await host.waitForEvent('beacon', { event: 'click' })
    expect(await clicksOf(host)).toEqual(oneClick(true))
    expect(await billOf(slot_id)).toEqual(['click', true, 'One click counted.'])
  })

  /** Connects the frame, and delays the painting of its image until `paint` is called. */
  async function holdPaint(page: Page): Promise<void> {
    await withPatience(page)
    await page.addInitScript(() => {
      if (parent === window) return
      HTMLImageElement.prototype.decode = () =>
        new Promise((resolve) => {
          window.paint = resolve
        })
      Object.assign(window, { setTimeout: () => 0 })
      addEventListener('message', ({ ports }) => {
        window.isConnected ||= ports.length === 1
      })
    })
  }
})

describe.concurrent('a click target', () => {
  test.each([
    ['http://insecure.example/', 0],
    ['http://localhost:9/landing', 1],
    ['https://secure.example/', 1],
  ])('%s is a link: %i', async (click_url, links) => {
    await using other = await openStage({ demand: oneCampaign({ click_url }) })
    for (const place of Object.values(kinds)) {
      await using host = await other.open()
      await host.show(place)
      await host.waitForEvent('beacon', { event: 'render' })
      const frame = host.page.frameLocator('iframe')
      expect(await frame.locator('[href]').count()).toBe(links)
      if (links > 0) continue
      await frame.locator('.surface').click({ position: { x: 20, y: 20 } })
      await host.page.keyboard.press('Tab')
      await host.page.keyboard.press('Enter')
      expect(await frame.locator('.surface').evaluate((element) => element.tagName)).toBe('DIV')
      expect(await clicksOf(host)).toEqual(noClick)
      expect(host.context.pages()).toHaveLength(1)
    }
  })

  test.each(['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd'])(
    '%s is refused by the catalogue',
    async (click_url) => {
      const refused = await startSandbox({ demand: oneCampaign({ click_url }) }).catch((error: unknown) => error)
      expect(refused).toBeInstanceOf(SandboxError)
      expect(refused).toMatchObject({ code: 'option_invalid', message: expect.stringContaining('click_url') })
    },
  )
})

declare global {
  interface Window {
    paint?: () => void
    isConnected?: boolean
  }
}

function linkOf(host: Host): Locator {
  return host.page.frameLocator('iframe').getByRole('link')
}

/** Returns the clicks: events of the page, beacons sent and recorded, and every beacon that was not accepted. */
async function clicksOf(host: Host) {
  const sent = host.requests
    .filter((request) => request.method() === 'POST' && request.url().endsWith('/v1/beacons'))
    .map((request) => request.postDataJSON() as BeaconRequest)
    .filter(({ event }) => event === 'click')
  const recorded = await host.recorded()
  return {
    emitted: (await host.events()).flatMap((event) => (event.type === 'click' ? [event.user_activated] : [])),
    sent: sent.map(({ measurements }) => measurements?.user_activated),
    recorded: recorded.flatMap(({ event, reason_code, would_bill }) =>
      event === 'click' ? [[reason_code, would_bill]] : [],
    ),
    unaccepted: recorded.filter(({ verdict }) => verdict !== 'accepted'),
  }
}

const noClick = { emitted: [], sent: [], recorded: [], unaccepted: [] }
const oneClick = (user_activated: boolean) => ({
  emitted: [user_activated],
  sent: [user_activated],
  recorded: [['OK', true]],
  unaccepted: [],
})

/** Returns the billing of a slot, after checking that the evidence has what it is based on. */
async function billOf(slot_id: string): Promise<[string, boolean, string]> {
  const { billing, evidence, beacons } = await stage.client.placements.explain({ params: { slot_id } })
  const accepted = beacons.filter(({ verdict }) => verdict === 'accepted')
  expect(evidence.map(({ kind }) => kind)).toEqual(['decision', ...accepted.map(() => 'beacon')])
  return [billing!.metric, billing!.would_bill, billing!.explanation]
}
