/** What `svc observe` says of ads that people cannot bear: for each rule pages on which it must be silent, then those it names. */
import type { BrowserContextOptions } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { FrameLoad } from '#diagnosis/facts/frame-loads.ts'
import { type AroundAds, readAroundAds, recordAroundAds } from '#diagnosis/facts/in-page-ads.ts'
import type { Facts } from '#diagnosis/rule.ts'
import { pageAdRules } from '#diagnosis/rules/page-ads.ts'
import { type Host, openStage, type PlaceOptions, type Stage } from '#tests/browser/stage.ts'
import { startTurn } from '#tests/browser/turns.ts'

vi.setConfig({ maxConcurrency: 4 })

let stage: Stage
beforeAll(async () => {
  stage = await openStage({ rate_limit: 'off' })
})
afterAll(() => stage?.[Symbol.asyncDispose]())

type RuleId = keyof typeof pageAdRules

/** Returns what the rules find, by their names. */
function judge(seen: Partial<Facts['page']['page']>): Partial<Record<RuleId, string[]>> {
  const page = { mounts: [{}], around_ads: [], frame_loads: [], interventions: [], ...seen }
  const found = Object.entries(pageAdRules).map(
    ([id, rule]) =>
      [
        id,
        rule
          .judge({ page, observed: { exchanges: [] } } as unknown as Facts['page'])
          .findings.map(({ message }) => message),
      ] as const,
  )
  return Object.fromEntries(found.filter(([, messages]) => messages.length > 0))
}

interface Scene {
  html?: string
  /** JavaScript of the page before and after the ad is rendered. */
  before?: string
  after?: string
  context?: BrowserContextOptions
  place?: PlaceOptions
  /** How often it is rendered in all. Default: once. */
  times?: number
  /** Mounts it instead. */
  show?: (host: Host) => Promise<unknown>
}

const banner = { format: 'banner', max_width: 300, max_height: 250 } as const

async function look({ html, before, after, context, place = banner, show, times = 1 }: Scene): Promise<AroundAds> {
  await using host = await stage.open({
    html: html ?? '<div id="slot"></div>',
    context: { viewport: { width: 1_000, height: 800 }, ...context },
    before: (page) => page.addInitScript(recordAroundAds, [stage.sandbox.url]),
  })
  if (before) await host.page.evaluate(before)
  if (show) await show(host)
  else await startTurn(host, { place, keepMounted: true, turnId: 'one' })
  await host.waitForEvent('rendered')
  if (after) await host.page.evaluate(after)
  await host.waitForEvent('rendered', {}, times)
  await host.pass(1_500)
  return host.page.evaluate(readAroundAds)
}

async function judgeScene(scene: Scene) {
  return judge({ around_ads: [await look(scene)] })
}

const slot = "document.querySelector('#slot')"
const api = 'SponsoredPlacement'

describe.concurrent('slot-emptied', () => {
  const innocent: Record<string, Scene> = {
    'nothing happens': {},
    'the row leaves': { after: `${slot}.remove()` },
    'the row leaves, and comes back': {
      after: `{ const s = ${slot}; s.remove(); setTimeout(() => document.body.append(s), 300) }`,
    },
    'the row is moved': { after: `document.body.prepend(${slot})` },
    'the list is drawn again, and its turn started again': {
      html: '<div id="list"><div id="slot"></div></div>',
      after: `document.querySelector('#list').innerHTML = '<div id="slot"></div>'; ${api}.startTurn({ target: '#slot', turnId: 'one', keepMounted: true })`,
    },
    'the turn is cancelled': { after: 'hostTurn.cancel()' },
    'the placement is cleared': { after: `${api}.clearPlacement({ target: '#slot' })` },
    'the page clears all': { after: `${api}.destroy()` },
    'the page shows something else there': { after: `${slot}.innerHTML = '<p>Done</p>'` },
    'the slot gets other styles, and text beside it': {
      after: `${slot}.className = 'open'; ${slot}.style.padding = '9px'; document.body.append('More text')`,
    },
    'the page takes the ad away for good': { after: `hostTurn.cancel(); ${slot}.replaceChildren()` },
  }
  test.each(Object.entries(innocent))('is silent where %s', async (_, scene) => {
    expect(await judgeScene(scene)).toEqual({})
  })

  test.each([
    ['a library that compares the slot with its markup', `${slot}.replaceChildren()`, 1],
    ['a framework that removes what it did not draw', "document.querySelector('[data-sp-placement]').remove()", 1],
    [
      'an update with each word',
      `{ let n = 0; ${api}.on('rendered', () => ++n < 3 && ${slot}.replaceChildren()); ${slot}.replaceChildren() }`,
      3,
    ],
  ])('names the slot below %s', async (_, after, count) => {
    const times = count === 1 ? 'once' : `${count} times`
    expect(await judgeScene({ after, times: count + 1 })).toEqual({
      'slot-emptied': [
        expect.stringMatching(new RegExp(`^The page took the ad of slot_\\w+ out of #slot ${times}, and kept`)),
      ],
    })
  })
})

