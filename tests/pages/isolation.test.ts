/**
 * The boundary between the host page and the frame: policies of either side, missing creatives, small pages, texts of
 * every kind, and hostile frames. None of it may break the host page, or count what was not seen.
 *
 * Over 300 lines because every boundary of a frame is tested here.
 */
import { createHash } from 'node:crypto'
import type { Frame } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { formats, nativeTemplates } from '#contract/fields.ts'
import { about, buildCatalogue, type Texts } from '#tests/browser/catalogue.ts'
import { frameDocuments, honestly, replaceFrames } from '#tests/browser/hostile-frame.ts'
import { type Host, type OpenOptions, openStage, type PlaceOptions, type Stage } from '#tests/browser/stage.ts'
import { beaconPosts, expectNothing, frameLoads, startTurn, turnState, until, view } from '#tests/browser/turns.ts'

vi.setConfig({ maxConcurrency: 8 })

const texts = {
  long: {
    sponsor_name: 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft'.repeat(3),
    title: `Everything ${'and more '.repeat(25)}${'W'.repeat(20)}`,
    description: `${'https://sponsor.example/a/very/long/address/without/a/space/'.repeat(10)} ${'word '.repeat(200)}`,
    cta_text: 'Subscribe-now-and-never-think-of-it-again-'.repeat(6),
  },
  rtl: {
    sponsor_name: 'مكتبة الراوية الصوتية',
    title: 'استمع إلى ألف كتاب، أينما كنت (2026)',
    description: 'الشهر الأول مجاني. ألغ الاشتراك متى شئت عبر example.com.',
    cta_text: 'ابدأ الآن',
  },
  emoji: {
    sponsor_name: '🫘 Röst & Söhne 👩🏽‍🌾',
    title: '☕️ Kaffee für 👨‍👩‍👧‍👦 und 🏳️‍🌈 — 🇩🇪🇯🇵',
    description: '1️⃣ wählen, 2️⃣ mahlen, 3️⃣ trinken 🤎',
    cta_text: 'Los 🚀',
  },
  script: {
    sponsor_name: '"><script>top.owned = parent.owned = 1</script>',
    title: '<script>window.owned = 1; alert(1)</script><img src=x onerror="window.owned = 1">',
    description: '</span></a><iframe srcdoc="<script>top.owned = 1</script>"></iframe> {{7*7}} &lt;b&gt;',
    cta_text: '<b onclick="alert(1)">Buy</b><!--',
  },
} satisfies Record<string, Texts>

let stage: Stage
let printed: Stage

beforeAll(async () => {
  stage = await openStage({}, undefined, 'flows')
  printed = await openStage({ demand: buildCatalogue(texts) }, undefined, 'flows')
})
afterAll(async () => {
  await printed?.[Symbol.asyncDispose]()
  await stage?.[Symbol.asyncDispose]()
})

declare global {
  interface Window {
    /** Requests that the policies of the page have blocked. */
    violations?: string[]
    owned?: unknown
  }
}

/** Opens a page that records what its policies block, for `violations`. */
function openWatched(on: Stage, options: OpenOptions): Promise<Host> {
  return on.open({
    ...options,
    before: (page) =>
      page.addInitScript(() => {
        window.violations = []
        addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI }) => {
          window.violations?.push(`${effectiveDirective} ${new URL(blockedURI, location.href).origin}`)
        })
      }),
  })
}

const violations = ({ page }: Host): Promise<string[]> => page.evaluate(() => window.violations ?? [])

/** The document inside the frame of a slot. */
async function findFrame({ page }: Host, target = '#slot'): Promise<Frame> {
  const frame = await (await page.locator(`${target} iframe`).elementHandle())?.contentFrame()
  if (!frame) throw new Error(`there is no frame in ${target}`)
  return frame
}

