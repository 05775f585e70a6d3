/**
 * Every way in which the renderer refuses is provoked once: each `error` code, each `blocked` reason, each kind of
 * refused beacon. The tables are typed by the codes, so that the compiler demands a scenario for a new one.
 *
 * Over 300 lines because the tables are one list.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { ConsentReason } from '#renderer/host/consent.ts'
import type { ErrorCode, RendererEvent } from '#renderer/host/events.ts'
import { type ManualClock, manualClock, type SandboxOptions } from '#sandbox/index.ts'
import { honestly, replaceFrames } from './hostile-frame.ts'
import { type Host, type OpenOptions, openStage, type Stage } from './stage.ts'
import { beaconPosts, blockedLine, endTurn, expectNothing, nothing, startTurn, until, view, warnings } from './turns.ts'

vi.setConfig({ maxConcurrency: 3 })

let stage: Stage

beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage?.[Symbol.asyncDispose]())

interface Given {
  on: Stage
  host: Host
  /** The emulator's, where the scenario has one of its own. */
  clock: ManualClock
}

interface Scenario {
  /** Options of a separate emulator, on a clock that the scenario moves. */
  own?: SandboxOptions
  open?: OpenOptions
  provoke(given: Given): Promise<unknown>
  /** Other fields of the event. */
  emitted?: Partial<RendererEvent<'error'>>
  /** The beacons that were counted anyway. Without it, none was sent. */
  ledger?: string[]
  /** The ad stays; the code names what is missing. */
  stays?: true
}

async function play({ own, open, provoke }: Scenario, check: (given: Given) => Promise<void>): Promise<void> {
  const clock = manualClock(Date.now())
  await using beside = own === undefined ? null : await openStage({ clock, ...own })
  const on = beside ?? stage
  await using host = await on.open(open)
  await provoke({ on, host, clock })
  await check({ on, host, clock })
}

const place = { format: 'banner' } as const
/** A page whose slot is out of view: what is mounted there is rendered and not viewed. */
const below: OpenOptions = { html: '<div id="slot" style="margin-top:3000px"></div>' }

/** Starts a turn whose backend responds with `response`. */
async function respondToTurn(host: Host, response: unknown): Promise<void> {
  host.backend_responses.push({ body: JSON.stringify(response) })
  await startTurn(host)
}

/** Starts a turn whose backend responds with a fill, after `meanwhile`. */
async function respondLate(host: Host, meanwhile: () => Promise<unknown>): Promise<void> {
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  host.backend_responses.push({ body: JSON.stringify(await host.place(place)), after: held })
  await startTurn(host)
  await until(() => host.backend_calls.length, 1)
  await meanwhile()
  release()
}

/** A banner whose `render` has been changed. */
async function changedRender(host: Host, change: object): Promise<unknown> {
  const response = await host.place(place)
  const { placement } = response
  return { ...response, placement: { ...placement, render: { ...placement!.render, ...change } } }
}

