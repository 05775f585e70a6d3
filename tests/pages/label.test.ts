/**
 * The ad label on the host page: what a user sees, whatever the page does to it.
 *
 * It is long for its tables: what pages do to labels, and the stylesheets that they have.
 */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { violations } from '#tests/browser/axe.ts'
import { about, buildCatalogue } from '#tests/browser/catalogue.ts'
import { openStage, type PlaceOptions, type Stage } from '#tests/browser/stage.ts'
import { nothing, one_ad, openTurnHost, type TurnHost, viewed } from '#tests/browser/turn-path.ts'
import { wait_ms } from '#tests/patience.ts'
import { readLabel } from './label-pixels.ts'

vi.setConfig({ maxConcurrency: 8 })

const native = { title: 'A title', description: 'What it is about.', cta_text: 'Read on' }
const names = {
  plain: 'Larkfield Coffee',
  rtl: 'قهوة الصباح',
  long: 'The Society of Makers of Uncommonly Long Names and of Everything Else that a Sponsor May Be Called',
  unbroken: `Donau${'dampfschifffahrts'.repeat(5)}gesellschaft`,
}

let stage: Stage
/** A stage whose sponsors have the names above. */
let named: Stage
beforeAll(async () => {
  const texts = Object.entries(names).map(([topic, sponsor_name]) => [topic, { sponsor_name, ...native }])
  stage = await openStage({ rate_limit: 'off' }, undefined, 'flows')
  named = await openStage({ rate_limit: 'off', demand: buildCatalogue(Object.fromEntries(texts)) }, undefined, 'flows')
})
afterAll(async () => {
  await named?.[Symbol.asyncDispose]()
  await stage?.[Symbol.asyncDispose]()
})

const banner: PlaceOptions = { format: 'banner', max_width: 300, max_height: 250 }

/** A page with an ad on it, and the text that its label must have. */
async function showAd(
  style = '',
  more: Parameters<typeof openTurnHost>[1] = {},
): Promise<{ host: TurnHost; text: string }> {
  const host = await openTurnHost(stage, { html: `<style>${style}</style><div id="slot"></div>`, ...more })
  const { placement } = await host.show(banner)
  await host.waitForEvent('rendered')
  return { host, text: `${placement!.render.label_text} · ${placement!.render.sponsor_name}` }
}

/** Expects that the label can be read, and is read out by screen readers. */
async function expectReadable(page: Page, text: string): Promise<void> {
  const label = await readLabel(page)
  expect(label).toMatchObject({ text })
  expect(label!.contrast).toBeGreaterThanOrEqual(4.5)
  expect(label!.height).toBeGreaterThanOrEqual(18)
  expect(await page.locator('[inert] [data-sp-label], [aria-hidden] [data-sp-label]').count()).toBe(0)
  expect(readAloud(await page.locator('body').ariaSnapshot())).toContain(text)
}

/** Returns the text of an accessibility tree, in one line: the label's two parts may be two nodes. */
function readAloud(snapshot: string): string {
  return snapshot
    .split('\n')
    .map((line) => line.replace(/^\s*- (text|strong|generic)?:?\s*/, ''))
    .join(' ')
    .replace(/\s+/g, ' ')
}

describe.concurrent('the label', () => {
  test.for(['banner', 'clip', 'native'] as const)(
    'of a %s names it as sponsored and its sponsor, above the frame',
    async (format) => {
      await using host = await openTurnHost(stage)
      const { placement } = await host.show({ format, max_width: 320, max_height: 300 })
      await host.waitForEvent('rendered')
      const { label_text, sponsor_name } = placement!.render
      await expectReadable(host.page, `${label_text} · ${sponsor_name}`)
      const [label, frame] = await Promise.all([
        host.page.locator('[data-sp-label]').boundingBox(),
        host.page.locator('iframe').boundingBox(),
      ])
      expect(label!.y + label!.height).toBeLessThanOrEqual(frame!.y)
      expect(await host.page.locator('iframe').getAttribute('title')).toBe(`Sponsored: ${sponsor_name}`)
      expect(host.console_lines).toEqual([])
    },
  )

  test.for([
    ['light', 'light', ''],
    ['dark', 'dark', ':root { color-scheme: dark }'],
    ['of either kind, in a dark system', 'dark', ':root { color-scheme: light dark }'],
    ['of either kind, in a light system', 'light', ':root { color-scheme: light dark }'],
    ['dark by its colours alone', 'light', 'body { background: #111; color: #eee }'],
    ['that declares its slot as dark', 'light', '#slot { color-scheme: dark; background: #111 }'],
  ] as const)('can be read on a page that is %s', async ([, colorScheme, style]) => {
    const { host, text } = await showAd(style, {
      html: `<style>${style}</style><div id="slot"></div>`,
      context: { viewport: { width: 800, height: 700 }, colorScheme },
    })
    await using _ = host
    await expectReadable(host.page, text)
  })

  test('can be read in forced colours', async () => {
    const context = { viewport: { width: 800, height: 700 }, forcedColors: 'active' } as const
    const { host, text } = await showAd('', { context })
    await using _ = host
    await expectReadable(host.page, text)
  })

  test('is dark on a dark page, and light on a light one', async () => {
    const grounds: string[] = []
    for (const scheme of ['light', 'dark']) {
      const { host } = await showAd(`:root { color-scheme: ${scheme} }`)
      await using _ = host
      grounds.push(
        await host.page.locator('[data-sp-label]').evaluate((label) => getComputedStyle(label).backgroundColor),
      )
    }
    expect(grounds).toEqual(['rgb(241, 241, 244)', 'rgb(47, 47, 53)'])
  })
})

