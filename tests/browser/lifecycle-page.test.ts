/**
 * What the page does to an ad: it removes the slot, moves it, changes the route, is frozen and restored.
 *
 * The Chromium of these tests has no back/forward cache (its embedder does not support it), so entering and
 * leaving it is simulated with the events of the page; leaving the page and going back is real.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { openStage, type Stage } from './stage.ts'
import {
  banner,
  htmlWithOther,
  letDwellPass,
  nothing,
  one_ad,
  openTurnHost,
  rendered_only,
  viewed,
} from './turn-path.ts'
import { until } from './turns.ts'

vi.setConfig({ maxConcurrency: 3 })

let stage: Stage
beforeAll(async () => {
  stage = await openStage({ rate_limit: 'off' })
})
afterAll(() => stage?.[Symbol.asyncDispose]())

const open = () => openTurnHost(stage, { html: htmlWithOther })

describe.concurrent('a slot that is removed', () => {
  test('in mid-dwell: rendered, not viewed, not billed', async () => {
    await using host = await open()
    const turn_id = await host.start(banner)
    await host.emitted('beacon', { event: 'render' })
    await host.pass(500)
    await host.page.evaluate(() => document.querySelector('#slot')!.remove())
    const { reason, slot_id } = await host.waitForEvent('cleared', { turn_id, reason: 'target_removed' })
    expect(reason).toBe('target_removed')
    expect(await host.shown()).toEqual(nothing)
    expect((await letDwellPass(host)).at(-1)).toBe('render accepted OK')
    expect((await host.events()).filter((event) => event.turn_id === turn_id).map(({ type }) => type)).not.toContain(
      'visible',
    )
    expect(await host.billed(slot_id!)).toBe(false)
    expect(host.console_lines).toEqual([])
  })

  test('while it is requested: the turn fails, nothing is mounted', { tags: 'depth' }, async () => {
    await using host = await open()
    const { release } = await host.hold(banner)
    const id = await host.start(banner)
    await host.reaches(id, 'requesting')
    await host.page.evaluate(() => document.querySelector('#slot')!.remove())
    release()
    await host.waitForEvent('error', { code: 'target_removed' })
    await host.reaches(id, 'failed')
    expect(await host.shown()).toEqual(nothing)
    expect(host.requests.filter((request) => request.url().includes('/v1/render/'))).toEqual([])
    expect(await host.ledger()).toEqual([])
  })

  test.for([
    ['it is found by its selector', '#slot', undefined, one_ad],
    ['an element is found by its id', 'element', undefined, one_ad],
    ['an element without an id is found by its place', 'place', undefined, one_ad],
    ['one of a row that may show another message is not', 'place', 'message_1', nothing],
  ] as const)('while it is requested, and drawn again: %s', { tags: 'depth' }, async ([, target, turnId, shown]) => {
    await using host = await open()
    const { release } = await host.hold(banner)
    await host.page.evaluate(
      ({ target, turnId, endpoint, body }) => {
        const slot = document.querySelector('#slot')!
        if (target === 'place') slot.removeAttribute('id')
        const given = target === '#slot' ? target : slot
        window.SponsoredPlacement!.startTurn({ target: given, endpoint, body, ...(turnId && { turnId }) })
      },
      { target, turnId, endpoint: host.endpoint, body: host.body(banner) },
    )
    await until(() => host.backend_calls.length, 1)
    await host.page.evaluate(() => {
      const main = document.querySelector('main')!
      main.innerHTML = String(main.innerHTML)
    })
    release()
    if (shown === nothing) await host.waitForEvent('error', { code: 'target_removed' })
    else await host.waitForEvent('beacon', { event: 'visible' })
    expect(await host.shown()).toEqual(shown)
    expect(host.backend_calls).toEqual(['POST '])
  })

  test('while it mounts: it is cleared before the first message of the frame', { tags: 'depth' }, async () => {
    await using host = await open()
    const release = await host.holdFrames()
    const id = await host.start(banner)
    await host.reaches(id, 'mounting')
    await host.page.evaluate(() => document.querySelector('#slot')!.remove())
    await host.waitForEvent('cleared', { reason: 'target_removed' })
    release()
    expect((await host.path(id)).at(-1)).toBe('cleared')
    expect(await host.shown()).toEqual(nothing)
    expect(await host.ledger()).toEqual([])
  })

  test('after it was viewed: the view stays counted', { tags: 'depth' }, async () => {
    await using host = await open()
    const id = await host.start(banner)
    const { slot_id } = await host.waitForEvent('beacon', { event: 'visible' })
    await host.page.evaluate(() => document.querySelector('#slot')!.remove())
    await host.reaches(id, 'cleared')
    expect(await host.ledger()).toEqual(viewed)
    expect(await host.billed(slot_id!)).toBe(true)
  })

  test('after it was appended to the page with its ad is cleared', { tags: 'depth' }, async () => {
    await using host = await open()
    const response = await host.place(banner)
    await host.page.evaluate((response) => {
      const slot = document.createElement('div')
      window.SponsoredPlacement!.on('rendered', () => slot.remove())
      window.SponsoredPlacement!.renderPlacement({ target: slot, response })
      document.body.append(slot)
    }, response)
    await host.waitForEvent('cleared', { reason: 'target_removed' })
    expect(await host.shown()).toEqual(nothing)
  })
})

describe.concurrent('a slot that stays, and whose ad is taken out', () => {
  /** As a library does that compares the slot with markup of the server, where it is empty. */
  const empty = () => document.querySelector('#slot')!.replaceChildren()

  test('has it again, without another request, and counts it once', async () => {
    await using host = await open()
    const id = await host.start(banner)
    await host.reaches(id, 'rendered')
    await host.page.evaluate(empty)
    await host.waitForEvent('beacon', { event: 'visible' })
    expect(await host.shown()).toEqual(one_ad)
    expect((await host.ledger()).filter((line) => line.includes('+'))).toEqual(
      viewed.filter((line) => line.includes('+')),
    )
  })

  test('has none once its turn was cancelled', { tags: 'depth' }, async () => {
    await using host = await open()
    const id = await host.start(banner)
    await host.reaches(id, 'rendered')
    await host.call(id, 'cancel')
    await host.page.evaluate(empty)
    await host.reaches(id, 'cancelled')
    expect(await host.shown()).toEqual(nothing)
  })
})

