/** What a user sees and reaches inside the hosted frame of the emulator. */
import type { Frame, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { nativeHeight } from '#contract/facts/native-size.ts'
import { type NativeTemplateId, nativeTemplates } from '#contract/fields.ts'
import { violations } from '#tests/browser/axe.ts'
import { about } from '#tests/browser/catalogue.ts'
import { framesCatalogue, type Topic, texts } from '#tests/browser/frames-catalogue.ts'
import { type Host, openStage, type PlaceOptions, type Stage } from '#tests/browser/stage.ts'
import { startTurn, until } from '#tests/browser/turns.ts'

vi.setConfig({ maxConcurrency: 4 })

let stage: Stage
beforeAll(async () => {
  stage = await openStage({ demand: framesCatalogue(), rate_limit: 'off' })
})
afterAll(() => stage?.[Symbol.asyncDispose]())

const topics = Object.keys(texts) as Topic[]
const schemes = ['light', 'dark'] as const
const viewport = { width: 800, height: 2_400 }

interface Slot {
  /** Its element's id. */
  id: string
  width: number
  request: PlaceOptions
}

const nativeSlot = (native_template_id: NativeTemplateId, topic: Topic, width: number, max_height = 600): Slot => ({
  id: `slot-${topic}-${width}-${max_height}`,
  width,
  request: about(topic, { format: 'native', native_template_id, max_width: 4_096, max_height }),
})

/** Opens a host page with these slots, each filled by a turn of its own, which knows how high it may be, and rendered. */
async function openSlots(slots: readonly Slot[], options: Parameters<Stage['open']>[0] = {}): Promise<Host> {
  const html = slots
    .map(({ id, width }) => `<div id="${id}" style="width:${width}px;margin-bottom:8px"></div>`)
    .join('')
  const host = await stage.open({ html, ...options, context: { viewport, ...options.context } })
  for (const { id, request } of slots) await startTurn(host, { target: `#${id}`, keepMounted: true, place: request })
  await host.waitForEvent('rendered', {}, slots.length)
  return host
}

async function frameIn(page: Page, target: string): Promise<Frame> {
  const element = await page.locator(`${target} iframe`).elementHandle()
  return (await element!.contentFrame())!
}

/** Returns the parts of a native card that overflow its frame. A text may end in an ellipsis, but must not be cut. */
function overflows(frame: Frame): Promise<string[]> {
  return frame.evaluate(() => {
    const found: string[] = []
    const root = document.documentElement
    if (root.scrollWidth > innerWidth) found.push(`page is ${root.scrollWidth} wide in ${innerWidth}`)
    for (const element of document.querySelectorAll<HTMLElement>(
      '.surface, .words, .title, .description, .cta, .sponsor bdi',
    )) {
      const { top, left, right, bottom, height } = element.getBoundingClientRect()
      const name = `${element.className || 'sponsor'} at ${Math.round(left)},${Math.round(top)},${Math.round(right)},${Math.round(bottom)}`
      if (height === 0) continue
      if (top < -1 || left < -1 || right > innerWidth + 1 || bottom > innerHeight + 1) found.push(`${name} is outside`)
      const style = getComputedStyle(element)
      const ends = style.textOverflow === 'ellipsis' || style.webkitLineClamp !== 'none'
      const isCut = element.scrollWidth > element.clientWidth + 2 || element.scrollHeight > element.clientHeight + 2
      if (isCut && !ends && style.overflow !== 'visible') found.push(`${name} is cut`)
    }
    return found
  })
}

/** Waits until a card fits its slot. */
async function waitUntilFitted(frame: Frame): Promise<void> {
  await until(() => overflows(frame), [])
}

/** Returns how many colours a part of the page has. */
async function coloursIn(page: Page, clip: { x: number; y: number; width: number; height: number }): Promise<number> {
  const picture = await page.screenshot({ clip, caret: 'initial' })
  return page.evaluate(async (base64) => {
    const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${base64}`)).blob())
    const context = new OffscreenCanvas(image.width, image.height).getContext('2d')!
    context.drawImage(image, 0, 0)
    return new Set(new Uint32Array(context.getImageData(0, 0, image.width, image.height).data.buffer)).size
  }, picture.toString('base64'))
}

const transparent = 'rgba(0, 0, 0, 0)'

/** Returns the direction of a card, and the background colours of the card and of its page. */
function painted(frame: Frame) {
  return frame.evaluate(() => {
    const { direction, backgroundColor } = getComputedStyle(document.querySelector('.surface')!)
    return { direction, paper: backgroundColor, page: getComputedStyle(document.documentElement).backgroundColor }
  })
}

describe.concurrent('native templates', () => {
  for (const template of nativeTemplates) {
    test(`${template} is legible and reachable with any text, light and dark`, async () => {
      const slots = topics.map((topic) => nativeSlot(template, topic, 320))
      await using host = await openSlots(slots, { context: { reducedMotion: 'reduce', viewport } })
      const dialogs: string[] = []
      host.page.on('dialog', (dialog) => dialogs.push(dialog.message()))
      for (const [index, topic] of topics.entries()) {
        const frame = await frameIn(host.page, `#${slots[index]!.id}`)
        await waitUntilFitted(frame)
        const { title, description, cta_text, sponsor_name } = texts[topic]
        const read = (selector: string) => frame.locator(selector).allTextContents()
        expect(await read('.title')).toEqual([title])
        expect(await read('.description')).toEqual(description ? [description] : [])
        expect(await read('.cta')).toEqual([cta_text])
        expect(await read('.sponsor bdi')).toEqual([sponsor_name])
        expect(await frame.locator('.test').count()).toBe(0)
        for (const [colorScheme, paper] of [
          ['light', 'rgb(255, 255, 255)'],
          ['dark', 'rgb(28, 28, 32)'],
        ] as const) {
          await host.page.emulateMedia({ colorScheme })
          await until(() => painted(frame), { direction: topic === 'arabic' ? 'rtl' : 'ltr', paper, page: transparent })
          expect(await violations(frame, colorScheme === 'dark' ? ['color-contrast'] : undefined)).toEqual([])
        }
      }
      expect(dialogs).toEqual([])
      expect(host.console_lines).toEqual([])
    })

    test(`${template} keeps its title and its call to action in any slot, and in any size of text`, async () => {
      const sizes = [
        [120, 50],
        [320, 50],
        [320, 90],
        [320, 140],
        [300, 250],
        [640, 120],
        [728, 90],
        [728, 600],
      ] as const
      const slots = sizes.map(([width, height]) => nativeSlot(template, 'long', width, height))
      await using host = await openSlots(slots)
      for (const [index, [width, max_height]] of sizes.entries()) {
        const frame = await frameIn(host.page, `#${slots[index]!.id}`)
        await waitUntilFitted(frame)
        const shown = await frame.evaluate(() => ({
          width: innerWidth,
          height: innerHeight,
          parts: ['.title', '.cta'].map((part) => document.querySelector(part)!.getBoundingClientRect().height > 10),
        }))
        expect(shown.parts).toEqual([true, true])
        expect(shown.width).toBe(Math.min(width, 600))
        expect(shown.height).toBeLessThanOrEqual(max_height)
        if (max_height < 250) continue
        await frame.evaluate(() => document.documentElement.style.setProperty('font-size', '200%'))
        await waitUntilFitted(frame)
      }
    })
  }

  test('of a text that is cut, nothing of the next line shows', async () => {
    const slots = nativeTemplates.map((template) => ({ ...nativeSlot(template, 'accents', 320), id: template }))
    await using host = await openSlots(slots)
    for (const template of nativeTemplates) {
      const frame = await frameIn(host.page, `#${template}`)
      await waitUntilFitted(frame)
      for (const part of ['.title', '.description']) {
        const { x, y, width, height } = (await frame.locator(part).boundingBox())!
        const gap = { x, y: Math.ceil(y + height) - 3, width, height: 3 }
        expect([template, part, await coloursIn(host.page, gap)]).toEqual([template, part, 1])
      }
    }
  })

  test('descenders are whole, also in a font that is taller than its lines', async () => {
    const slots = nativeTemplates.map((template) => ({ ...nativeSlot(template, 'usual', 320), id: template }))
    await using host = await openSlots(slots)
    for (const template of nativeTemplates) {
      const frame = await frameIn(host.page, `#${template}`)
      // The metrics of Noto Sans, and in its ascent those of Segoe UI.
      await frame.evaluate(async () => {
        const metrics = { ascentOverride: '107%', descentOverride: '29%', lineGapOverride: '0%' }
        const font = await new FontFace('Tall', "local('DejaVu Sans')", metrics).load()
        document.fonts.add(font)
        document.body.style.fontFamily = 'Tall'
      })
      for (const part of ['.title', '.description']) {
        const box = frame.locator(part)
        await box.evaluate((element) => {
          element.textContent = 'gjpqy'
        })
        const { x, y, width, height } = (await box.boundingBox())!
        const clip = { x, y, width, height: height + 3 }
        const shown = await host.page.screenshot({ clip })
        await box.evaluate((element) => {
          element.style.overflow = 'visible'
          element.style.clipPath = 'none'
          element.style.webkitLineClamp = 'none'
        })
        const whole = await host.page.screenshot({ clip })
        expect([template, part, shown.equals(whole)]).toEqual([template, part, true])
      }
    }
  })

  test.for(schemes)(
    'with more contrast every text is as dark as the title, and edges are too (%s)',
    async (colorScheme) => {
      const slots = [nativeSlot('list_item', 'usual', 320)]
      await using host = await openSlots(slots, { context: { contrast: 'more', colorScheme, viewport } })
      const frame = await frameIn(host.page, `#${slots[0]!.id}`)
      const colours = await frame.evaluate(() => {
        const of = (selector: string) => getComputedStyle(document.querySelector(selector)!)
        const edges = [of('.surface').borderTopColor, of('.cta').borderTopColor]
        return { title: of('.title').color, others: [of('.sponsor').color, of('.description').color, ...edges] }
      })
      expect(new Set(colours.others)).toEqual(new Set([colours.title]))
    },
  )

  test('a card leaves no hole where its icon does not load, and none where its words are few', async () => {
    const slots = [nativeSlot('list_item', 'usual', 320)]
    const before = (page: Page) => page.context().route('**/icon.webp', (route) => route.abort())
    await using host = await openSlots(slots, { before })
    const frame = await frameIn(host.page, `#${slots[0]!.id}`)
    await until(() => frame.locator('.icon').count(), 0)
    const offset = await frame.evaluate(() => {
      const [name, title] = ['.sponsor bdi', '.title'].map(
        (part) => document.querySelector(part)!.getBoundingClientRect().left,
      )
      return name! - title!
    })
    expect(offset).toBe(0)
  })

  test('with forced colours the call to action still looks like a button', async () => {
    const slots = [nativeSlot('card', 'usual', 320)]
    await using host = await openSlots(slots, { context: { forcedColors: 'active', viewport } })
    const frame = await frameIn(host.page, `#${slots[0]!.id}`)
    const border = await frame.locator('.cta').evaluate((element) => getComputedStyle(element).borderTopColor)
    expect(border).not.toBe(transparent)
  })
})