/** What a page does to a label or its wrapper. */
const attacks: Readonly<Record<string, (label: HTMLElement, wrapper: ShadowRoot) => void>> = {
  removes: (label) => label.remove(),
  empties: (label) => label.replaceChildren(),
  rewrites: (label) => label.replaceChildren('Recommended for you'),
  'rewrites in part': (label) => label.lastChild!.replaceWith(' · us'),
  'moves elsewhere': (label) => document.body.append(label),
  'moves below the frame': (label, wrapper) => wrapper.append(label),
  'puts something before': (_, wrapper) => wrapper.prepend(document.createElement('hr')),
  'hides by style': (label) => label.style.setProperty('display', 'none', 'important'),
  'fades by style': (label) => label.style.setProperty('opacity', '0', 'important'),
  'strips of its style': (label) => label.removeAttribute('style'),
  'hides by a class': (label) => label.classList.add('gone'),
  'hides by the attribute hidden': (label) => label.toggleAttribute('hidden'),
  'hides from assistive technology': (label) => label.setAttribute('aria-hidden', 'true'),
  'names otherwise': (label) => label.setAttribute('aria-label', 'News'),
  'makes inert': (label) => label.toggleAttribute('inert'),
  'gives another role': (label) => label.setAttribute('role', 'presentation'),
  'hides with its parent from assistive technology': (_, wrapper) => wrapper.host.setAttribute('aria-hidden', 'true'),
  'makes inert with its parent': (_, wrapper) => wrapper.host.toggleAttribute('inert'),
}

describe.concurrent('a label that the page', () => {
  test.for(Object.entries(attacks))('%s is restored', async ([, attack]) => {
    const { host, text } = await showAd('.gone { display: none !important; visibility: hidden !important }')
    await using _ = host
    const label = await host.page.evaluateHandle(() => window.findAll('[data-sp-label]')[0]!)
    const wrapper = await host.page.evaluateHandle((label) => label.parentNode as ShadowRoot, label)
    await host.page.evaluate(`window.attack = ${attack}`)
    await host.page.evaluate(([label, wrapper]) => Reflect.get(window, 'attack')(label, wrapper), [
      label,
      wrapper,
    ] as const)
    await vi.waitFor(() => expectReadable(host.page, text), { timeout: wait_ms, interval: 100 })
    expect(await wrapper.evaluate((wrapper) => wrapper.querySelector('[data-sp-label] ~ iframe') !== null)).toBe(true)
    expect(await host.shown()).toEqual(one_ad)
  })

  test('has removed is restored, and the ad is counted', async () => {
    const { host, text } = await showAd()
    await using _ = host
    await host.page.locator('[data-sp-label]').evaluate((label) => label.remove())
    await host.waitForEvent('beacon', { event: 'visible' })
    await expectReadable(host.page, text)
    expect(await host.ledger()).toEqual(viewed)
  })

  test('has touched is left alone when the ad is cleared before it was judged', async () => {
    const { host } = await showAd()
    await using _ = host
    // A text, since an import would be rewritten. What judges the label has loaded then.
    await host.page.evaluate(`(async () => {
      findAll('[data-sp-label]')[0].setAttribute('lang', 'en')
      await Promise.resolve()
      SponsoredPlacement.destroy()
      await import(document.querySelector('script[src$="/judge.js"]').src)
      await new Promise((resolve) => setTimeout(resolve))
    })()`)
    expect(await host.shown()).toEqual(nothing)
    expect(host.console_lines).toEqual([])
  })

  test('removes repeatedly costs it the ad, and its view', async () => {
    await using host = await openTurnHost(stage, { html: '<div id="slot"></div><div id="other"></div>' })
    await host.page.evaluate(() => {
      new MutationObserver(() => {
        const root = document.querySelector('#slot [data-sp-placement]')?.shadowRoot
        if (!root) return
        const remove = (): void => root.querySelector('[data-sp-label]')?.remove()
        new MutationObserver(remove).observe(root, { childList: true })
        remove()
      }).observe(document.querySelector('#slot')!, { childList: true })
    })
    const lost = await host.start(banner)
    await host.waitForEvent('error', { code: 'label_removed' })
    expect(await host.shown()).toEqual(nothing)
    expect((await host.path(lost)).at(-1)).toBe('failed')
    const control = await host.start({ ...banner, target: '#other' })
    await host.waitForEvent('beacon', { event: 'visible', turn_id: control })
    expect((await host.ledger()).filter((line) => line.startsWith('visible'))).toHaveLength(1)
  })
})