const errors: Record<ErrorCode, Scenario> = {
  activation_failed: {
    provoke: ({ host }) =>
      host.page.evaluate(() => window.SponsoredPlacement!.activate({ publishableKey: 'pk_test_unknown' })),
    emitted: { status: 401, reason_code: 'key_unknown' },
  },
  autoplay_blocked: {
    open: {
      before: (page) =>
        page.addInitScript(() => {
          HTMLMediaElement.prototype.play = () => Promise.reject(new DOMException('play() failed', 'NotAllowedError'))
        }),
    },
    provoke: async ({ host }) => {
      await startTurn(host, { place: { format: 'clip', max_width: 320 } })
      await host.waitForEvent('beacon', { event: 'render', accepted: true })
    },
    ledger: ['render accepted OK'],
    stays: true,
  },
  asset_token_expired: {
    own: {},
    provoke: async ({ host, clock }) => {
      const response = await host.place(place)
      clock.advance(300_001)
      await respondToTurn(host, response)
    },
  },
  asset_token_invalid: {
    provoke: async ({ host, on }) =>
      respondToTurn(host, await changedRender(host, { frame_url: `${on.sandbox.url}/v1/render/ast_nobody` })),
  },
  creative_failed: {
    provoke: async ({ host }) => {
      await host.context.route('**/v1/test-assets/**', (route) => route.fulfill({ status: 404 }))
      await startTurn(host, { place })
    },
  },
  csp_blocked: {
    open: { headers: { 'content-security-policy': "frame-src 'none'" } },
    provoke: ({ host }) => startTurn(host, { place }),
    emitted: { directive: 'frame-src' },
  },
  decision_expired: {
    own: {},
    provoke: async ({ on, host, clock }) => {
      const { slot_id } = await host.place(place)
      clock.advance(600_000)
      await respondToTurn(host, await on.client.getDecision(slot_id))
    },
  },
  decision_pending: {
    own: { decision_latency_ms: 60_000 },
    provoke: async ({ host }) => host.mount(await host.place({ ...place, more: { wait_ms: 0 } })),
  },
  endpoint_missing: {
    provoke: ({ host }) => startTurn(host, { endpoint: '' }),
  },
  engine_unsupported: {
    open: { before: (page) => page.addInitScript('delete window.MessageChannel') },
    provoke: ({ host }) => startTurn(host, { place }),
  },
  frame_reloaded: {
    open: below,
    provoke: async ({ host }) => {
      await startTurn(host, { place })
      await host.waitForEvent('beacon', { event: 'render', accepted: true })
      await host.page.locator('iframe').evaluate((frame) => frame.setAttribute('src', 'about:blank'))
    },
    ledger: ['render accepted OK'],
  },
  internal: {
    provoke: ({ host }) =>
      host.page.evaluate(() => {
        const options = {
          get target(): string {
            throw new RangeError('of the host')
          },
        }
        window.SponsoredPlacement!.renderPlacement(options)
      }),
    emitted: { message: 'RangeError: of the host' },
  },
  label_removed: {
    provoke: async ({ host }) =>
      host.page.evaluate(
        async (response) => {
          window.SponsoredPlacement!.renderPlacement({ target: '#slot', response })
          const isDrawn = () => window.findAll('[data-sp-label]').length > 0
          while (!isDrawn()) await new Promise((resolve) => setTimeout(resolve))
          // In one call, so that nothing is painted in between: the observer is notified between two of these awaits.
          for (let fights = 0; fights < 100 && window.findAll('[data-sp-label]').length > 0; fights += 1) {
            window.findAll('[data-sp-label]')[0]?.remove()
            await Promise.resolve()
          }
        },
        await host.place(place),
      ),
  },
  late_decision: {
    provoke: ({ host }) => respondLate(host, () => endTurn(host)),
  },
  media_type_mismatch: {
    provoke: async ({ host }) => respondToTurn(host, await changedRender(host, { media_type: 'video' })),
  },
  message_flood: {
    provoke: async ({ host }) => {
      await replaceFrames(host.context, `for (let n = 0; n < 21; n += 1) say({ t: 'nothing' })`)
      await startTurn(host, { place })
    },
  },
  origin_opaque: {
    open: { headers: { 'content-security-policy': 'sandbox allow-scripts' } },
    provoke: ({ host }) => startTurn(host, { place }),
  },
  render_timeout: {
    provoke: async ({ host }) => {
      await replaceFrames(host.context, `say({ t: 'ready', nonce, ...settings })`)
      await startTurn(host, { place })
      await until(async () => (await view(host)).frames, 1)
      await host.pass(15_000)
    },
  },
  request_failed: {
    provoke: async ({ host }) => {
      host.backend_responses.push({ status: 500, body: '{"reason_code":"internal_error"}' })
      await startTurn(host)
    },
    emitted: { status: 500, reason_code: 'internal_error' },
  },
  response_unreadable: {
    provoke: ({ host }) => respondToTurn(host, { ok: true }),
  },
  script_incomplete: {
    provoke: async ({ host }) => {
      await host.context.route('**/assets/render/mounts.js', (route) => route.abort())
      await startTurn(host, { place })
    },
  },
  target_not_found: {
    provoke: ({ host }) => startTurn(host, { target: '#nowhere' }),
  },
  target_removed: {
    provoke: ({ host }) => respondLate(host, () => host.page.locator('#slot').evaluate((slot) => slot.remove())),
  },
  unmeasurable: {
    open: {
      before: (page) =>
        page.addInitScript(() => {
          Object.assign(window, { IntersectionObserver: undefined })
        }),
    },
    provoke: async ({ host }) => {
      await startTurn(host, { place, keepMounted: true })
      await host.waitForEvent('beacon', { event: 'render', accepted: true })
    },
    ledger: ['render accepted OK'],
    stays: true,
  },
}

