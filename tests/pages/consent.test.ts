/**
 * Consent fails closed and is reported: without permission an ad is stopped before the request, in the response, at the
 * mount, in the frame, at a beacon and by the clock. A wrong clock alone never stops one.
 *
 * Over 300 lines because every place where consent is checked is tested here.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { AuthoritativeConsent } from '#contract/fields.ts'
import type { ConsentRequest } from '#contract/resources/consent.ts'
import type { PlacementResponse } from '#contract/resources/placements.ts'
import type { ConsentReason } from '#renderer/host/consent.ts'
import { type ManualClock, manualClock } from '#sandbox/index.ts'
import { type Host, openStage, type Stage } from '#tests/browser/stage.ts'
import {
  beaconPosts,
  blockedLine,
  endTurn,
  expectNothing,
  frameLoads,
  nothing,
  runTurn,
  startTurn,
  turnState,
  until,
  view,
  warnings,
} from '#tests/browser/turns.ts'

vi.setConfig({ maxConcurrency: 3 })

const minute_ms = 60_000
const day_ms = 24 * 60 * minute_ms

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage?.[Symbol.asyncDispose]())

/** Stores consent of a session as the integrator's backend does. */
async function store({ client, sandbox }: Stage, given: Host | string, more: Partial<ConsentRequest>) {
  const { client_id } = sandbox.keys
  const session_id = typeof given === 'string' ? given : given.session_id
  const { authoritative_consent } = await client.consent.set({ body: { client_id, session_id, ...more } })
  return authoritative_consent
}

/** A host page whose slot is out of view: what is mounted there is rendered, and not viewed before it is scrolled to. */
const belowTheFold = { html: '<div id="slot" style="margin-top:3000px"></div>' }

async function scrollToSlot({ page }: Host): Promise<void> {
  await page.evaluate(() => document.querySelector('#slot')!.scrollIntoView({ block: 'center' }))
}

/** Expects one block, reported by an event and on the console, and that nothing shows any more. */
async function expectBlocked(host: Host, reason: ConsentReason): Promise<void> {
  await host.waitForEvent('blocked', { reason })
  expect((await host.types()).filter((type) => type === 'blocked')).toHaveLength(1)
  expect(warnings(host)).toEqual([blockedLine(reason)])
  expect(await view(host)).toEqual(nothing)
}

const unreadable: Record<string, unknown> = {
  'a text': 'granted',
  'a number': 1,
  true: true,
  'an array': ['granted'],
  'an empty object': {},
  'the state alone': { lifecycle_state: 'granted' },
  'a state of another type': { ...granted(), lifecycle_state: true },
  'a revision in text': { ...granted(), revision: '1' },
  'revision 0': { ...granted(), revision: 0 },
  'half a revision': { ...granted(), revision: 1.5 },
  'no time of update': { ...granted(), updated_at_ms: undefined },
  'an expiry as a date': { ...granted(), expires_at_ms: '2030-01-01T00:00:00Z' },
  'no expiry': { ...granted(), expires_at_ms: null },
}

/** A snapshot that permits ads. */
function granted(): AuthoritativeConsent {
  return {
    lifecycle_state: 'granted',
    revision: 1,
    updated_at_ms: Date.now() - minute_ms,
    expires_at_ms: Date.now() + day_ms,
    source: 'wrapper_cmp',
    purposes: { semantic_targeting: true, prompt_shared: false },
  }
}

const refused: Record<string, [unknown, ConsentReason]> = {
  missing: [null, 'consent_missing'],
  pending: [{ ...granted(), lifecycle_state: 'pending' }, 'consent_not_granted'],
  denied: [{ ...granted(), lifecycle_state: 'denied' }, 'consent_not_granted'],
  withdrawn: [{ ...granted(), lifecycle_state: 'withdrawn' }, 'consent_not_granted'],
  'of an unknown state': [{ ...granted(), lifecycle_state: 'GRANTED' }, 'consent_not_granted'],
  expired: [{ ...granted(), lifecycle_state: 'expired' }, 'consent_expired'],
  ...Object.fromEntries(
    Object.entries(unreadable).map(([name, snapshot]) => [name, [snapshot, 'consent_unreadable'] as const]),
  ),
}

/** What only a clock refuses: the device's may be wrong, so a server's decides. */
const mistimed: Record<string, [unknown, ConsentReason]> = {
  'over since a second': [{ ...granted(), expires_at_ms: Date.now() - 1_000 }, 'consent_expired'],
  'from the future': [{ ...granted(), updated_at_ms: Date.now() + 10 * minute_ms }, 'consent_from_future'],
}

