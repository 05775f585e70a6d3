/** In each engine: the layout of native templates, by geometry and by pixels. */
import { PNG } from 'pngjs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Host, openStage, type Stage } from '#tests/browser/stage.ts'
import { closeEngine, engineUnderTest } from './engines.ts'

let stage: Stage
beforeAll(async () => {
  stage = await openStage({}, await (await engineUnderTest()).get())
})
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]()
  await closeEngine()
})

const slots = [
  { template: 'card', width: 360 },
  { template: 'card', width: 600 },
  { template: 'featured', width: 500 },
  { template: 'featured', width: 518 },
  { template: 'minimal', width: 280 },
  { template: 'list_item', width: 400 },
] as const

/** Widths of the picture and of the card around it, CSS pixels. */
const widthsIn = (host: Host, slot: string) =>
  host.page
    .frameLocator(`${slot} iframe`)
    .locator('.surface')
    .first()
    .evaluate((surface) => ({
      card: surface.clientWidth,
      picture: surface.querySelector('.picture')?.getBoundingClientRect().width ?? null,
    }))

test('pictures above the words are as wide as their card, and a call to action is complete', async () => {
  const html = slots.map(({ width }, i) => `<div id="s${i}" style="width:${width}px;margin:8px"></div>`).join('')
  await using host = await stage.open({
    html,
    context: { viewport: { width: 700, height: 2_300 } },
  })
  for (const [index, { template }] of slots.entries()) {
    await host.show({ format: 'native', native_template_id: template }, `#s${index}`)
  }
  await host.waitForEvent('rendered', {}, slots.length)
  for (const [index, { template, width }] of slots.entries()) {
    if (template !== 'card' && template !== 'featured') continue
    const { card, picture } = await widthsIn(host, `#s${index}`)
    expect({ template, width, picture }).toEqual({ template, width, picture: card })
  }

  // Its text ends in an ellipsis when it is cut, and nothing but the pixels shows that: the arrow is missing.
  const cta = host.page.frameLocator('#s4 iframe').locator('.cta').first()
  const box = await cta.evaluate((element) => {
    const { right, top, width, height } = element.getBoundingClientRect()
    return { right, top, width, height, padding: Number.parseFloat(getComputedStyle(element).paddingRight) }
  })
  const picture = PNG.sync.read(Buffer.from(await host.page.locator('#s4 iframe').first().screenshot()))
  const arrow = { from: Math.floor(box.right - box.padding - 11), to: Math.ceil(box.right - box.padding) }
  // The arrow reaches above the baseline, where the dots of an ellipsis are.
  const rows = inkRows(picture, arrow, { from: Math.floor(box.top), to: Math.ceil(box.top + box.height) })
  expect(rows.last - rows.first).toBeGreaterThanOrEqual(4)
})

/** Returns the first and the last line of an area that has ink. */
function inkRows(
  { width, data }: PNG,
  columns: { from: number; to: number },
  lines: { from: number; to: number },
): { first: number; last: number } {
  const found: number[] = []
  for (let y = lines.from; y < lines.to; y++) {
    for (let x = columns.from; x < columns.to; x++) if (data[(y * width + x) * 4]! < 128) found.push(y)
  }
  return { first: Math.min(...found), last: Math.max(...found) }
}

test('the controls of the demo stand beside their names, and its header has its height', async () => {
  const context = await stage.browser.newContext({ viewport: { width: 1_280, height: 800 } })
  const page = await context.newPage()
  await page.goto(`${stage.sandbox.url}/_sandbox/demo`)
  await page.waitForFunction(() => document.querySelectorAll('.choice').length > 0)
  const rows = await page.evaluate(() =>
    [...document.querySelectorAll('.choice')].map((choice) => {
      const [legend, segments] = [...choice.children].map((child) => child.getBoundingClientRect())
      return { beside: legend!.right <= segments!.left && legend!.top < segments!.bottom, width: segments!.width > 200 }
    }),
  )
  expect(new Set(rows.map((row) => JSON.stringify(row)))).toEqual(new Set(['{"beside":true,"width":true}']))
  const header = await page.evaluate(() => {
    const bar = document.querySelector('.window-bar')!
    return bar.getBoundingClientRect().height >= bar.scrollHeight
  })
  expect(header).toBe(true)
  await context.close()
})

/** Returns the colour scheme that a card follows, and that of its label, in a page with this head. */
async function schemesIn(head: string): Promise<{ card: string; label: string }> {
  await using host = await stage.open({
    html: `${head}<div id="slot" style="width:360px"></div>`,
    // As the browser itself says it.
    context: { colorScheme: null },
  })
  await host.show({ format: 'native', native_template_id: 'minimal' })
  await host.waitForEvent('rendered')
  const surface = host.page.frameLocator('#slot iframe').locator('.surface').first()
  const luminance = (rgb: string) => (rgb.match(/\d+/g) ?? []).slice(0, 3).reduce((sum, each) => sum + Number(each), 0)
  const ink = await surface.evaluate((element) => getComputedStyle(element).color)
  const label = await host.page.locator('#slot [data-sp-label]').evaluate((element) => getComputedStyle(element).color)
  const readScheme = (color: string) => (luminance(color) > 382 ? 'dark' : 'light')
  return { card: readScheme(ink), label: readScheme(label) }
}

test.each([
  ['declares dark by a style', '<style>:root{color-scheme:dark}</style>', 'dark'],
  ['declares light by a style', '<style>:root{color-scheme:light}</style>', 'light'],
  ['declares dark by its meta element', '<meta name="color-scheme" content="dark">', 'dark'],
  ['declares light by its meta element', '<meta name="color-scheme" content="light">', 'light'],
])('card and label follow a page that %s', async (_, head, scheme) => {
  expect(await schemesIn(head)).toEqual({ card: scheme, label: scheme })
})