describe.concurrent('a stylesheet of the page', () => {
  test('that targets the label or the frame changes neither', async () => {
    const label = '[data-sp-label]'
    const { host, text } = await showAd('', { html: '<style id="hostile"></style><div id="slot"></div>' })
    await using _ = host
    for (const style of [
      '#slot * { display: none !important }',
      '* { all: unset !important } #slot { display: block !important }',
      '#slot div:has(> iframe) > div { display: none !important }',
      'div:has(+ iframe) { height: 0 !important; overflow: hidden !important }',
      `${label} { opacity: 0 !important }`,
      `${label} { visibility: hidden !important }`,
      `${label} { filter: opacity(0) !important }`,
      `${label} { position: absolute !important; left: -9999px !important }`,
      `${label} { translate: -9999px !important; scale: 0 !important; zoom: 0.01 !important }`,
      `${label} { clip-path: inset(50%) !important; mask: linear-gradient(transparent, transparent) !important }`,
      `${label} { max-height: 0 !important; overflow: hidden !important; padding: 0 !important }`,
      `${label} { font-size: 0 !important; line-height: 0 !important; text-indent: -9999px !important }`,
      `${label} { color: #fff !important; background: #fff !important }`,
      `${label} { -webkit-text-fill-color: transparent !important }`,
      `${label} { content-visibility: hidden !important; contain: strict !important }`,
      `${label} { animation: vanish 1s infinite !important } @keyframes vanish { to { opacity: 0; height: 0 } }`,
      `${label} strong { display: none !important; font-size: 0 !important; color: transparent !important }`,
      `@layer { * ${label} { display: none !important } }`,
      '#slot iframe { position: absolute !important; top: 0; left: 0; width: 100%; height: 100% }',
      '#slot iframe { position: relative !important; top: -40px !important }',
      '#slot iframe { transform: translateY(-40px) !important }',
      '#slot iframe { min-height: 500px !important; min-width: 500px !important }',
      '#slot iframe { zoom: 0.05 !important }',
      '#slot iframe { filter: opacity(0) !important; clip-path: inset(50%) !important }',
    ]) {
      await host.page.locator('#hostile').evaluate((element, style) => element.replaceChildren(style), style)
      const label = await readLabel(host.page)
      expect(label, style).toMatchObject({ text })
      expect(label!.contrast, style).toBeGreaterThanOrEqual(4.5)
      expect(label!.height, style).toBeGreaterThanOrEqual(18)
      const frame = await host.page.locator('iframe').evaluate((element) => {
        const { width, height } = element.getBoundingClientRect()
        const { filter, clipPath } = getComputedStyle(element)
        return { width, height, filter, clipPath }
      })
      expect(frame, style).toEqual({ width: 300, height: 250, filter: 'none', clipPath: 'none' })
    }
  })

  test('that hides the label with its slot, or with an ancestor of both, hides an ad that does not count', async () => {
    const styles = [
      '%s { visibility: visible }',
      '%s { display: none !important }',
      '%s { visibility: hidden !important }',
      '%s { opacity: 0 !important }',
      '%s { height: 0 !important; overflow: hidden !important }',
      '%s { position: absolute !important; left: -9999px !important }',
      '%s * { visibility: hidden !important; opacity: 0 !important }',
      '%s > div { opacity: 0 !important }',
      '%s > div { height: 0 !important; overflow: hidden !important }',
      '%s > div { position: absolute !important; left: -9999px !important }',
      '%s { overflow: hidden } %s > div { margin-top: -40px !important }',
      '%s { overflow: hidden } %s > div { transform: translateY(-40px) !important }',
      '%s { overflow: hidden } %s > div { position: relative !important; top: -40px !important }',
    ].map((style, n) => style.replaceAll('%s', `#s${n}`))
    const slots = styles.map((_, n) => `<div id="s${n}" style="float:left;width:310px"></div>`)
    await using host = await openTurnHost(stage, {
      html: `<style>${styles.join('\n')}</style>${slots.join('')}<div id="last" style="position:fixed;right:0;bottom:0"></div>`,
      context: { viewport: { width: 1_700, height: 1_000 } },
    })
    const ids = await Promise.all(styles.map((_, n) => host.start({ ...banner, target: `#s${n}` })))
    // All but the one that is not displayed, which nobody paints.
    await host.waitForEvent('rendered', {}, styles.length - 1)
    const last = await host.start({ ...banner, target: '#last' })
    await host.waitForEvent('beacon', { event: 'visible', turn_id: last })
    const events = await host.events()
    const outcomes: string[] = []
    for (const [n, style] of styles.entries()) {
      const isCounted = events.some(({ type, turn_id }) => type === 'visible' && turn_id === ids[n])
      const label = await readLabel(host.page, `#s${n}`)
      const isReadable = label !== null && label.contrast >= 4.5
      outcomes.push(`${isCounted && !isReadable ? 'counted without a label' : 'fair'}: ${style}`)
    }
    expect(outcomes).toEqual(styles.map((style) => `fair: ${style}`))
    expect(events.some(({ type, turn_id }) => type === 'visible' && turn_id === ids[0])).toBe(true)
  })
})