describe.concurrent('a snapshot that permits nothing by its times', () => {
  test.concurrent('blocks a fill of a turn by the time of its frame, and says by how much a snapshot is ahead', async () => {
    await using host = await stage.open()
    const response = await host.place({ format: 'banner' })
    for (const [authoritative_consent] of Object.values(mistimed)) {
      host.backend_responses.push({ body: JSON.stringify({ ...response, authoritative_consent }) })
      await startTurn(host)
      await expect.poll(() => turnState(host)).toBe('blocked')
    }
    expect(warnings(host)).toEqual(Object.values(mistimed).map(([, reason]) => blockedLine(reason)))
    const blocks = (await host.events()).filter((event) => event.type === 'blocked')
    const [, { consent_ahead_ms = 0, device_ahead_ms = 0 } = {}] = blocks
    expect([Math.round(consent_ahead_ms / minute_ms), Math.round(device_ahead_ms / minute_ms)]).toEqual([10, 0])
    await expectNothing(host)
  })

  test.concurrent.each(Object.entries(mistimed))(
    '%s, at the mount, is invisible until the frame has sent the time, and then blocked',
    async (_, [authoritative_consent, reason]) => {
      await using host = await stage.open()
      const response = await host.place({ format: 'banner' })
      await host.page.evaluate(() => {
        window.SponsoredPlacement!.on('*', () => {
          const [frame] = window.findAll('iframe')
          if (frame) Reflect.set(window, 'seen', getComputedStyle(frame).visibility)
        })
      })
      expect(await host.mount({ ...response, authoritative_consent })).toBe(true)
      await host.waitForEvent('blocked', { reason })
      expect(await host.types()).toEqual(['blocked', 'cleared'])
      if (reason === 'consent_expired')
        expect(await host.page.evaluate(() => Reflect.get(window, 'seen'))).toBe('hidden')
      await expectNothing(host)
    },
  )

  test.concurrent('expired, and known before the request, stops the turn before it', async () => {
    await using host = await stage.open()
    const [expired] = mistimed['over since a second']!
    await runTurn(host, { authoritative_consent: expired as AuthoritativeConsent })
    expect(await turnState(host)).toBe('blocked')
    expect(host.backend_calls).toEqual([])
  })
})