describe.concurrent('a route that changes', () => {
  test('with its content: the old ad goes, the new page has its own', async () => {
    await using host = await open()
    await host.whenRendered(() => {
      history.pushState({}, '', '?next')
      document.querySelector('main')!.innerHTML = '<h1>Next</h1><div id="slot"></div>'
    })
    const old = await host.start(banner)
    await host.reaches(old, 'cleared')
    const next = await host.start(banner)
    await host.waitForEvent('beacon', { event: 'visible', turn_id: next })
    await host.page.evaluate(() => history.back())
    expect(await host.shown()).toEqual(one_ad)
    expect(await host.ledger()).toEqual([...rendered_only, ...viewed])
    expect(host.console_lines).toEqual([])
  })

  test('only in the address keeps the ad and its dwell', { tags: 'depth' }, async () => {
    await using host = await open()
    const id = await host.start(banner)
    await host.reaches(id, 'rendered')
    await host.page.evaluate(() => {
      history.pushState({}, '', '?next')
      location.hash = 'answer'
    })
    await host.waitForEvent('beacon', { event: 'visible' })
    expect(await host.shown()).toEqual(one_ad)
    expect(await host.ledger()).toEqual(viewed)
  })
})

describe.concurrent('a slot that is moved', () => {
  test('by removing and inserting it reloads its frame: the ad is mounted again, and counted once', async () => {
    await using host = await open()
    await host.whenRendered(() => document.querySelector('#other')!.after(document.querySelector('#slot')!))
    const id = await host.start(banner)
    await host.waitForEvent('cleared', { reason: 'target_removed' })
    await host.waitForEvent('rendered', { turn_id: id }, 2)
    await host.waitForEvent('beacon', { event: 'visible', turn_id: id })
    expect(await host.shown()).toEqual(one_ad)
    expect(await host.ledger()).toEqual(viewed)
    expect(host.backend_calls).toHaveLength(1)
  })

  test('is cleared at once, not when its frame has loaded again: what shows until then is not counted', {
    tags: 'depth',
  }, async () => {
    await using host = await open()
    await host.page.evaluate(() => document.querySelector('#slot')!.setAttribute('style', 'margin-top: 3000px'))
    const id = await host.start(banner)
    await host.waitForEvent('beacon', { event: 'render' })
    const release = await host.holdFrames()
    await host.page.evaluate(() => {
      document.querySelector('#slot')!.removeAttribute('style')
      document.querySelector('#other')!.after(document.querySelector('#slot')!)
    })
    await host.waitForEvent('cleared', { reason: 'target_removed' })
    await host.reaches(id, 'mounting')
    await host.pass(1_300)
    expect(await host.ledger()).toEqual(rendered_only)
    release()
    await host.waitForEvent('beacon', { event: 'visible', turn_id: id })
    expect(await host.ledger()).toEqual(viewed)
  })

  test('with moveBefore keeps its ad, which is viewed', { tags: 'depth' }, async () => {
    await using host = await open()
    await host.whenRendered(() => document.body.moveBefore(document.querySelector('#slot')!, null))
    const id = await host.start(banner)
    await host.waitForEvent('beacon', { event: 'visible' })
    expect((await host.path(id)).at(-1)).toBe('rendered')
    expect(await host.shown()).toEqual(one_ad)
    expect(await host.ledger()).toEqual(viewed)
  })
})