describe.concurrent('a sponsor whose name', () => {
  const open = async (topic: keyof typeof names, width: number) => {
    const host = await openTurnHost(named, { context: { viewport: { width, height: 700 } } })
    const response = await host.show(about(topic, banner))
    expect(response.placement?.sponsor_name).toBe(names[topic])
    await host.waitForEvent('rendered')
    return host
  }

  test('reads from right to left stands after the label’s first word', async () => {
    await using host = await open('rtl', 800)
    await expectReadable(host.page, `Sponsored · ${names.rtl}`)
    const order = await host.page.locator('[data-sp-label]').evaluate((label) => {
      const range = document.createRange()
      range.selectNodeContents(label.lastChild!)
      return label.firstElementChild!.getBoundingClientRect().right - range.getBoundingClientRect().left
    })
    expect(order).toBeLessThanOrEqual(1)
  })

  test.for([
    ['long', 800],
    ['long', 320],
    ['unbroken', 320],
    ['plain', 320],
  ] as const)('is %s fits into %i px', async ([topic, width]) => {
    await using host = await open(topic, width)
    await expectReadable(host.page, `Sponsored · ${names[topic]}`)
    const sizes = await host.page.locator('[data-sp-label]').evaluate((label) => ({
      lines: Math.round(label.clientHeight / 18),
      isCut: label.scrollWidth > label.clientWidth || label.scrollHeight > label.clientHeight,
      right: label.getBoundingClientRect().right,
      page: document.documentElement.scrollWidth,
    }))
    expect(sizes.lines > 1).toBe(topic !== 'plain')
    expect(sizes).toMatchObject({ isCut: false, page: width })
    expect(sizes.right).toBeLessThanOrEqual(width)
  })
})

describe.concurrent('accessibility', () => {
  const cases = (['banner', 'clip', 'native'] as const).flatMap((format) =>
    (['light', 'dark'] as const).map((colorScheme) => [format, colorScheme] as const),
  )
  test.for(cases)(
    'axe finds nothing serious on a page with a %s, nor in its frame: %s',
    async ([format, colorScheme]) => {
      await using host = await openTurnHost(stage, {
        html: `<style>:root { color-scheme: light dark; background: Canvas; color: CanvasText }</style>
<main><h1>An answer</h1><p>What was asked for.</p><div id="slot"></div></main>`,
        context: { viewport: { width: 800, height: 700 }, colorScheme },
      })
      await host.show({ format, max_width: 320, max_height: 300 })
      await host.waitForEvent('rendered')
      expect(await violations(host.page)).toEqual([])
      const frame = host.page.frames().find((frame) => frame.url().includes('/v1/render/'))
      expect(await violations(frame!)).toEqual([])
    },
  )

  test('the label comes before the frame, which has a name, and nothing else is read out', async () => {
    await using host = await openTurnHost(stage, { html: '<div id="slot"></div>' })
    const { placement } = await host.show(banner)
    await host.waitForEvent('rendered')
    const said = readAloud(await host.page.locator('#slot').ariaSnapshot())
    expect(said).toBe(`${placement!.render.label_text} · ${placement!.render.sponsor_name} iframe`)
  })
})