describe.concurrent('a snapshot that permits nothing', () => {
  test.concurrent('stops the turn before it requests anything', async () => {
    await using host = await stage.open()
    const expected: string[] = []
    for (const [snapshot, reason] of Object.values(refused)) {
      await runTurn(host, { authoritative_consent: snapshot as AuthoritativeConsent })
      expect(await turnState(host)).toBe('blocked')
      expected.push('turn:started', `blocked ${reason}`, 'turn:finished')
    }
    const events = (await host.events()).map((event) =>
      'reason' in event ? `${event.type} ${event.reason}` : event.type,
    )
    expect(events).toEqual(expected)
    expect(warnings(host)).toEqual(Object.values(refused).map(([, reason]) => blockedLine(reason)))
    expect(host.backend_calls).toEqual([])
    await expectNothing(host)
  })

  test.concurrent('in the response stops the fill before its frame is loaded', async () => {
    await using host = await stage.open()
    const response = await host.place({ format: 'banner' })
    const cases = [...Object.values(refused), [undefined, 'consent_missing'] as const]
    const expected: string[] = []
    for (const [authoritative_consent, reason] of cases) {
      host.backend_responses.push({ body: JSON.stringify({ ...response, authoritative_consent }) })
      await runTurn(host)
      expect(await turnState(host)).toBe('blocked')
      expected.push('turn:started', 'decision', `blocked ${reason}`, 'turn:finished')
    }
    const events = (await host.events()).map((event) =>
      'reason' in event ? `${event.type} ${event.reason}` : event.type,
    )
    expect(events).toEqual(expected)
    expect(warnings(host)).toEqual(cases.map(([, reason]) => blockedLine(reason)))
    expect(frameLoads(host)).toEqual([])
    await expectNothing(host)
  })

  test.concurrent('at the mount leaves no handle', async () => {
    await using host = await stage.open()
    const response = await host.place({ format: 'banner' })
    for (const [authoritative_consent] of Object.values(refused)) {
      expect(await host.mount({ ...response, authoritative_consent })).toBe(false)
      const isMounted = await host.page.evaluate(
        ({ placement, authoritative_consent }) =>
          window.SponsoredPlacement!.renderPlacement({
            target: '#slot',
            placement: placement!,
            authoritative_consent,
          }) !== null,
        { placement: response.placement, authoritative_consent: authoritative_consent as AuthoritativeConsent },
      )
      expect(isMounted).toBe(false)
    }
    const twice = Object.values(refused).flatMap(([, reason]) => [blockedLine(reason), blockedLine(reason)])
    expect(warnings(host)).toEqual(twice)
    expect(frameLoads(host)).toEqual([])
    await expectNothing(host)
  })

  test.concurrent("that the host knows stops a fill, although the response's own permits it", async () => {
    await using host = await stage.open()
    const known = await store(stage, host, { decision: 'granted', purposes: { semantic_targeting: true } })
    const response = await host.place({ format: 'banner' })
    expect(response.authoritative_consent).toMatchObject({ lifecycle_state: 'granted', revision: 1 })
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    host.backend_responses.push({ body: JSON.stringify(response), after: held })
    await startTurn(host, { authoritative_consent: { ...known, expires_at_ms: Date.now() + 5_000 } })
    await until(() => host.backend_calls, ['POST '])
    await host.pass(6_000)
    release()
    await expectBlocked(host, 'consent_expired')
    await expectNothing(host)
  })

  test.concurrent('because a later revision of the session has been seen is superseded', async () => {
    await using host = await stage.open()
    const older = await host.place({ format: 'banner', more: { consent: { semantic_targeting: false } } })
    const newer = await host.place({ format: 'banner', more: { consent: { semantic_targeting: true } } })
    expect([older.authoritative_consent?.revision, newer.authoritative_consent?.revision]).toEqual([1, 2])
    host.backend_responses.push({ body: JSON.stringify(newer) }, { body: JSON.stringify(older) })
    await startTurn(host)
    await host.waitForEvent('beacon', { event: 'render', accepted: true })
    await endTurn(host, 'cancel')
    const counted = await host.ledger()
    await runTurn(host)
    await expectBlocked(host, 'consent_superseded')
    expect(frameLoads(host)).toHaveLength(1)
    expect(await host.ledger()).toEqual(counted)
  })

  test.concurrent('of sessions that the response names, or nobody, does not affect another', async () => {
    await using host = await stage.open()
    const [first, second] = ['first', 'second'].map((name) => `${host.session_id}-${name}`) as [string, string]
    /** Requests as a backend does that chooses the session itself. */
    const placeIn = (session_id: string) => host.place({ format: 'banner', more: { session_id } })
    await store(stage, first, { decision: 'granted' })
    const older = await placeIn(first)
    await store(stage, first, { decision: 'granted', purposes: { semantic_targeting: true } })
    const newer = await placeIn(first)
    const other = await placeIn(second)
    const revisions = [older, newer, other].map((response) => response.authoritative_consent!.revision)
    expect(revisions).toEqual([1, 2, 1])
    const show = async (response: PlacementResponse, session_id?: string): Promise<void> => {
      host.backend_responses.push({ body: JSON.stringify({ ...response, session_id }) })
      await startTurn(host, { body: {} })
    }
    const shown: [PlacementResponse, string?][] = [[newer, first], [other, second], [newer], [other]]
    for (const [response, session_id] of shown) {
      await show(response, session_id)
      await until(() => turnState(host), 'rendered')
    }
    expect(warnings(host)).toEqual([])
    await show(older, first)
    await expectBlocked(host, 'consent_superseded')
  })

  test.concurrent('of one session does not affect another', async () => {
    await using host = await stage.open()
    const newer = { ...(await host.place({ format: 'banner' })), authoritative_consent: { ...granted(), revision: 5 } }
    host.backend_responses.push({ body: JSON.stringify(newer) })
    await runTurn(host)
    await runTurn(host, { body: { ...host.body({ format: 'banner' }), session_id: `${host.session_id}-other` } })
    expect(await host.types()).not.toContain('blocked')
  })
})