describe.concurrent('a creative that is missing', () => {
  test.concurrent.each([
    ['banner', '**/v1/test-assets/banner**'],
    ['clip', '**/v1/test-assets/clip**'],
    ['native', '**/assets/creatives/*/native.webp'],
  ] as const)('of a %s: an error, no beacon, and nothing shows', async (format, missing) => {
    await using host = await stage.open()
    await host.context.route(missing, (route) => route.fulfill({ status: 404, body: 'not found' }))
    await startTurn(host, { place: { format, max_width: 320 } })
    const { slot_id } = await host.waitForEvent('error', { code: 'creative_failed' })
    expect(await host.waitForEvent('cleared')).toMatchObject({ reason: 'creative_failed' })
    expect(await turnState(host)).toBe('failed')
    await expectNothing(host)
    const detail = await stage.client.placements.explain({ params: { slot_id: slot_id! } })
    expect(detail).toMatchObject({ first_frame_at_ms: expect.any(Number), billing: { would_bill: false } })
  })

  test.concurrent('is no problem if it is only the icon: the card shows without it', async () => {
    await using host = await stage.open()
    await host.context.route('**/assets/creatives/*/icon.webp', (route) => route.fulfill({ status: 404 }))
    await startTurn(host, { place: { format: 'native', native_template_id: 'list_item' } })
    await host.waitForEvent('beacon', { event: 'visible', accepted: true })
    const frame = await findFrame(host)
    expect(await frame.locator('.icon').count()).toBe(0)
    expect(await frame.locator('.title').isVisible()).toBe(true)
    expect(await host.ledger()).toEqual(['render accepted OK', 'visible accepted OK +viewable_impression'])
  })

  test.concurrent('is no problem if it is only the poster: the clip plays', async () => {
    await using host = await stage.open()
    await host.context.route('**/v1/test-assets/clip**poster**', (route) => route.fulfill({ status: 404 }))
    await startTurn(host, { place: { format: 'clip', max_width: 320 } })
    await host.waitForEvent('beacon', { event: 'play_started', accepted: true })
    expect(await host.types()).not.toContain('error')
  })
})