describe.concurrent('message-pushed-away', () => {
  const talk = (height: number) => `<div style="height:${height}px">Question</div>`
  const answer = '<p>The answer.</p>'
  const room = '<div id="slot"></div>'
  const chat = (content: string) =>
    `<div id="chat" style="height:600px;overflow:auto">${content}</div><form><input></form>`
  const toEnd = "{ const c = document.querySelector('#chat'); c.scrollTop = c.scrollHeight }"
  const innocent: Record<string, Scene> = {
    'the page is short': { html: `${answer}${room}` },
    'the ad is below the last message': { html: `${talk(600)}${answer}${room}` },
    'the slot was reserved': { html: `${talk(300)}<div id="slot" style="min-height:300px"></div>${answer}` },
    'the user reads further up': { html: `${talk(2_000)}${room}${answer}` },
    'the page scrolls to the end': {
      html: chat(`${talk(700)}${room}${answer}`),
      before: toEnd,
      after: toEnd,
    },
    'the ad is in a column beside it': {
      html: `<div style="display:flex"><div style="width:500px">${talk(700)}${answer}</div><aside>${room}</aside></div>`,
    },
    'the ad lies over the page': {
      html: `<div style="position:fixed;top:0;right:0">${room}</div>${talk(700)}${answer}`,
    },
    'the ad is above what is shown, which stays': {
      html: chat(`${room}${talk(2_000)}${answer}`),
      before: toEnd,
    },
    'nothing is said yet': { html: `<nav>Menu</nav>${room}<footer>Imprint</footer>` },
    'only the form moves': { html: `${answer}${room}<form style="margin-top:440px">Ask</form>` },
    'the end of a long answer was not in view': { html: `${room}<p style="font-size:40px">${'word '.repeat(900)}</p>` },
  }
  test.each(Object.entries(innocent))('is silent where %s', async (_, scene) => {
    expect(await judgeScene(scene)).toEqual({})
  })

  test.each<[string, Scene]>([
    ['above the last message of a page', { html: `${talk(560)}${room}${answer}` }],
    [
      'above the last message of a list that was at its end',
      { html: chat(`${talk(900)}${room}${answer}`), before: toEnd },
    ],
  ])('names an ad %s', async (_, scene) => {
    expect(await judgeScene(scene)).toEqual({
      'message-pushed-away': [
        expect.stringMatching(/^The ad of slot_\w+ pushed the last message out of view: "The answer\."\.$/),
      ],
    })
  })
})