describe.concurrent('an error', () => {
  test.concurrent.each(Object.entries(errors) as [ErrorCode, Scenario][])(
    '%s is emitted, once',
    async (code, scenario) => {
      await play(scenario, async ({ host }) => {
        await host.waitForEvent('error', { code, ...scenario.emitted })
        const emitted = (await host.events()).filter((event) => event.type === 'error')
        expect(emitted.map((event) => event.code)).toEqual([code])
        if (scenario.stays) expect(await view(host)).toMatchObject({ frames: 1, nodes: 1, occupied: 1 })
        else expect(await view(host)).toEqual(nothing)
        if (scenario.ledger) expect(await host.ledger()).toEqual(scenario.ledger)
        else await expectNothing(host)
        expect(host.console_lines.filter((line) => line.startsWith('pageerror'))).toEqual([])
      })
    },
  )
})

/** A fill whose snapshot has been changed. */
async function changedConsent(host: Host, change: object): Promise<void> {
  const response = await host.place(place)
  await respondToTurn(host, { ...response, authoritative_consent: { ...response.authoritative_consent, ...change } })
}

function consent({ client, sandbox }: Stage, { session_id }: Host, more: object): Promise<unknown> {
  return client.consent.set({ body: { client_id: sandbox.keys.client_id, session_id, ...more } })
}

const blocks: Record<ConsentReason, Pick<Scenario, 'own' | 'open' | 'provoke' | 'ledger'>> = {
  consent_missing: {
    provoke: async ({ host }) => {
      const { authoritative_consent: _, ...response } = await host.place(place)
      await respondToTurn(host, response)
    },
  },
  consent_unreadable: { provoke: ({ host }) => changedConsent(host, { revision: 'first' }) },
  consent_not_granted: {
    open: below,
    provoke: async ({ on, host }) => {
      await replaceFrames(host.context, `${honestly} setTimeout(() => say({ t: 'click', user_activated: true }), 300)`)
      await host.context.route('**/v1/beacons', async (route) => {
        if (route.request().postDataJSON().event === 'click') {
          await expect.poll(() => host.ledger()).toEqual(['render accepted OK'])
          await consent(on, host, { decision: 'withdrawn' })
        }
        await route.continue()
      })
      await consent(on, host, { decision: 'granted' })
      await startTurn(host, { place })
    },
    ledger: ['render accepted OK', 'click rejected consent_not_granted'],
  },
  consent_from_future: { provoke: ({ host }) => changedConsent(host, { updated_at_ms: Date.now() + 60_000 }) },
  consent_expired: {
    own: {},
    provoke: async ({ on, host, clock }) => {
      await consent(on, host, { decision: 'granted', expires_at_ms: clock.now() + 60_000 })
      const response = await host.place(place)
      clock.advance(60_000)
      await respondToTurn(host, response)
    },
  },
  consent_superseded: {
    provoke: async ({ on, host }) => {
      await consent(on, host, { decision: 'granted' })
      const response = await host.place(place)
      await consent(on, host, { decision: 'granted', purposes: { semantic_targeting: true } })
      await respondToTurn(host, response)
    },
  },
}

describe.concurrent('a block', () => {
  test.concurrent.each(Object.entries(blocks) as [ConsentReason, Scenario][])(
    'by %s is reported by an event and on the console, once each',
    async (reason, scenario) => {
      await play(scenario, async ({ host }) => {
        await host.waitForEvent('blocked', { reason })
        const emitted = (await host.events()).filter((event) => event.type === 'blocked')
        expect(emitted.map((event) => event.reason)).toEqual([reason])
        expect(await host.types()).not.toContain('error')
        expect(warnings(host)).toEqual([blockedLine(reason)])
        expect(await view(host)).toEqual(nothing)
        if (scenario.ledger) expect(await host.ledger()).toEqual(scenario.ledger)
        else await expectNothing(host)
      })
    },
  )
})