describe.concurrent('a policy of the host page', () => {
  const ownStyle = `'sha256-${createHash('sha256').update('body{margin:8px}').digest('base64')}'`
  /** Returns the minimal policy of an integrator, optionally without one directive. */
  function policy(without = ''): Record<string, string> {
    const { url } = stage.sandbox
    const directives: Record<string, string> = {
      'default-src': "'none'",
      'script-src': `'nonce-x' ${url}`,
      'style-src': `'self' ${ownStyle}`,
      'connect-src': `'self' ${url}`,
      'frame-src': url,
      // The page's own icon.
      'img-src': 'data:',
    }
    if (without === 'connect-src') directives[without] = "'self'"
    else if (without === 'script-src') directives[without] = "'nonce-x'"
    else if (without !== '') delete directives[without]
    const text = Object.entries(directives).map(([name, sources]) => `${name} ${sources}`)
    return { 'content-security-policy': text.join('; ') }
  }
  const html = '<div id="slot"></div><script nonce="x">window.owned = "by the host"</script>'

  test.concurrent.each(formats)(
    'may be strict: scripts, frame and beacons of one origin are enough for a %s',
    async (format) => {
      await using host = await openWatched(stage, { html, headers: policy() })
      expect(await host.page.evaluate(() => window.owned)).toBe('by the host')
      await startTurn(host, { place: { format, max_width: 320 } })
      await host.waitForEvent('beacon', { event: 'visible', accepted: true })
      expect(await violations(host)).toEqual([])
      expect(host.console_lines).toEqual([])
      const label = await host.page.locator('[data-sp-label]').evaluate((element) => getComputedStyle(element).display)
      expect(label).toBe('block')
    },
  )

  test.concurrent('without connect-src shows the ad and loses its beacons, and the page is notified', async () => {
    await using host = await openWatched(stage, { html, headers: policy('connect-src') })
    await startTurn(host, { place: { format: 'banner' } })
    const { slot_id } = await host.waitForEvent('beacon', {
      event: 'render',
      accepted: false,
      reason_code: 'csp_blocked',
    })
    expect((await violations(host))[0]).toBe(`connect-src ${stage.sandbox.url}`)
    expect(await view(host)).toMatchObject({ frames: 1 })
    expect(await host.recorded()).toEqual([])
    const { billing } = await stage.client.placements.explain({ params: { slot_id: slot_id! } })
    expect(billing).toMatchObject({ would_bill: false })
  })

  test.concurrent('without script-src: the page goes on without an ad', async () => {
    await using host = await openWatched(stage, { html, headers: policy('script-src') })
    expect(await violations(host)).toEqual([`script-src-elem ${stage.sandbox.url}`])
    expect(await host.page.evaluate(() => [typeof window.SponsoredPlacement, window.owned])).toEqual([
      'undefined',
      'by the host',
    ])
  })

  test.concurrent.each([
    ['without frame-src', () => policy('frame-src')],
    ['that allows no frame', () => ({ 'content-security-policy': "frame-src 'none'" })],
  ])('%s blocks the frame: an error, no beacon, nothing shows', async (_, headers) => {
    await using host = await openWatched(stage, { html, headers: headers() })
    await startTurn(host, { place: { format: 'banner' } })
    await host.waitForEvent('error', { code: 'csp_blocked', directive: 'frame-src' })
    expect(await violations(host)).toEqual([`frame-src ${stage.sandbox.url}`])
    expect(await turnState(host)).toBe('failed')
    await expectNothing(host)
  })

  test.concurrent('that forbids framing the page itself does not affect its ad', async () => {
    const headers = { 'x-frame-options': 'DENY', 'content-security-policy': "frame-ancestors 'none'" }
    await using host = await stage.open({ headers })
    await startTurn(host, { place: { format: 'banner' } })
    await host.waitForEvent('beacon', { event: 'render', accepted: true })
  })

  const isolated = { 'cross-origin-embedder-policy': 'require-corp', 'cross-origin-opener-policy': 'same-origin' }

  test.concurrent.each(formats)('that isolates it across origins shows a %s with its media', async (format) => {
    await using host = await stage.open({ headers: isolated })
    expect(await host.page.evaluate(() => crossOriginIsolated)).toBe(true)
    await startTurn(host, { place: { format, max_width: 320 } })
    await host.waitForEvent('beacon', { event: 'visible', accepted: true })
    const frame = await findFrame(host)
    const sizes = await frame.evaluate(() => [
      ...[...document.images].map(({ naturalWidth }) => naturalWidth),
      ...[...document.querySelectorAll('video')].map(({ videoWidth }) => videoWidth),
    ])
    expect(sizes.length).toBeGreaterThan(0)
    expect(Math.min(...sizes)).toBeGreaterThan(0)
    expect(host.console_lines).toEqual([])
  })

  test.concurrent('that requires embeds to opt in blocks a frame whose response has lost its headers', async () => {
    await using host = await stage.open({ headers: { 'cross-origin-embedder-policy': 'require-corp' } })
    await host.context.route(frameDocuments, async (route) => {
      const response = await route.fetch()
      const {
        'cross-origin-embedder-policy': coep,
        'cross-origin-resource-policy': corp,
        ...headers
      } = response.headers()
      expect([coep, corp]).toEqual(['require-corp', 'cross-origin'])
      await route.fulfill({ response, headers })
    })
    await startTurn(host, { place: { format: 'banner' } })
    await host.waitForEvent('error', { code: 'render_timeout' })
    await expectNothing(host)
  })
})

