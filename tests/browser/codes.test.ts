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
import { blockedLine, endTurn, expectNothing, nothing, startTurn, until, view, warnings } from './turns.ts'

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
    provoke: async ({ host }) => {
      // A frame that paints sooner than the label is given up has been rendered.
      await replaceFrames(host.context, '')
      await host.page.evaluate(
        async (response) => {
          window.SponsoredPlacement!.renderPlacement({ target: '#slot', response })
          const isDrawn = () => window.findAll('[data-sp-label]').length > 0
          while (!isDrawn()) await new Promise((resolve) => setTimeout(resolve))
          const root = window.findAll('[data-sp-label]')[0]!.getRootNode()
          const remove = (): void => window.findAll('[data-sp-label]')[0]?.remove()
          new MutationObserver(remove).observe(root, { childList: true })
          remove()
          await window.passTime(2_000)
        },
        await host.place(place),
      )
    },
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
  option_unknown: {
    provoke: async ({ host }) => {
      const misspelt = { place, keepmounted: true }
      await startTurn(host, misspelt)
      await host.waitForEvent('beacon', { event: 'visible', accepted: true })
    },
    ledger: ['render accepted OK', 'visible accepted OK +viewable_impression'],
    stays: true,
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
      // The 15 s begin with the frame's ready, which may come after time has begun to pass.
      for (let passed_s = 0; passed_s < 60 && !(await host.types()).includes('error'); passed_s += 15)
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

/** Of the mount, of the turn and of a creative; the others are in depth. */
const usualErrors: readonly string[] = ['creative_failed', 'request_failed', 'response_unreadable', 'target_not_found']

async function expectError(code: ErrorCode, scenario: Scenario): Promise<void> {
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
}

describe.concurrent('an error', () => {
  const all = Object.entries(errors) as [ErrorCode, Scenario][]
  test.concurrent.each(all.filter(([code]) => usualErrors.includes(code)))('%s is emitted, once', expectError)
  const others = all.filter(([code]) => !usualErrors.includes(code))
  test.concurrent.each(others)('%s is emitted, once', { tags: 'depth' }, expectError)
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
  consent_revision_mismatch: {
    provoke: ({ host }) => changedConsent(host, { revision: 7 }),
    ledger: ['render rejected consent_revision_mismatch'],
  },
}

async function expectBlock(reason: ConsentReason, scenario: Scenario): Promise<void> {
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
}

describe.concurrent('a block', () => {
  const name = 'by %s is reported by an event and on the console, once each'
  const [first, ...others] = Object.entries(blocks) as [ConsentReason, Scenario][]
  test.concurrent.each([first!])(name, expectBlock)
  test.concurrent.each(others)(name, { tags: 'depth' }, expectBlock)
})