/** What a frame is: its size on the page and inside, and whether parts of its card are hidden or cut. */
async function measureCard(frame: Frame) {
  const box = (await (await frame.frameElement()).boundingBox())!
  const inside = await frame.evaluate(() => ({
    card: document.querySelector('.surface')!.getBoundingClientRect().height,
    hidden: document.documentElement.className,
  }))
  return { width: box.width, height: box.height, ...inside, cut: await overflows(frame) }
}

describe.concurrent('a native card has the declared size', () => {
  const widths = [null, 120, 279, 320, 375, 480, 519, 520, 600, 970]
  const names = { short: 'Ad', usual: 'Sponsored', long: `${'Sponsored link of a partner '.repeat(6)}` }

  for (const template of nativeTemplates) {
    test(`${template}, at every width, with short and long texts below any label`, async () => {
      const asked = widths.flatMap((max_width, index) =>
        (['bare', 'long'] as const).map((topic) => ({ max_width, topic, id: `slot-${index}-${topic}` })),
      )
      const html = asked.map(({ id, max_width }) => `<div id="${id}" style="width:${max_width ?? 700}px"></div>`)
      await using host = await stage.open({
        html: html.join(''),
        context: { viewport: { width: 4_200, height: 9_000 } },
      })
      const declared: { id: string; width: number; height: number }[] = []
      for (const [index, { id, max_width, topic }] of asked.entries()) {
        const slot_hint = max_width === null ? {} : { slot_hint: { max_width } }
        const about_topic = about(topic, { format: 'native', native_template_id: template })
        const response = await host.place({ ...about_topic, more: { ...about_topic.more, ...slot_hint } })
        const { render } = response.placement!
        render.label_text = Object.values(names)[index % 3]!
        await host.mount(response, `#${id}`)
        declared.push({ id, width: render.width, height: render.height })
        expect(render.aspect_ratio).toBe(`${render.width}/${render.height}`)
        expect(response.decision).toMatchObject({ dimensions: { width: render.width, height: render.height } })
      }
      await host.waitForEvent('rendered', {}, asked.length)
      await host.pass(500)
      for (const { id, width, height } of declared) {
        const measured = await measureCard(await frameIn(host.page, `#${id}`))
        expect([id, measured]).toEqual([id, { width, height, card: height, hidden: '', cut: [] }])
      }
    })

    test(`${template}, and in a narrower place the size that this width has, before it is rendered`, async () => {
      const places = [120, 300, 480, 560]
      const html = places.map((width) => `<div id="slot-${width}" style="width:${width}px"></div>`).join('')
      await using host = await stage.open({ html, context: { viewport } })
      await host.page.evaluate(() => {
        const heights: number[][] = []
        Object.assign(window, { heights })
        window.SponsoredPlacement!.on('rendered', () =>
          heights.push(window.findAll('iframe').map(({ offsetHeight }) => offsetHeight)),
        )
      })
      for (const width of places) {
        await host.show(about('long', { format: 'native', native_template_id: template }), `#slot-${width}`)
      }
      await host.waitForEvent('rendered', {}, places.length)
      await host.pass(500)
      for (const width of places) {
        const measured = await measureCard(await frameIn(host.page, `#slot-${width}`))
        const height = nativeHeight(template, width)
        expect([width, measured]).toEqual([width, { width, height, card: height, hidden: '', cut: [] }])
      }
      const heights = await host.page.evaluate(() => (window as unknown as { heights: number[][] }).heights.at(-1))
      expect(heights).toEqual(places.map((width) => nativeHeight(template, width)))
    })
  }

  test('of a slot that is lower than its template', async () => {
    await using host = await stage.open({ html: '<div id="slot"></div>', context: { viewport } })
    const response = await host.place(about('usual', { format: 'native', max_height: 200, max_width: 600 }))
    await host.mount(response)
    await host.waitForEvent('rendered')
    const measured = await measureCard(await frameIn(host.page, '#slot'))
    expect(measured).toEqual({ width: 600, height: 200, card: 200, hidden: expect.stringMatching(/^short/), cut: [] })
  })
})