describe.concurrent("a policy of the service's", () => {
  test.concurrent('keeps the frame from a page whose origin is not allowed', async () => {
    await using host = await stage.open()
    const strict = stage.sandbox.projects.find(({ client_id }) => client_id === 'proj_strict')!
    const answer = await fetch(`${stage.sandbox.url}/v1/placements`, {
      method: 'POST',
      headers: { authorization: `Bearer ${strict.secret_key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        ...host.body({ format: 'banner', more: { consent: { semantic_targeting: true } } }),
        client_id: strict.client_id,
      }),
    })
    host.backend_responses.push({ body: await answer.text() })
    await startTurn(host)
    await host.waitForEvent('decision', { fill: true })
    await host.waitForEvent('error', { code: 'render_timeout' })
    expect(frameLoads(host)).toHaveLength(1)
    await expectNothing(host)
    expect(host.console_lines.join('\n')).toContain('frame-ancestors')
  })

  test.concurrent('lets the frame neither load nor contact another origin', async () => {
    await using host = await stage.open()
    await startTurn(host, { place: { format: 'banner' }, keepMounted: true })
    await host.waitForEvent('rendered')
    const frame = await findFrame(host)
    const outcomes = await frame.evaluate(async (host_url) => {
      const tried = async (work: () => unknown) => {
        try {
          await work()
          return 'allowed'
        } catch (problem) {
          return (problem as Error).name
        }
      }
      const loads = (element: HTMLImageElement | HTMLScriptElement) =>
        new Promise((resolve, reject) => {
          element.onload = resolve
          element.onerror = () => reject(new TypeError())
          element.src = `${host_url}/page/none`
          document.body.append(element)
        })
      return {
        origin: self.origin,
        fetch: await tried(() => fetch(host_url)),
        image: await tried(() => loads(new Image())),
        script: await tried(() => loads(document.createElement('script'))),
        storage: await tried(() => localStorage.length),
        cookie: await tried(() => document.cookie),
        parent: await tried(() => parent.document.title),
        top: await tried(() => {
          top!.location.href = 'https://elsewhere.example/'
        }),
      }
    }, stage.host_url)
    expect(outcomes).toEqual({
      origin: 'null',
      fetch: 'TypeError',
      image: 'TypeError',
      script: 'TypeError',
      storage: 'SecurityError',
      cookie: 'SecurityError',
      parent: 'SecurityError',
      top: 'SecurityError',
    })
    expect(host.page.url()).toContain(stage.host_url)
  })
})

/** Returns a narrow page with `count` slots. */
const narrow = (slots: number): OpenOptions => ({
  context: { viewport: { width: 320, height: 640 } },
  html: Array.from({ length: slots }, (_, index) => `<div id="slot-${index}"></div>`).join(''),
})

/** Mounts one placement in each slot, and waits until all are rendered. */
async function mountAll(host: Host, placements: readonly PlaceOptions[]): Promise<void> {
  for (const [index, options] of placements.entries()) await host.show(options, `#slot-${index}`)
  await host.waitForEvent('rendered', {}, placements.length)
}

/** Expects that nothing is wider than 320 px, every label is readable, and every call to action is inside its frame. */
async function expectFitting({ page }: Host, count: number): Promise<void> {
  const boxes = await page.evaluate(() => ({
    page: document.documentElement.scrollWidth,
    right: [...window.findAll('[data-sp-placement], [data-sp-label], [data-sp-label] *, iframe')].map((element) =>
      Math.ceil(element.getBoundingClientRect().right),
    ),
    labels: window.findAll('[data-sp-label]').map((label) => {
      const { width, height } = label.getBoundingClientRect()
      return width > 60 && height >= 18
    }),
  }))
  expect(boxes.page).toBe(320)
  expect(Math.max(...boxes.right)).toBeLessThanOrEqual(312)
  expect(boxes.labels).toEqual(Array(count).fill(true))
  for (const label of await page.locator('[data-sp-label]').all()) expect(await label.isVisible()).toBe(true)
  for (const frame of page.frames().slice(1)) {
    const inside = (): Promise<object> =>
      frame.evaluate(() => ({
        overflow: document.documentElement.scrollWidth - innerWidth,
        hidden: [...document.querySelectorAll('.title, .cta, .image')].filter((element) => {
          const { left, right, bottom, width, height } = element.getBoundingClientRect()
          return width === 0 || height === 0 || left < 0 || right > innerWidth + 0.5 || bottom > innerHeight + 0.5
        }).length,
      }))
    await until(inside, { overflow: 0, hidden: 0 })
  }
}

describe.concurrent('a page of 320 px', () => {
  test.concurrent('holds every format and template', async () => {
    const placements: PlaceOptions[] = [
      { format: 'banner', max_width: 320, max_height: 50 },
      { format: 'banner', max_width: 728, max_height: 90 },
      { format: 'banner', max_width: 970 },
      { format: 'clip' },
      ...nativeTemplates.map((native_template_id) => ({ format: 'native', native_template_id }) as const),
    ]
    await using host = await stage.open(narrow(placements.length))
    await mountAll(host, placements)
    await expectFitting(host, placements.length)
    expect(host.console_lines).toEqual([])
  })

  const places: PlaceOptions[] = [
    { format: 'banner' },
    ...nativeTemplates.map((native_template_id) => ({ format: 'native', native_template_id }) as const),
  ]

  test.concurrent.each(Object.keys(texts) as (keyof typeof texts)[])(
    'holds %s text in every template, and shows it as text',
    async (topic) => {
      await using host = await printed.open(narrow(places.length))
      const dialogs: string[] = []
      host.page.on('dialog', (dialog) => {
        dialogs.push(dialog.message())
        void dialog.dismiss()
      })
      await mountAll(
        host,
        places.map((options) => about(topic, options)),
      )
      await expectFitting(host, places.length)
      const { sponsor_name, title, description, cta_text } = texts[topic]
      const labels = host.page.locator('[data-sp-label]')
      expect(await labels.allTextContents()).toEqual(places.map(() => `Sponsored · ${sponsor_name}`))
      expect(await labels.evaluateAll((all) => all.map((label) => getComputedStyle(label).direction))).toEqual(
        places.map(() => 'ltr'),
      )
      const titles = await host.page
        .locator('iframe')
        .evaluateAll((all) => all.map((frame) => frame.getAttribute('title')))
      expect(titles).toEqual(places.map(() => `Sponsored: ${sponsor_name}`))
      expect(await (await findFrame(host, '#slot-0')).locator('.image').getAttribute('alt')).toBe(sponsor_name)
      for (const index of nativeTemplates.keys()) {
        const shown = await (await findFrame(host, `#slot-${index + 1}`)).evaluate(() => ({
          texts: ['.sponsor bdi', '.title', '.description', '.cta'].map(
            (part) => document.querySelector(part)?.textContent,
          ),
          direction: getComputedStyle(document.querySelector('.title')!).direction,
          foreign: document.querySelectorAll('main script, main iframe, main b, [onclick], [onerror]').length,
          owned: window.owned,
        }))
        expect(shown).toEqual({
          texts: [sponsor_name, title, description, cta_text],
          direction: topic === 'rtl' ? 'rtl' : 'ltr',
          foreign: 0,
          owned: undefined,
        })
      }
      expect(await host.page.evaluate(() => window.owned)).toBeUndefined()
      expect(await labels.locator('script, img, iframe').count()).toBe(0)
      expect(dialogs).toEqual([])
      expect(host.console_lines).toEqual([])
    },
  )

  test.concurrent('holds a label that reads from right to left', async () => {
    await using host = await printed.open(narrow(1))
    const response = await host.place(about('rtl', { format: 'banner' }))
    const render = { ...response.placement!.render, label_text: 'إعلان' }
    await host.mount({ ...response, placement: { ...response.placement, render } }, '#slot-0')
    await host.waitForEvent('rendered')
    const label = host.page.locator('[data-sp-label]')
    expect(await label.textContent()).toBe(`إعلان · ${texts.rtl.sponsor_name}`)
    expect(await label.evaluate((element) => getComputedStyle(element).direction)).toBe('rtl')
    await expectFitting(host, 1)
  })
})

describe.concurrent('a hostile frame', () => {
  const banner = { place: { format: 'banner' }, keepMounted: true } as const
  async function openWith(script: string, options: OpenOptions = {}): Promise<Host> {
    const host = await stage.open(options)
    await replaceFrames(host.context, script)
    return host
  }

  test.concurrent('is counted when it behaves: the stand-in uses the protocol', async () => {
    await using host = await openWith(honestly)
    await startTurn(host, banner)
    await host.waitForEvent('beacon', { event: 'visible', accepted: true })
    expect(await host.ledger()).toEqual(['render accepted OK', 'visible accepted OK +viewable_impression'])
  })

  test.concurrent('sends an unknown message: it is ignored', async () => {
    await using host = await openWith(`
      for (const message of [
        null, 7, 'rendered', [], {}, { t: 'constructor' }, { t: '__proto__' }, { t: ['rendered'] }, { t: 'Rendered' },
        { t: 'ready', ...settings, media_type: 'video', nonce: 'of another mount' }, { t: 'click' }, { t: 'click', user_activated: 'yes' },
        { t: 'resize', height: '90000' }, { t: 'media', state: 'on fire', position_ms: 0, duration_ms: 0, muted: true },
        { t: 'error', code: 'x'.repeat(300) }, { t: 'error' },
      ]) say(message)
      ${honestly}`)
    await startTurn(host, banner)
    await host.waitForEvent('beacon', { event: 'visible', accepted: true })
    expect((await host.types()).filter((type) => type !== 'beacon')).toEqual([
      'turn:started',
      'decision',
      'rendered',
      'visible',
    ])
    expect(host.console_lines).toEqual([])
  })

  test.concurrent('repeats its messages: what counts once is reported once', async () => {
    await using host = await openWith(`
      ${honestly}
      for (let n = 0; n < 4; n += 1) {
        say({ t: 'rendered' })
        say({ t: 'click', user_activated: true })
        say({ t: 'media', state: 'playing', position_ms: 0, duration_ms: 1000, muted: true })
        say({ t: 'resize', height: 90000 })
      }`)
    await startTurn(host, banner)
    await host.waitForEvent('beacon', { event: 'visible', accepted: true })
    await host.waitForEvent('beacon', { event: 'click', accepted: true })
    expect((await host.ledger()).toSorted()).toEqual([
      'click accepted OK',
      'render accepted OK',
      'visible accepted OK +viewable_impression',
    ])
    const box = await host.page.locator('iframe').boundingBox()
    expect([box?.width, box?.height]).toEqual([300, 250])
    expect(await host.types()).not.toContain('play_started')
  })

  test.concurrent('requests the whole page: a native frame grows to its limit and no further', async () => {
    await using host = await openWith(`${honestly} say({ t: 'resize', height: 90000 })`)
    await startTurn(host, { place: { format: 'native', more: { slot_hint: { max_height: 300 } } }, keepMounted: true })
    await host.waitForEvent('rendered')
    await until(async () => (await host.page.locator('iframe').boundingBox())?.height, 300)
  })

  test.concurrent('floods its port: it goes, and nothing is counted', async () => {
    await using host = await openWith(`for (let n = 0; n < 21; n += 1) say({ t: 'nothing', n })`)
    await startTurn(host, banner)
    await host.waitForEvent('error', { code: 'message_flood' })
    expect(await turnState(host)).toBe('failed')
    await expectNothing(host)
  })

  test.concurrent('floods its port after it was rendered: it goes, and is not viewed', async () => {
    await using host = await openWith(
      `
      ${honestly}
      setInterval(() => say({ t: 'nothing' }), 5)`,
      { html: '<div id="slot" style="margin-top:3000px"></div>' },
    )
    await startTurn(host, banner)
    await host.waitForEvent('error', { code: 'message_flood' })
    await host.waitForEvent('beacon', { event: 'render' })
    expect(await view(host)).toMatchObject({ frames: 0, labels: [], occupied: 0 })
    expect(await host.ledger()).toEqual(['render accepted OK'])
  })

  test.concurrent('loads itself again: it goes, and nothing is counted', async () => {
    await using host = await openWith(`say({ t: 'ready', nonce, ...settings }); location.reload()`)
    await startTurn(host, banner)
    await host.waitForEvent('error', { code: 'frame_reloaded' })
    await expectNothing(host)
  })

  test.concurrent('shows another kind of media than was decided: it goes', async () => {
    await using host = await openWith(
      `say({ t: 'ready', nonce, ...settings, media_type: 'video' }); say({ t: 'rendered' })`,
    )
    await startTurn(host, banner)
    await host.waitForEvent('error', { code: 'media_type_mismatch' })
    await expectNothing(host)
  })

  test.concurrent('brings the token of another placement: its beacons count for neither', async () => {
    await using host = await openWith(`
      say({ t: 'ready', nonce, ...settings, beacon_token: location.hash.slice(1) })
      say({ t: 'rendered' })`)
    const other = await host.place({ format: 'banner' })
    const page = await (await fetch(other.placement!.render.frame_url)).text()
    const [, beacon_token] = /"beacon_token":"(bt_[^"]+)"/.exec(page)!
    const response = await host.place({ format: 'banner' })
    const { placement } = response
    const render = { ...placement!.render, frame_url: `${placement!.render.frame_url}#${beacon_token}` }
    await host.mount({ ...response, placement: { ...placement, render } })
    await host.waitForEvent('beacon', { event: 'render', accepted: false, reason_code: 'asset_token_invalid' })
    for (const { slot_id } of [other, response]) {
      const { beacons, billing } = await stage.client.placements.explain({ params: { slot_id } })
      expect(beacons.filter(({ verdict }) => verdict === 'accepted')).toEqual([])
      expect(billing).toMatchObject({ would_bill: false })
    }
  })

  test.concurrent('talks to the window instead of its port, as others do: nobody listens', async () => {
    const forged = `[{ t: 'ready', nonce: 'guessed', media_type: 'image', width: 300, height: 250, beacon_token: null, server_time_ms: 1 },
      { t: 'rendered' }, { t: 'click', user_activated: true }, { t: 'error', code: 'creative_failed' }]`
    await using host = await openWith(`for (const message of ${forged}) parent.postMessage(message, '*')`, {
      html: `<div id="slot"></div><iframe id="neighbour" srcdoc="<script>
        setInterval(() => { for (const message of ${forged}) parent.postMessage(message, '*') }, 50)</script>"></iframe>`,
    })
    await startTurn(host, banner)
    await host.page.evaluate(() => {
      postMessage({ t: 'rendered' }, '*')
    })
    await host.waitForEvent('error', { code: 'render_timeout' })
    expect((await host.types()).filter((type) => ['rendered', 'click', 'beacon'].includes(type))).toEqual([])
    expect(beaconPosts(host)).toEqual([])
    expect(await host.page.locator('#slot iframe').count()).toBe(0)
    expect(await host.recorded()).toEqual([])
  })

  test.concurrent('reports that it failed: it is removed, and nothing is counted', async () => {
    await using host = await openWith(
      `say({ t: 'ready', nonce, ...settings }); say({ t: 'error', code: 'creative_failed' }); say({ t: 'rendered' })`,
    )
    await startTurn(host, banner)
    await host.waitForEvent('error', { code: 'creative_failed' })
    await expectNothing(host)
  })
})