describe.concurrent('ad-density', () => {
  const phone = { viewport: { width: 390, height: 844 } }
  const two = (host: Host) => Promise.all([host.show(banner), host.show(banner, '#other')])
  const pair = '<div id="slot"></div><div id="other"></div>'
  const long = `<main><div style="height:3000px">Talk.</div>${pair}</main>`
  const innocent: Record<string, Scene> = {
    'the window is wide': { html: pair, show: two },
    'one low ad is below a short answer': {
      context: phone,
      place: { format: 'banner', max_width: 320, max_height: 50 },
    },
    'one ad is in a first, short answer': {
      context: phone,
      place: { format: 'banner', max_width: 320, max_height: 100 },
    },
    'two ads are in a long page': { html: long, context: phone, show: two },
    'two ads are in a long list': {
      html: `<div style="height:700px;overflow:auto">${long}</div>`,
      context: phone,
      show: two,
    },
    'the second is not shown': {
      html: '<div id="slot"></div><div hidden><div id="other"></div></div>',
      context: phone,
      show: (host) =>
        Promise.all([host.show({ ...banner, max_width: 320, max_height: 100 }), host.show(banner, '#other')]),
    },
  }
  test.each(Object.entries(innocent))('is silent where %s', async (_, scene) => {
    expect(await judgeScene(scene)).toEqual({})
  })

  test.each<[string, string]>([
    ['a short page', pair],
    ['a list', `<div style="height:700px;overflow:auto"><p>Talk.</p>${pair}</div>`],
  ])('names two ads in %s', async (_, html) => {
    expect(await judgeScene({ html, context: phone, show: two })).toEqual({
      'ad-density': [expect.stringMatching(/^Ads are 5\d\d of \d{3} pixels, \d\d %; up to 30 % is good\.$/)],
    })
  })
})

describe.concurrent('ad-late', () => {
  const finish = (after_ms: number) => async (host: Host) => {
    host.backend_responses.push({ body: JSON.stringify(await host.place(banner)), after: ended(host, after_ms) })
    await startTurn(host, { keepMounted: true, turnId: 'one' })
    await host.page.evaluate(() => window.hostTurn!.finish())
  }
  /** Resolves once time has passed in the page. */
  const ended = async (host: Host, ms: number) => {
    await host.emitted('turn:finished')
    if (ms > 0) await host.pass(ms)
  }
  test.each<[string, Scene]>([
    ['the ad comes first', { after: 'hostTurn.finish()' }],
    ['it comes right after the end', { show: finish(0) }],
    ['it is no ad of a turn', { show: (host) => host.show(banner) }],
    [
      'it comes back with its message',
      { after: `hostTurn.finish(); setTimeout(() => document.body.prepend(${slot}), 1200)` },
    ],
  ])('is silent where %s', async (_, scene) => {
    expect(await judgeScene(scene)).toEqual({})
  })

  test('names an ad that comes three seconds after the end', async () => {
    expect(await judgeScene({ show: finish(3_000) })).toEqual({
      'ad-late': [
        expect.stringMatching(
          /^The ad of slot_\w+ was painted 3\.\d s after its turn had finished; up to 1 s is good\.$/,
        ),
      ],
    })
  })
})

describe('heavy-ad', () => {
  const load = (more: Partial<FrameLoad>): FrameLoad => ({
    slot_id: 'slot_1',
    bytes: 300_000,
    cpu_ms: 900,
    peak_cpu_ms: 900,
    ...more,
  })
  test.each([
    ['is usual', {}],
    ['is of 4 MB', { bytes: 4_000_000 }],
    ['is where nobody measures processors', { cpu_ms: null, peak_cpu_ms: null }],
    ['uses 15 s of 30', { cpu_ms: 15_000, peak_cpu_ms: 15_000 }],
    ['plays for long', { cpu_ms: 59_000, peak_cpu_ms: 9_000 }],
  ])('is silent of an ad that %s', (_, more) => {
    expect(judge({ frame_loads: [load(more)] })).toEqual({})
  })

  test.each([
    [{ bytes: 4_300_000 }, 'The ad of slot_1 loaded 4.3 MB; 4 MB are allowed.'],
    [
      { cpu_ms: 16_000, peak_cpu_ms: 15_500 },
      'The ad of slot_1 used 16.0 s of processor, 15.5 s in 30 s; 60 s and 15 s are allowed.',
    ],
    [
      { cpu_ms: 61_000, peak_cpu_ms: 9_000 },
      'The ad of slot_1 used 61.0 s of processor, 9.0 s in 30 s; 60 s and 15 s are allowed.',
    ],
  ])('names %j', (more, message) => {
    expect(judge({ frame_loads: [load(more)] })).toEqual({ 'heavy-ad': [message] })
  })

  test('repeats what the browser says', () => {
    const said = 'Ad was removed because its CPU usage exceeded the limit.'
    expect(judge({ interventions: [said] })).toEqual({ 'heavy-ad': [`The browser: ${said}`] })
  })
})