describe.concurrent('consent that ends while the ad shows', () => {
  test.concurrent('by its expiry removes the ad at that time', async () => {
    await using host = await stage.open(belowTheFold)
    const { expires_at_ms } = await store(stage, host, { decision: 'granted', expires_at_ms: Date.now() + minute_ms })
    await startTurn(host, { place: { format: 'banner' }, keepMounted: true })
    const { slot_id } = await host.waitForEvent('beacon', { event: 'render', accepted: true })
    const { at_ms } = await host.waitForEvent('blocked')
    expect(at_ms - expires_at_ms).toBeGreaterThanOrEqual(0)
    await expectBlocked(host, 'consent_expired')
    expect(await host.waitForEvent('cleared')).toMatchObject({ reason: 'consent_expired' })
    expect(await turnState(host)).toBe('blocked')
    expect(await host.ledger()).toEqual(['render accepted OK'])
    const { billing } = await stage.client.placements.explain({ params: { slot_id: slot_id! } })
    expect(billing).toMatchObject({ would_bill: false })
  })

  test.concurrent.each([
    ['withdrawn', { decision: 'withdrawn' }, 'consent_not_granted'],
    ['denied', { decision: 'denied' }, 'consent_not_granted'],
    ['superseded', { decision: 'granted', purposes: { prompt_shared: true } }, 'consent_superseded'],
  ] as const)(
    '%s in mid-turn: the next beacon is 403, the ad goes, its view does not count',
    async (_, more, reason) => {
      await using host = await stage.open(belowTheFold)
      await store(stage, host, { decision: 'granted' })
      await startTurn(host, { place: { format: 'banner' } })
      const { slot_id } = await host.waitForEvent('beacon', { event: 'render', accepted: true })
      await store(stage, host, more)
      await scrollToSlot(host)
      await expectBlocked(host, reason)
      await host.waitForEvent('beacon', { event: 'visible', accepted: false, reason_code: reason })
      expect(await turnState(host)).toBe('blocked')
      const posts = await Promise.all(beaconPosts(host).map(async (post) => (await post.response())?.status()))
      expect(posts).toEqual([200, 403])
      expect(await host.ledger()).toEqual(['render accepted OK', `visible rejected ${reason}`])
      const { billing } = await stage.client.placements.explain({ params: { slot_id: slot_id! } })
      expect(billing).toMatchObject({ would_bill: false })
    },
  )

  test.concurrent("by the service's clock: the page learns it from the next beacon", async () => {
    const clock = manualClock(Date.now())
    await using own = await openStage({ clock })
    await using host = await own.open(belowTheFold)
    await store(own, host, { decision: 'granted', expires_at_ms: clock.now() + 4 * minute_ms })
    await startTurn(host, { place: { format: 'banner' } })
    await host.waitForEvent('beacon', { event: 'render', accepted: true })
    clock.advance(4 * minute_ms)
    await scrollToSlot(host)
    await expectBlocked(host, 'consent_expired')
    expect(await host.ledger()).toEqual(['render accepted OK', 'visible rejected consent_expired'])
  })

  test.concurrent('after a view has counted: the view stays counted, a click does not', async () => {
    await using host = await stage.open()
    await startTurn(host, { place: { format: 'native', native_template_id: 'list_item' }, keepMounted: true })
    const { slot_id } = await host.waitForEvent('beacon', { event: 'visible', accepted: true })
    await store(stage, host, { decision: 'withdrawn' })
    await host.context.route('https://**', (route) => route.fulfill({ body: 'landing' }))
    await host.page.frameLocator('iframe').getByRole('link').click()
    await expectBlocked(host, 'consent_not_granted')
    expect(await host.ledger()).toEqual([
      'render accepted OK',
      'visible accepted OK +viewable_impression',
      'click rejected consent_not_granted',
    ])
    const { billing } = await stage.client.placements.explain({ params: { slot_id: slot_id! } })
    expect(billing).toMatchObject({ metric: 'viewable_impression', would_bill: true })
  })
})

describe.concurrent('consent that ends before the frame loads', () => {
  test.concurrent.each([
    ['withdrawn', { decision: 'withdrawn' }, 'consent_not_granted'],
    ['superseded', { decision: 'granted', purposes: { semantic_targeting: true } }, 'consent_superseded'],
  ] as const)('because it is %s: the frame is a 403 that says so', async (_, more, reason) => {
    await using host = await stage.open()
    await store(stage, host, { decision: 'granted' })
    host.backend_responses.push({ body: JSON.stringify(await host.place({ format: 'banner' })) })
    await store(stage, host, more)
    await startTurn(host)
    await expectBlocked(host, reason)
    expect(await turnState(host)).toBe('blocked')
    expect((await frameLoads(host)[0]?.response())?.status()).toBe(403)
    expect(frameLoads(host)).toHaveLength(1)
    await expectNothing(host)
  })
})