/** What happens to one beacon: no response, a response that is lost after it was counted, or a response. */
type Fate = 'unsent' | 'lost' | { status: number; reason_code: string; retry_after?: string }

/** Applies one fate to each of the next beacons of `event`; later ones reach the emulator. Resolves to their times in the page. */
async function decideBeacons({ context, page }: Host, event: string, fates: readonly Fate[]): Promise<number[]> {
  const left = [...fates]
  const times: number[] = []
  await context.route('**/v1/beacons', async (route) => {
    const isMeant = route.request().postDataJSON()?.event === event
    if (isMeant) times.push(await page.evaluate(() => performance.now()))
    const fate = isMeant ? left.shift() : undefined
    if (fate === undefined) return route.continue()
    if (fate === 'unsent') return route.abort()
    if (fate === 'lost') {
      await route.fetch()
      return route.abort()
    }
    const { status, reason_code, retry_after } = fate
    await route.fulfill({
      status,
      headers: {
        'access-control-allow-origin': '*',
        'access-control-expose-headers': 'retry-after',
        ...(retry_after && { 'retry-after': retry_after }),
      },
      json: { error: reason_code, reason_code },
    })
  })
  return times
}

/** Identifiers of the beacons of `event` that the browser tried to send. */
function tries(host: Host, event: string): string[] {
  return beaconPosts(host)
    .map((post) => post.postDataJSON() as { event: string; beacon_id: string })
    .filter((beacon) => beacon.event === event)
    .map(({ beacon_id }) => beacon_id)
}

/** Expects `count` attempts, all with the same identifier. */
function expectTries(host: Host, event: string, count: number): void {
  const ids = tries(host, event)
  expect(ids).toHaveLength(count)
  expect(new Set(ids).size).toBe(1)
}

const down = { status: 503, reason_code: 'injected_fault' } as const