describe.concurrent('banners', () => {
  test.for(schemes)(
    'keep their proportions in a narrow page, and test substitutes say so (%s)',
    async (colorScheme) => {
      const sizes = [
        [970, 250],
        [728, 90],
        [320, 50],
      ] as const
      const slots = sizes.map(([max_width, max_height]): Slot => {
        return { id: `slot-${max_width}`, width: 320, request: { format: 'banner', max_width, max_height } }
      })
      await using host = await openSlots(slots, { context: { colorScheme, viewport } })
      for (const [index, [width, height]] of sizes.entries()) {
        const frame = await frameIn(host.page, `#${slots[index]!.id}`)
        const box = await frame.locator('.image').boundingBox()
        expect(box!.width / box!.height).toBeCloseTo(width / height, 0)
        expect(await frame.getByText('TEST', { exact: true }).isVisible()).toBe(true)
        expect(await frame.getByRole('link', { name: 'Notewick' }).count()).toBe(1)
        expect(await violations(frame)).toEqual([])
      }
      expect(host.console_lines).toEqual([])
    },
  )
})

describe.concurrent('opened at top level', () => {
  test.for(schemes)('a frame is a labelled preview (%s)', async (colorScheme) => {
    await using host = await stage.open({ context: { colorScheme, viewport } })
    const { placement } = await host.place(about('usual', { format: 'native', native_template_id: 'featured' }))
    await host.page.goto(placement!.render.frame_url)
    expect(await host.page.title()).toBe('Sponsored: Larkfield Coffee')
    expect(await host.page.locator('.preview').textContent()).toContain('nothing is counted')
    expect(await host.page.getByRole('main').getByRole('link').count()).toBe(1)
    expect(await violations(host.page)).toEqual([])
  })

  test.for(['banner', 'clip', 'native'] as const)('a %s is labelled without JavaScript too', async (format) => {
    await using host = await stage.open()
    const { placement } = await host.place(about('usual', { format, max_width: 320, max_height: 250 }))
    const context = await stage.browser.newContext({ javaScriptEnabled: false })
    const page = await context.newPage()
    await page.goto(placement!.render.frame_url)
    expect(await page.locator('.preview:visible').innerText()).toMatch(/^Sponsored .+\nPreview: JavaScript is off/)
    await context.close()
  })

  test.for(schemes)('a frame that may not be shown explains why (%s)', async (colorScheme) => {
    await using host = await stage.open({ context: { colorScheme, viewport } })
    await host.page.goto(`${stage.sandbox.url}/v1/render/ast_unknown`)
    expect(await host.page.getByRole('main').locator('code').textContent()).toMatch(/^asset_token_/)
    expect(await violations(host.page)).toEqual([])
  })
})

describe('the colour scheme', () => {
  /** Returns the colour scheme that the frame uses, by the browser's own setting. */
  async function schemeIn(head: string): Promise<string> {
    const html = `${head}<div id="slot"></div>`
    await using host = await stage.open({ html, context: { colorScheme: null } })
    await host.show(about('usual', { format: 'native', native_template_id: 'minimal' }))
    await host.waitForEvent('rendered')
    const frame = await frameIn(host.page, '#slot')
    return await frame.evaluate(() => (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'))
  }
  test.each([
    ['a page that says dark gets a dark card', '<style>:root{color-scheme:dark}</style>', 'dark'],
    ['a page that says light gets a light card', '<style>:root{color-scheme:light}</style>', 'light'],
    ['a dark part of a light page gets a dark card', '<style>#slot{color-scheme:dark}</style>', 'dark'],
    ['a page that says nothing gets what the system prefers', '', 'light'],
  ])('%s', async (_, head, scheme) => {
    expect(await schemeIn(head)).toBe(scheme)
  })
})