describe.concurrent('a page that is left', () => {
  test('and gone back to has no earlier ad, and can have a new one', async () => {
    await using host = await open()
    await host.whenRendered(() => {
      location.href = '/page/elsewhere'
    })
    await host.start(banner)
    await host.page.waitForURL('**/elsewhere')
    await host.page.goBack()
    expect(await host.shown()).toEqual(nothing)
    const again = await host.start(banner)
    await host.waitForEvent('beacon', { event: 'visible', turn_id: again })
    // A page that is left may repeat a beacon whose response has not reached it.
    const ledger = (await host.ledger()).filter((line) => line !== 'render duplicate DUPLICATE')
    expect(ledger).toEqual([...rendered_only, ...viewed])
    expect(host.console_lines.filter((line) => line.startsWith('pageerror'))).toEqual([])
  })

  test('for the back/forward cache clears its ad, and is restored without it', { tags: 'depth' }, async () => {
    await using host = await open()
    await host.whenRendered(() => {
      window.dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))
      document.dispatchEvent(new Event('freeze'))
    })
    const id = await host.start(banner)
    await host.reaches(id, 'cleared')
    await host.waitForEvent('beacon', { event: 'render' })
    expect((await host.path(id)).slice(-2)).toEqual(['rendered', 'cleared'])
    expect(await host.waitForEvent('cleared')).toMatchObject({ reason: 'pagehide' })
    expect(await host.shown()).toEqual(nothing)
    await host.page.evaluate(() => {
      document.dispatchEvent(new Event('resume'))
      window.dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))
    })
    expect(await letDwellPass(host)).toEqual(rendered_only)
    expect(await host.shown()).toEqual(one_ad)
    expect(host.console_lines).toEqual([])
  })

  test('hidden and frozen restarts its dwell when it is back', { tags: 'depth' }, async () => {
    await using host = await open()
    await host.start(banner)
    await host.emitted('beacon', { event: 'render' })
    await host.pass(900)
    await host.page.evaluate(() => {
      let visibility: DocumentVisibilityState = 'visible'
      Object.defineProperty(document, 'visibilityState', { get: () => visibility, configurable: true })
      const become = (next: DocumentVisibilityState): void => {
        visibility = next
        document.dispatchEvent(new Event('visibilitychange'))
      }
      become('hidden')
      document.dispatchEvent(new Event('freeze'))
      document.dispatchEvent(new Event('resume'))
      become('visible')
    })
    await host.pass(900)
    expect(await host.ledger()).toEqual(rendered_only)
    await host.waitForEvent('beacon', { event: 'visible' })
    expect(await host.ledger()).toEqual(viewed)
  })
})

describe.concurrent('a page that is offline', () => {
  test('has its beacons wait for the network, however long its attempts would have taken', async () => {
    await using host = await stage.open({ html: '<div style="height:2000px"></div><div id="slot"></div>' })
    await host.show(banner)
    await host.waitForEvent('beacon', { event: 'render' })
    await host.context.setOffline(true)
    await host.page.evaluate(() => scrollTo(0, 2_000))
    await host.waitForEvent('visible')
    // Three attempts are over after 3.5 seconds.
    await host.pass(4_500)
    expect((await host.events()).filter(({ type }) => type === 'beacon')).toHaveLength(1)
    await host.context.setOffline(false)
    expect(await host.waitForEvent('beacon', { event: 'visible' })).toMatchObject({ accepted: true, reason_code: 'OK' })
    expect(await host.ledger()).toEqual(viewed)
  })
})