describe.concurrent('a beacon', () => {
  test.concurrent.each([
    ['a service that is down twice', [down, down], 3],
    ['a service that is down thrice', [down, { status: 500, reason_code: 'internal_error' }, down], 4],
    ['a service that names the time', [{ ...down, retry_after: '2' }], 2],
    ['a rate limit that names the time', [{ status: 429, reason_code: 'rate_limited', retry_after: '2' }], 2],
    ['a network that fails four times', ['unsent', 'unsent', 'unsent', 'unsent'], 5],
  ] as [string, Fate[], number][])(
    'gets through %s: sent again under its own id, recorded once',
    async (_, fates, count) => {
      await using host = await stage.open(below)
      const times = await decideBeacons(host, 'render', fates)
      await startTurn(host, { place })
      await host.waitForEvent('beacon', { event: 'render', accepted: true, reason_code: 'OK' })
      expectTries(host, 'render', count)
      const isOrdered = fates.some((fate) => typeof fate === 'object' && fate.retry_after)
      expect(times[1]! - times[0]!).toBeGreaterThan(isOrdered ? 1_900 : 300)
      expect(await host.ledger()).toEqual(['render accepted OK'])
      expect((await host.types()).filter((type) => type === 'beacon')).toHaveLength(1)
    },
  )

  test.concurrent('whose response is lost is a duplicate the second time, and billed once', async () => {
    await using host = await stage.open()
    await decideBeacons(host, 'visible', ['lost'])
    await startTurn(host, { place, keepMounted: true })
    const { slot_id } = await host.waitForEvent('beacon', {
      event: 'visible',
      accepted: true,
      reason_code: 'DUPLICATE',
    })
    expectTries(host, 'visible', 2)
    expect((await host.ledger()).toSorted()).toEqual([
      'render accepted OK',
      'visible accepted OK +viewable_impression',
      'visible duplicate DUPLICATE',
    ])
    const { billing } = await stage.client.placements.explain({ params: { slot_id: slot_id! } })
    expect(billing).toMatchObject({ metric: 'viewable_impression', would_bill: true })
  })

  test.concurrent.each([
    ['four outages', [down, down, down, down], 'injected_fault', 4],
    ['a rate limit without a time', [{ status: 429, reason_code: 'rate_limited' }], 'rate_limited', 1],
    ['a refusal', [{ status: 400, reason_code: 'beacon_stale' }], 'beacon_stale', 1],
    ['a refused credential', [{ status: 401, reason_code: 'key_unknown' }], 'key_unknown', 1],
    ['a refused page', [{ status: 403, reason_code: 'origin_not_allowed' }], 'origin_not_allowed', 1],
  ] as [string, Fate[], string, number][])(
    'is given up after %s, and the page learns why',
    async (_, fates, reason_code, count) => {
      await using host = await stage.open(below)
      await decideBeacons(host, 'render', fates)
      await startTurn(host, { place })
      await host.waitForEvent('beacon', { event: 'render', accepted: false, reason_code })
      expectTries(host, 'render', count)
      expect(await host.ledger()).toEqual([])
      expect(await view(host)).toMatchObject({ frames: 1 })
    },
  )

  test.concurrent('with a token that has run out is a 401, and not tried again', async () => {
    const clock = manualClock(Date.now())
    await using own = await openStage({ clock })
    await using host = await own.open(below)
    await startTurn(host, { place })
    await host.waitForEvent('beacon', { event: 'render', accepted: true })
    clock.advance(1_800_001)
    await host.page.evaluate(() => document.querySelector('#slot')!.scrollIntoView())
    await host.waitForEvent('beacon', { event: 'visible', accepted: false, reason_code: 'activation_token_expired' })
    expectTries(host, 'visible', 1)
    expect(await host.ledger()).toEqual(['render accepted OK'])
  })

  test.concurrent.each([
    ['a secret key', 'sk_test_sandbox_demo', 'secret_key_in_browser'],
    ['a publishable key', 'pk_test_sandbox_demo', 'key_class'],
  ])('with %s of the host for a token is a 403, and not tried again', async (_, beaconToken, reason_code) => {
    await using host = await stage.open(below)
    await startTurn(host, { place, beaconToken })
    await host.waitForEvent('beacon', { event: 'render', accepted: false, reason_code })
    expect((await beaconPosts(host)[0]?.response())?.status()).toBe(403)
    expectTries(host, 'render', 1)
    expect(await host.ledger()).toEqual([])
  })

  test.concurrent('of a slot that the host has mixed up is a 400, recorded as rejected, and not sent again', async () => {
    await using host = await stage.open(below)
    const [response, other] = [await host.place(place), await host.place(place)]
    await respondToTurn(host, { ...response, slot_id: other.slot_id })
    await host.waitForEvent('beacon', { event: 'render', accepted: false, reason_code: 'slot_mismatch' })
    expectTries(host, 'render', 1)
    expect(await host.ledger()).toEqual(['render rejected slot_mismatch'])
    const { billing } = await stage.client.placements.explain({ params: { slot_id: response.slot_id } })
    expect(billing).toMatchObject({ would_bill: false })
  })

  test.concurrent('beyond the rate limit of the emulator waits for it, and is recorded once', async () => {
    const clock = manualClock(Date.now())
    await using limited = await openStage({ rate_limit: '1/s', clock })
    await using host = await limited.open()
    host.page.on('response', (response) => {
      if (response.status() === 429) clock.advance(1_000)
    })
    await replaceFrames(host.context, `${honestly} say({ t: 'click', user_activated: true })`)
    await startTurn(host, { place, keepMounted: true })
    for (const event of ['render', 'click', 'visible'] as const) {
      await host.waitForEvent('beacon', { event, accepted: true, reason_code: 'OK' })
    }
    expect(beaconPosts(host).length).toBeGreaterThan(3)
    for (const event of ['render', 'click', 'visible']) expect(new Set(tries(host, event)).size).toBe(1)
    expect((await host.ledger()).toSorted()).toEqual([
      'click accepted OK',
      'render accepted OK',
      'visible accepted OK +viewable_impression',
    ])
  })
})
