/** In each engine: turns from their request to their end, and what is counted and billed of them. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type Host, openStage, type PlaceOptions, type Stage } from '#tests/browser/stage.ts'
import { isWrong, measurePage } from '#tests/browser/viewability-pages.ts'
import { closeEngine, engineUnderTest } from './engines.ts'

// Most of their time they wait, each for its own page.
vi.setConfig({ maxConcurrency: 3 })

let stage: Stage
beforeAll(async () => {
  stage = await openStage({}, await (await engineUnderTest()).get())
})
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]()
  await closeEngine()
})

const shown: Record<string, PlaceOptions> = {
  banner: { format: 'banner' },
  card: { format: 'native', native_template_id: 'card' },
  list_item: { format: 'native', native_template_id: 'list_item' },
  featured: { format: 'native', native_template_id: 'featured' },
  minimal: { format: 'native', native_template_id: 'minimal' },
}
const rendered = 'render accepted OK'
const seen = 'visible accepted OK +viewable_impression'

/** Opens a page with a slot for each name. */
function openSlots(names: readonly string[]): Promise<Host> {
  const html = names.map((name) => `<div id="${name}" style="width:340px;float:left;margin:4px"></div>`).join('')
  return stage.open({ html, context: { viewport: { width: 1_100, height: 1_400 } } })
}

describe.concurrent('a placement', () => {
  test('of each format and template is rendered, seen and billed once', async () => {
    const names = Object.keys(shown)
    await using host = await openSlots(names)
    for (const name of names) await host.show(shown[name]!, `#${name}`)
    await host.waitForEvent('beacon', { event: 'visible', accepted: true }, names.length)
    expect((await host.ledger()).toSorted()).toEqual([...names.map(() => rendered), ...names.map(() => seen)])
    expect(host.console_lines).toEqual([])
  })

  test('below the fold is rendered, and seen only when it is scrolled into view', async () => {
    await using host = await stage.open({ html: '<div id="slot" style="margin:3000px 0"></div>' })
    await host.show({ format: 'banner' })
    await host.waitForEvent('beacon', { event: 'render' })
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    expect(await host.ledger()).toEqual([rendered])
    await host.page.evaluate(() => document.querySelector('#slot')!.scrollIntoView({ block: 'center' }))
    await host.waitForEvent('beacon', { event: 'visible', accepted: true })
    expect(await host.ledger()).toEqual([rendered, seen])
  })

  test('is opened by a click with the pointer, which is counted once', async () => {
    await using host = await stage.open()
    await host.show({ format: 'banner' })
    await host.waitForEvent('beacon', { event: 'render' })
    await host.page.frameLocator('#slot iframe').locator('a.surface').first().click()
    expect(await host.waitForEvent('click')).toMatchObject({ user_activated: true })
    await host.waitForEvent('beacon', { event: 'click', accepted: true })
    await host.page.frameLocator('#slot iframe').locator('a.surface').first().click()
    expect((await host.ledger()).filter((line) => line.startsWith('click'))).toHaveLength(1)
  })

  test('of a clip plays muted to its end; its start and its end are reported', async () => {
    await using host = await stage.open()
    await host.show({ format: 'clip', max_width: 320, max_height: 180 })
    await host.waitForEvent('play_started')
    await host.waitForEvent('play_completed')
    await host.waitForEvent('beacon', { event: 'play_completed', accepted: true })
    const events = (await host.recorded()).filter(({ verdict }) => verdict === 'accepted').map(({ event }) => event)
    expect(events.filter((event) => event !== 'heartbeat').toSorted()).toEqual([
      'play_completed',
      'play_started',
      'render',
      'visible',
    ])
  })
})

describe.concurrent('a turn', () => {
  const start = (host: Host, more: Record<string, unknown> = {}) =>
    host.page.evaluate(
      ({ endpoint, body }) => {
        const state = window as unknown as Record<string, unknown>
        state.answer = 'waits'
        void window
          .SponsoredPlacement!.withTurn({ target: '#slot', endpoint, body } as never, async () => {
            await new Promise((resolve) => setTimeout(resolve, 2_500))
            return 'the answer'
          })
          .then((answer: unknown) => {
            state.answer = answer
          })
      },
      { endpoint: host.endpoint, body: host.body({ more }) },
    )
  const answer = (host: Host) => host.page.evaluate(() => (window as unknown as Record<string, unknown>).answer)
  const shownFrames = (host: Host) => host.page.locator('#slot iframe').count()

  test('shows its ad, ends with the answer, and leaves the slot empty once the ad was seen', async () => {
    await using host = await stage.open()
    await start(host, { overrides: { allowed_formats: ['banner'] } })
    await host.waitForEvent('rendered')
    await expect.poll(() => answer(host)).toBe('the answer')
    await host.waitForEvent('cleared')
    expect(await shownFrames(host)).toBe(0)
    expect(await host.ledger()).toEqual([rendered, seen])
  })

  test('without a fill ends with the answer, and reports the reason', async () => {
    await using host = await stage.open()
    await start(host, { test_outcome: 'no_fill' })
    await host.waitForEvent('no_fill')
    await expect.poll(() => answer(host)).toBe('the answer')
    expect(await host.ledger()).toEqual([])
    expect((await host.types()).filter((type) => type === 'error')).toEqual([])
  })

  test('whose consent is withdrawn loses its ad, and nothing more is counted', async () => {
    await using host = await stage.open({ html: '<div id="slot" style="margin:3000px 0"></div>' })
    await host.show({ format: 'banner' })
    await host.waitForEvent('beacon', { event: 'render', accepted: true })
    const { client_id } = stage.sandbox.keys
    await stage.client.consent.set({ body: { client_id, session_id: host.session_id, decision: 'withdrawn' } })
    await host.page.evaluate(() => document.querySelector('#slot')!.scrollIntoView({ block: 'center' }))
    await host.waitForEvent('blocked', { reason: 'consent_not_granted' })
    expect(await shownFrames(host)).toBe(0)
    expect((await host.ledger()).filter((line) => line.includes('accepted'))).toEqual([rendered])
  })

  test('in the same slot replaces the ad of the one before, as often as it is mounted again', async () => {
    await using host = await stage.open()
    for (let mounts = 1; mounts <= 3; mounts++) {
      await host.show({ format: 'banner' })
      await host.waitForEvent('rendered', {}, mounts)
      expect(await shownFrames(host)).toBe(1)
    }
    expect((await host.types()).filter((type) => type === 'cleared')).toHaveLength(2)
  })
})

test('what an independent observer sees is what is counted', async () => {
  const outcomes = await measurePage(stage, 20_260, ['banner', 'native'])
  expect(outcomes.filter((outcome) => isWrong(outcome, outcome.beacons.length > 0))).toEqual([])
  expect(outcomes.filter(({ verdict }) => verdict !== 'either').length).toBeGreaterThan(0)
})
