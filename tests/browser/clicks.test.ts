/** Clicks of every kind on every format: where they lead, how often they count, and what is billed under cpc. */
import type { FrameLocator, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { BeaconRequest } from '#contract/resources/beacons.ts'
import { SandboxError, startSandbox } from '#sandbox/index.ts'
import { oneCampaign } from './campaign.ts'
import { databaseWith } from './database.ts'
import { openSponsor, type Sponsor } from './sponsor.ts'
import { type Host, openStage, type PlaceOptions, type Stage } from './stage.ts'
import { beaconPosts } from './turns.ts'

vi.setConfig({ maxConcurrency: 3 })

let database: Awaited<ReturnType<typeof databaseWith>>
/** Bills clicks. */
let stage: Stage
let sponsor: Sponsor

beforeAll(async () => {
  sponsor = await openSponsor()
  database = await databaseWith({ billing_model: 'cpc' })
  stage = await openStage(
    { database: database.path, demand: oneCampaign({ click_url: sponsor.click_url }) },
    undefined,
    'held',
  )
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
  place: PlaceOptions
  perform: (link: Locator, page: Page) => Promise<void>
  /** Count of tabs that it opens. */
  tabs: number
}

const click = { perform: (link: Locator) => link.click(), tabs: 1 }
const gestures: Record<string, Gesture> = {
  click: { place: kinds.banner, ...click },
  clip: { place: kinds.clip, ...click },
  native: { place: kinds.native, ...click },
  double: { place: kinds.banner, perform: (link) => link.dblclick(), tabs: 2 },
  middle: { place: kinds.banner, perform: (link) => link.click({ button: 'middle' }), tabs: 1 },
  control: { place: kinds.banner, perform: (link) => link.click({ modifiers: ['Control'] }), tabs: 1 },
  keyboard: {
    place: kinds.banner,
    perform: async (link, page) => {
      await link.focus()
      await page.keyboard.press('Enter')
    },
    tabs: 1,
  },
}

/** Makes a gesture on an ad each: a free tab is opened, and one click is counted. */
async function expectFreeTabs(names: readonly string[]): Promise<void> {
  const html = names.map((name) => `<div id="${name}" style="float:left;width:420px"></div>`)
  await using host = await stage.open({ html: html.join(''), context: { viewport: { width: 1_300, height: 1_000 } } })
  await sponsor.introduce(host)
  const slots: Record<string, string> = {}
  for (const name of names) slots[name] = (await host.show(gestures[name]!.place, `#${name}`)).slot_id
  await host.emitted('beacon', { event: 'render' }, html.length)

  // One more is opened by the first.
  let visits = 1
  for (const round of [1, 2]) {
    for (const name of names) {
      const { perform, tabs } = gestures[name]!
      if (round === 2 && name !== 'keyboard') continue
      await perform(findLink(host.page.frameLocator(`#${name} iframe`)), host.page)
      await host.emitted('beacon', { event: 'click', slot_id: slots[name]! })
      visits += tabs
      await sponsor.visits(host, visits)
    }
  }
  const seen = await sponsor.visits(host, visits)
  const free = { origin: sponsor.origin, storage: 'kept', has_opener: false }
  const [first, ...others] = seen.filter(({ path }) => path === '/landing')
  const landed = { ...free, path: '/landing', referrer: '', referer: null, can_open: false }
  expect(first).toEqual({ ...landed, can_open: true })
  expect(others).toEqual(Array.from({ length: visits - 2 }, () => landed))
  expect(seen.filter(({ path }) => path === '/more')).toMatchObject([{ origin: sponsor.origin, storage: 'kept' }])
  for (const [name, slot_id] of Object.entries(slots)) {
    expect([name, await readClicks(host, slot_id)]).toEqual([name, oneClick(true)])
    expect([name, ...(await readBill(slot_id))]).toEqual([name, 'click', true, 'One click counted.'])
  }
  expect(host.page.url()).toContain(stage.host_url)
  expect(host.console_lines).toEqual([])
}

describe.concurrent('a click', () => {
  test('by mouse or keyboard opens a free tab and counts once', () => expectFreeTabs(['click', 'keyboard']))

  test('of any kind on any format opens a free tab and counts once', { tags: 'depth' }, () =>
    expectFreeTabs(Object.keys(gestures)),
  )

  test('on an address with https counts, but is not billed, where views are', { tags: 'depth' }, async () => {
    await using other = await openStage(
      { demand: oneCampaign({ click_url: 'https://secure.example/' }) },
      undefined,
      'held',
    )
    await using host = await other.open()
    await host.context.route('https://secure.example/', (route) => route.fulfill({ body: 'landing' }))
    const { slot_id } = await host.show(kinds.banner)
    await host.waitForEvent('beacon', { event: 'visible' })
    await findLink(findAd(host)).click()
    await host.emitted('beacon', { event: 'click' })
    expect(await host.ledger()).toEqual([
      'render accepted OK',
      'visible accepted OK +viewable_impression',
      'click accepted OK',
    ])
    const { billing, beacons } = await other.client.placements.explain({ params: { slot_id } })
    expect(billing).toMatchObject({ metric: 'viewable_impression', would_bill: true })
    expect(beacons.find(({ event }) => event === 'click')).toMatchObject({ metric: 'click', would_bill: false })
  })

  test('by the right button opens a menu, and is not a click', { tags: 'depth' }, async () => {
    await using host = await stage.open()
    const { slot_id } = await host.show(kinds.banner)
    await host.emitted('beacon', { event: 'render' })
    await findLink(findAd(host)).click({ button: 'right' })
    await findLink(findAd(host)).hover()
    expect(await readClicks(host)).toEqual(noClick)
    expect(await readBill(slot_id)).toEqual(['click', false, 'No click: no click beacon was accepted.'])
  })

  test('on Play, Pause or Mute of a clip does not count, and one on the clip beside them does', {
    tags: 'depth',
  }, async () => {
    await using host = await stage.open()
    await host.show(kinds.clip)
    await host.emitted('play_started')
    const frame = host.page.frameLocator('iframe')
    for (const name of ['Pause', 'Play', 'Unmute', 'Mute']) await frame.getByRole('button', { name }).click()
    await frame.getByRole('button', { name: 'Unmute' }).waitFor()
    expect(await readClicks(host)).toEqual(noClick)
    expect(host.context.pages()).toHaveLength(1)
    await findLink(findAd(host)).click({ position: { x: 20, y: 20 } })
    await host.emitted('beacon', { event: 'click' })
    expect(await readClicks(host)).toEqual(oneClick(true))
  })

  test('made by a script is reported as not made by a user', { tags: 'depth' }, async () => {
    await using host = await stage.open({
      before: (page) =>
        page.addInitScript(() => {
          addEventListener('message', ({ data }) => {
            if (data === 'test:click') document.querySelector<HTMLElement>('a.surface')!.click()
          })
        }),
    })
    const { slot_id } = await host.show(kinds.banner)
    await host.emitted('beacon', { event: 'render' })
    await host.page.evaluate(() =>
      (window.findAll('iframe')[0] as HTMLIFrameElement).contentWindow!.postMessage('test:click', '*'),
    )
    await host.emitted('beacon', { event: 'click' })
    expect(await readClicks(host)).toEqual(oneClick(false))
    // The contract does not reject it: it counts, and its measurements show the difference.
    expect(await readBill(slot_id)).toEqual(['click', true, 'One click counted.'])
  })
})

describe.concurrent('a click before the creative is rendered', () => {
  test('waits for the render, and counts with it', async () => {
    await using host = await stage.open({ before: holdPaint })
    const { slot_id } = await host.show(kinds.banner)
    const frame = (await (await host.page.waitForSelector('iframe')).contentFrame())!
    await frame.waitForFunction(() => window.isConnected && window.paint)
    await findLink(findAd(host)).click()
    expect(await host.emitted('beacon', { event: 'click' })).toMatchObject({ reason_code: 'AWAITING_RENDER' })
    expect(await host.ledger()).toEqual(['click accepted AWAITING_RENDER'])
    expect(await readBill(slot_id)).toEqual(['click', false, 'No click: no render beacon has arrived yet.'])
    await frame.evaluate(() => window.paint!())
    await host.emitted('beacon', { event: 'render' })
    expect(await host.ledger()).toEqual(['click accepted OK +click', 'render accepted OK'])
    expect(await host.types()).toEqual(['click', 'beacon', 'rendered', 'beacon'])
    expect(await readBill(slot_id)).toEqual(['click', true, 'One click counted.'])
  })

  test('while its image still loads: one click beacon is sent in the end', { tags: 'depth' }, async () => {
    const image = Promise.withResolvers<void>()
    await using host = await stage.open({
      before: (page) =>
        page.route('**/v1/test-assets/banner?**', async (route) => {
          await image.promise
          await route.continue()
        }),
    })
    const { slot_id } = await host.show(kinds.banner)
    await findLink(findAd(host)).click()
    image.resolve()
    await host.emitted('beacon', { event: 'render' })
    await findLink(findAd(host)).click()
    await host.emitted('beacon', { event: 'click' })
    expect(await readClicks(host)).toEqual(oneClick(true))
    expect(await readBill(slot_id)).toEqual(['click', true, 'One click counted.'])
  })

  /** Connects the frame, and delays the painting of its image until `paint` is called. */
  async function holdPaint(page: Page): Promise<void> {
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
  test('without https is no link', { tags: 'depth' }, async () => {
    const demand = oneCampaign({ click_url: 'http://insecure.example/' })
    await using other = await openStage({ demand })
    const html = Object.keys(kinds).map((name) => `<div id="${name}" style="width:420px"></div>`)
    // In a context of its own: a tab that another test opened may come late.
    const context = { viewport: { width: 800, height: 1_000 }, colorScheme: 'light' } as const
    await using host = await other.open({ html: html.join(''), context })
    for (const [name, place] of Object.entries(kinds)) await host.show(place, `#${name}`)
    await host.emitted('beacon', { event: 'render' }, html.length)
    for (const name of Object.keys(kinds)) {
      const frame = host.page.frameLocator(`#${name} iframe`)
      expect(await frame.locator('[href]').count()).toBe(0)
      await frame.locator('.surface').click({ position: { x: 20, y: 20 } })
      await host.page.keyboard.press('Enter')
      expect(await frame.locator('.surface').evaluate((element) => element.tagName)).toBe('DIV')
    }
    expect(await readClicks(host)).toEqual(noClick)
    expect(host.context.pages()).toHaveLength(1)
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

const findAd = ({ page }: Host): FrameLocator => page.frameLocator('iframe')

function findLink(frame: FrameLocator): Locator {
  return frame.getByRole('link')
}

/** Returns the clicks, of one slot or all: events of the page, beacons sent and recorded, and every beacon that was not accepted. */
async function readClicks(host: Host, slot_id?: string) {
  const isWanted = (one: { slot_id?: string | null | undefined }): boolean =>
    slot_id === undefined || one.slot_id === slot_id
  const sent = beaconPosts(host)
    .map((request) => request.postDataJSON() as BeaconRequest)
    .filter((beacon) => beacon.event === 'click' && isWanted(beacon))
  const { session_id } = host
  const { items } = await stage.client.beacons.list({ query: slot_id === undefined ? { session_id } : { slot_id } })
  const events = (await host.events()).filter(isWanted)
  return {
    emitted: events.flatMap((event) => (event.type === 'click' ? [event.user_activated] : [])),
    sent: sent.map(({ measurements }) => measurements?.user_activated),
    recorded: items.flatMap(({ event, reason_code, would_bill }) =>
      event === 'click' ? [[reason_code, would_bill]] : [],
    ),
    unaccepted: items.filter(({ verdict }) => verdict !== 'accepted'),
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
async function readBill(slot_id: string): Promise<[string, boolean, string]> {
  const { billing, evidence, beacons } = await stage.client.placements.explain({ params: { slot_id } })
  const accepted = beacons.filter(({ verdict }) => verdict === 'accepted')
  expect(evidence.map(({ kind }) => kind)).toEqual(['decision', ...accepted.map(() => 'beacon')])
  return [billing!.metric, billing!.would_bill, billing!.explanation]
}