/** Runs in every document before its scripts: shifts the user's clock. */
function misreadClock(by_ms: number): void {
  const Right = Date
  const now = (): number => Right.now() + by_ms
  class WrongDate extends Right {
    constructor(...given: [] | [number | string]) {
      super(given.length === 0 ? now() : given[0])
    }
    static override now = now
  }
  Object.assign(window, { Date: WrongDate })
}

/** Expects that every beacon of the session was accepted, with the service's time. */
async function expectInTime({ client }: Stage, { session_id }: Host): Promise<void> {
  const { items } = await client.beacons.list({ query: { session_id } })
  expect(items.map(({ event, verdict }) => `${event} ${verdict}`).toSorted()).toEqual([
    'render accepted',
    'visible accepted',
  ])
  for (const { occurred_at_ms, received_at_ms } of items) {
    expect(Math.abs(occurred_at_ms! - received_at_ms)).toBeLessThan(minute_ms)
  }
}

describe.concurrent('a wrong clock', () => {
  const wrong = {
    'a day behind': -day_ms,
    'a day ahead': day_ms,
    'ten minutes behind': -10 * minute_ms,
    'ten minutes ahead': 10 * minute_ms,
  }

  test.concurrent.each(Object.entries(wrong))('of the user, %s, loses no placement and no beacon', async (_, by_ms) => {
    await using host = await stage.open({ before: (page) => page.addInitScript(misreadClock, by_ms) })
    const read_ms = await host.page.evaluate(() => Date.now())
    expect(Math.abs(read_ms - Date.now() - by_ms)).toBeLessThan(minute_ms)
    await store(stage, host, { decision: 'granted', expires_at_ms: Date.now() + 5 * minute_ms })
    await startTurn(host, { place: { format: 'banner' }, keepMounted: true })
    await host.waitForEvent('beacon', { event: 'visible', accepted: true })
    await expectInTime(stage, host)
    expect(await host.types()).not.toContain('blocked')
    expect(host.console_lines).toEqual([])
  })

  test.concurrent.each([-90_000, -6_000, 2 * minute_ms])('of the backend, by %i ms, loses nothing', async (by_ms) => {
    await using host = await stage.open()
    await store(stage, host, { decision: 'granted' })
    const headers = { date: new Date(Date.now() + by_ms).toUTCString() }
    host.backend_responses.push({ body: JSON.stringify(await host.place({ format: 'banner' })), headers })
    await startTurn(host, { keepMounted: true })
    await host.waitForEvent('beacon', { event: 'visible', accepted: true })
    await expectInTime(stage, host)
    expect(await host.types()).not.toContain('blocked')
  })

  test.concurrent.each(Object.entries(wrong))('of the user, %s, brings no expired consent back', async (_, by_ms) => {
    await using host = await stage.open({ before: (page) => page.addInitScript(misreadClock, by_ms) })
    const response = await host.place({ format: 'banner' })
    const authoritative_consent = { ...granted(), expires_at_ms: Date.now() - 10_000 }
    host.backend_responses.push({ body: JSON.stringify({ ...response, authoritative_consent }) })
    await runTurn(host)
    await expectBlocked(host, 'consent_expired')
    await expectNothing(host)
  })

  test.concurrent.each(Object.entries(wrong))(
    'of the user, %s, loses nothing without a backend either',
    async (_, by_ms) => {
      await using host = await stage.open({ before: (page) => page.addInitScript(misreadClock, by_ms) })
      await store(stage, host, { decision: 'granted', expires_at_ms: Date.now() + 5 * minute_ms })
      await activate(stage, host)
      await startTurn(host, { endpoint: '', place: { format: 'banner' }, keepMounted: true })
      await host.waitForEvent('beacon', { event: 'visible', accepted: true })
      await expectInTime(stage, host)
      expect(await host.types()).not.toContain('blocked')
    },
  )

  test.concurrent('of the user, that goes ahead while the ad is shown, loses neither view nor click', async () => {
    await using host = await stage.open(belowTheFold)
    await store(stage, host, { decision: 'granted' })
    await startTurn(host, { place: { format: 'banner' }, keepMounted: true })
    await host.waitForEvent('beacon', { event: 'render', accepted: true })
    await host.page.evaluate(misreadClock, 10 * minute_ms)
    await host.page.locator('#slot').scrollIntoViewIfNeeded()
    await host.waitForEvent('beacon', { event: 'visible', accepted: true })
    await host.page.frameLocator('iframe').getByRole('link').click()
    await host.waitForEvent('beacon', { event: 'click', accepted: true })
  })

  test.concurrent.each([
    ['forward past the end of the consent ends nothing', 10 * minute_ms, 1_000, []],
    ['back prolongs nothing', -day_ms, 5 * minute_ms, ['consent_expired']],
  ] as const)('of the user, set %s', async (_, by_ms, later_ms, blocked) => {
    await using host = await stage.open()
    await store(stage, host, { decision: 'granted', expires_at_ms: Date.now() + 5 * minute_ms })
    await startTurn(host, { place: { format: 'banner' }, keepMounted: true })
    await host.waitForEvent('beacon', { event: 'render', accepted: true })
    await host.page.evaluate(misreadClock, by_ms)
    await host.waitForEvent('beacon', { event: 'visible', accepted: true })
    await host.pass(later_ms)
    const events = (await host.events()).flatMap((event) => (event.type === 'blocked' ? [event.reason] : []))
    expect(events).toEqual(blocked)
  })

  test.concurrent('after the computer slept past the end of the consent, the service ends the ad', async () => {
    const clock = manualClock(Date.now())
    await using own = await openStage({ clock })
    await using host = await own.open()
    await store(own, host, { decision: 'granted', expires_at_ms: clock.now() + 5 * minute_ms })
    await startTurn(host, { place: { format: 'banner' }, keepMounted: true })
    await host.waitForEvent('beacon', { event: 'visible', accepted: true })
    clock.advance(10 * minute_ms)
    await host.page.evaluate(misreadClock, 10 * minute_ms)
    await host.waitForEvent('blocked', { reason: 'consent_expired' })
    expect(await view(host)).toEqual(nothing)
  })

  test.concurrent('that stands still while the computer sleeps stamps no beacon in the past', async () => {
    const clock = manualClock(Date.now())
    await using own = await openStage({ clock })
    await using host = await own.open()
    await startTurn(host, { place: { format: 'banner' }, keepMounted: true })
    await host.waitForEvent('beacon', { event: 'visible', accepted: true })
    clock.advance(10 * minute_ms)
    // In most browsers performance.now() does not count the time asleep; Date does.
    await host.page.evaluate(misreadClock, 10 * minute_ms)
    await host.page.frameLocator('iframe').getByRole('link').click()
    await host.waitForEvent('beacon', { event: 'click' })
    const { items } = await own.client.beacons.list({ query: { session_id: host.session_id, event: 'click' } })
    expect(items).toMatchObject([{ verdict: 'accepted' }])
    expect(Math.abs(items[0]!.occurred_at_ms! - clock.now())).toBeLessThan(60_000)
  })

  const moved: Record<string, (clock: ManualClock) => void> = {
    'thirty days ahead': (clock) => clock.advance(30 * day_ms),
    'thirty days back': (clock) => clock.set(Date.now() - 30 * day_ms),
  }
  test.concurrent.each(Object.entries(moved))('of the sandbox, %s, works in the browser too', async (_, move) => {
    const clock = manualClock(Date.now())
    await using own = await openStage({ clock })
    move(clock)
    await using host = await own.open()
    await store(own, host, { decision: 'granted', expires_at_ms: clock.now() + day_ms })
    await startTurn(host, { place: { format: 'banner' }, keepMounted: true })
    await host.waitForEvent('beacon', { event: 'visible', accepted: true })
    await expectInTime(own, host)
    expect(await host.types()).not.toContain('blocked')
  })

  test.concurrent('of the sandbox, thirty days ahead, works without a backend too', async () => {
    const clock = manualClock(Date.now() + 30 * day_ms)
    await using own = await openStage({ clock })
    await using host = await own.open()
    await store(own, host, { decision: 'granted' })
    await activate(own, host)
    await startTurn(host, { endpoint: '', place: { format: 'banner' }, keepMounted: true })
    await host.waitForEvent('beacon', { event: 'visible', accepted: true })
    await expectInTime(own, host)
  })

  async function activate({ sandbox }: Stage, { page }: Host): Promise<void> {
    const { publishable_key } = sandbox.keys
    await page.evaluate(async (publishableKey) => {
      await window.SponsoredPlacement!.activate({ publishableKey })
    }, publishable_key)
  }
})

test.concurrent('a snapshot in a response without a fill is ignored', async () => {
  await using host = await stage.open()
  const response: PlacementResponse = await host.place({ more: { test_outcome: 'no_fill' } })
  host.backend_responses.push({ body: JSON.stringify({ ...response, authoritative_consent: null }) })
  await runTurn(host)
  await host.waitForEvent('no_fill', { no_fill_reason: 'test_forced' })
  expect(warnings(host)).toEqual([])
})
