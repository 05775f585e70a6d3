/** Ads in shadow roots and in pages in frames, and each way in which a page takes one out. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { openStage, type Stage } from '#tests/browser/stage.ts'
import {
  banner,
  htmlWithOther,
  letDwellPass,
  nothing,
  openTurnHost,
  rendered_only,
  type TurnHost,
  viewed,
} from '#tests/browser/turn-path.ts'
import { until } from '#tests/browser/turns.ts'

vi.setConfig({ maxConcurrency: 3 })

let stage: Stage
beforeAll(async () => {
  stage = await openStage({ rate_limit: 'off' })
})
afterAll(() => stage?.[Symbol.asyncDispose]())

const open = () => openTurnHost(stage, { html: htmlWithOther })

describe.concurrent('a slot that is removed', () => {
  const removals: [string, () => unknown][] = [
    ['its own content replaced', () => document.querySelector('#slot')!.replaceChildren('Something else')],
    ["its ancestor's content replaced", () => Object.assign(document.querySelector('main')!, { innerHTML: '<br>' })],
    ['the whole body emptied', () => document.body.replaceChildren()],
    ['the body itself replaced', () => document.body.replaceWith(document.createElement('body'))],
  ]
  test.for(removals)('by %s is cleared', async ([, act]) => {
    await using host = await open()
    await host.whenRendered(act)
    const id = await host.start(banner)
    await host.waitForEvent('cleared', { reason: 'target_removed' })
    await host.waitForEvent('beacon', { event: 'render' })
    expect((await host.path(id)).at(-1)).toBe('cleared')
    expect(await host.shown()).toEqual(nothing)
    expect(await host.ledger()).toEqual(rendered_only)
  })
})

describe.concurrent('a slot in a shadow root', () => {
  /** Opens a shadow root in `#slot`, or in one that is in there, and starts a turn on a slot in the innermost. */
  const startInShadow = (host: TurnHost, mode: ShadowRootMode, depth: 1 | 2): Promise<string> =>
    host.page.evaluate(
      ({ endpoint, body, mode, depth }) => {
        let root = document.querySelector('#slot')!.attachShadow({ mode })
        Object.assign(window, { outer: root, inner: root })
        if (depth === 2) {
          const card = root.appendChild(document.createElement('article'))
          root = card.attachShadow({ mode })
          Object.assign(window, { inner: root })
        }
        const target = root.appendChild(document.createElement('div'))
        return window.SponsoredPlacement!.startTurn({ target, endpoint, body }).id
      },
      { endpoint: host.endpoint, body: host.body(banner), mode, depth },
    )
  const occupied = (host: TurnHost) => host.page.evaluate(() => window.SponsoredPlacement!.state().occupied)

  test.for(['open', 'closed'] as const)('shows its ad, and is counted: %s', async (mode) => {
    await using host = await open()
    const turn_id = await startInShadow(host, mode, 1)
    await host.waitForEvent('beacon', { event: 'visible', turn_id })
    expect(await host.ledger()).toEqual(viewed)
    await host.page.evaluate(() => document.querySelector('#slot')!.remove())
    await host.waitForEvent('cleared', { reason: 'target_removed' })
    expect(await occupied(host)).toBe(0)
  })

  test('that is hidden by the shadow tree around it is not viewable', async () => {
    await using host = await open()
    await host.page.evaluate(() => {
      const root = document.querySelector('main')!.attachShadow({ mode: 'open' })
      root.innerHTML = '<section style="opacity: 0"><slot></slot></section>'
    })
    const turn_id = await host.start(banner)
    await host.waitForEvent('beacon', { event: 'render', turn_id })
    expect(await letDwellPass(host)).toEqual(rendered_only)
    await host.page.evaluate(() => {
      document.querySelector('main')!.shadowRoot!.querySelector('section')!.style.opacity = '1'
    })
    await host.waitForEvent('beacon', { event: 'visible', turn_id })
  })

  test.for([
    ['the content of its root goes', 1, () => Reflect.get(window, 'inner').replaceChildren()],
    ['the content of its root goes, two deep', 2, () => Reflect.get(window, 'inner').replaceChildren()],
    ['the root around its root is emptied', 2, () => Reflect.get(window, 'outer').replaceChildren()],
    ['the outermost host goes', 2, () => document.querySelector('#slot')!.remove()],
  ] as const)('is cleared when %s', async ([, depth, act]) => {
    await using host = await open()
    await host.whenRendered(act)
    const turn_id = await startInShadow(host, 'open', depth)
    await host.waitForEvent('cleared', { reason: 'target_removed' })
    await host.waitForEvent('beacon', { event: 'render', turn_id })
    expect(await occupied(host)).toBe(0)
    expect(await host.ledger()).toEqual(rendered_only)
  })
})

describe.concurrent('a window that the page has opened', () => {
  /** Shows an ad in there, as a chat does that is popped out. */
  async function popOut(): Promise<{ host: TurnHost; popup: Page }> {
    const host = await open()
    const response = await host.place(banner)
    const [popup] = await Promise.all([
      host.context.waitForEvent('page'),
      host.page.evaluate((response) => {
        const popup = window.open('', 'chat', 'width=500,height=500')!
        popup.document.body.innerHTML = '<div id="ad"></div>'
        window.SponsoredPlacement!.renderPlacement({ target: popup.document.querySelector('#ad')!, response })
      }, response),
    ])
    await host.emitted('beacon', { event: 'render' })
    return { host, popup }
  }

  test('shows its ad, and is counted', async () => {
    const { host } = await popOut()
    await using _ = host
    await host.waitForEvent('beacon', { event: 'visible' })
    expect(await host.ledger()).toEqual(viewed)
  })

  test('and closes in mid-dwell: not viewed', async () => {
    const { host, popup } = await popOut()
    await using _ = host
    await host.pass(500)
    await popup.close()
    expect(await letDwellPass(host)).toEqual(rendered_only)
  })
})

describe.concurrent('a page around the page', () => {
  test('that hides the frame of the page keeps an ad in there from being viewable', async () => {
    const inner = `<script src=${stage.sandbox.url}/v1/render.js></script><div id=slot></div>`
    const style = 'width:400px;height:400px;opacity:0'
    await using host = await stage.open({ html: `<iframe id="page" srcdoc="${inner}" style="${style}"></iframe>` })
    const response = await host.place(banner)
    const frame = host.page.frame({ url: 'about:srcdoc' })!
    await frame.waitForFunction(() => window.SponsoredPlacement !== undefined)
    await frame.evaluate((response) => {
      window.SponsoredPlacement!.renderPlacement({ target: '#slot', response })
    }, response)
    const types = () => frame.evaluate(() => window.SponsoredPlacement!.getEvents().map(({ type }) => type))
    await until(async () => (await types()).includes('beacon'), true)
    await host.pass(1_500)
    expect(await types()).not.toContain('visible')
    await host.page.evaluate(() => {
      document.querySelector<HTMLElement>('#page')!.style.opacity = '1'
    })
    await host.pass(1_500)
    expect(await types()).toContain('visible')
  })
})
