/**
 * The life of a turn against the emulator: its states, what ends it, what is counted, what the page sees.
 *
 * It is long because it is one state machine: every transition is a test, and the list is complete only in one place.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Format } from '#contract/fields.ts'
import type { EventType } from '#renderer/host/events.ts'
import { openStage, type Stage } from './stage.ts'
import { nothing, one_ad, openTurnHost, rendered_only, type TurnRequest, viewed } from './turn-path.ts'
import { until } from './turns.ts'

vi.setConfig({ maxConcurrency: 3 })

let stage: Stage
beforeAll(async () => {
  stage = await openStage({ rate_limit: 'off' })
})
afterAll(() => stage?.[Symbol.asyncDispose]())

const open = () => openTurnHost(stage)
const banner: TurnRequest = { format: 'banner', max_width: 300, max_height: 250 }

async function withdraw(session_id: string): Promise<void> {
  const { client_id } = stage.sandbox.keys
  await stage.client.consent.set({ body: { client_id, session_id, decision: 'withdrawn' } })
}

/** From the request to the end: what is shown, sent and billed. */
async function expectWholeTurn(format: Format): Promise<void> {
  await using host = await open()
  await host.whenRendered(() => {
    const count = (selector: string) => window.findAll(selector).length
    Reflect.set(window, 'ads', [count('iframe'), count('[data-sp-label]')])
    for (const { turn } of window.followed.values()) turn.finish()
  })
  const id = await host.start({ format, max_width: 320, max_height: 250 })
  const { slot_id } = await host.waitForEvent('cleared')
  expect(await host.page.evaluate(() => Reflect.get(window, 'ads'))).toEqual([1, 1])
  expect(await host.path(id)).toEqual(['idle', 'requesting', 'filled', 'rendered', 'finishing', 'cleared'])
  await host.waitForEvent('beacon', { event: 'visible' })
  const played = format === 'clip' ? ['play_started accepted OK'] : []
  expect((await host.ledger()).toSorted()).toEqual([...played, ...viewed])
  expect(await host.billed(slot_id!)).toBe(true)
  expect(await host.shown()).toEqual(nothing)
  expect(host.backend_calls).toEqual(['POST '])
  expect(host.console_lines).toEqual([])
}

describe.concurrent('the states of a turn', () => {
  const whole = 'a %s is requested, mounted, rendered, finished and cleared once it was viewed'
  test.for(['banner'] as const)(whole, expectWholeTurn)
  test.for(['clip', 'native'] as const)(whole, { tags: 'depth' }, expectWholeTurn)

  test('the page sees what happened, and no credential', { tags: 'depth' }, async () => {
    await using host = await open()
    await host.whenRendered(() => {
      Reflect.set(window, 'document of the frame', (window.findAll('iframe')[0] as HTMLIFrameElement).contentDocument)
      for (const { turn } of window.followed.values()) turn.finish()
    })
    const id = await host.start(banner)
    await host.waitForEvent('cleared')
    expect(await host.page.evaluate(() => Reflect.get(window, 'document of the frame'))).toBe(null)
    await host.waitForEvent('beacon', { event: 'visible' })
    const events = await host.events()
    expect(events.map(({ type }) => type).filter((type) => type !== 'beacon')).toEqual([
      'turn:started',
      'decision',
      'rendered',
      'turn:finished',
      'visible',
      'cleared',
    ])
    expect(new Set(events.map(({ turn_id }) => turn_id))).toEqual(new Set([id]))
    expect(JSON.stringify(events)).not.toMatch(/bt_|ast_|sk_|Bearer/)
  })

  test('no fill ends it', { tags: 'depth' }, async () => {
    await using host = await open()
    const id = await host.start({ more: { test_outcome: 'no_fill' } })
    await host.reaches(id, 'no_fill')
    expect(await host.path(id)).toEqual(['idle', 'requesting', 'no_fill'])
    expect(await host.types()).toEqual(['turn:started', 'decision', 'no_fill'])
    expect(await host.shown()).toEqual(nothing)
    expect(await host.ledger()).toEqual([])
  })

  test('a consent of the page that is denied blocks it before any request', async () => {
    await using host = await open()
    const { authoritative_consent } = await host.place(banner)
    const denied = { ...authoritative_consent, lifecycle_state: 'denied' }
    const id = await host.start({ ...banner, authoritative_consent: denied })
    await host.reaches(id, 'blocked')
    expect(await host.path(id)).toEqual(['idle', 'consent_check', 'blocked'])
    expect(host.backend_calls).toEqual([])
    expect(host.console_lines).toEqual(['warning: [sponsored placement] blocked: consent_not_granted'])
    expect(await host.shown()).toEqual(nothing)
  })

  test.for([
    ['denied', 'consent_not_granted'],
    ['missing', 'consent_missing'],
  ] as const)(
    'a fill whose consent is %s is blocked before it is mounted',
    { tags: 'depth' },
    async ([how, reason]) => {
      await using host = await open()
      const { authoritative_consent, ...response } = await host.place(banner)
      const denied = { authoritative_consent: { ...authoritative_consent, lifecycle_state: 'denied' } }
      host.backend_responses.push({ body: JSON.stringify({ ...response, ...(how === 'denied' && denied) }) })
      const id = await host.start(banner)
      await host.waitForEvent('blocked', { reason })
      await host.reaches(id, 'blocked')
      expect(await host.path(id)).toEqual(['idle', 'requesting', 'filled', 'blocked'])
      expect(host.requests.filter((request) => request.url().includes('/v1/render/'))).toEqual([])
      expect(await host.ledger()).toEqual([])
    },
  )

  test('a consent withdrawn while it mounts blocks it', { tags: 'depth' }, async () => {
    await using host = await open()
    const release = await host.holdFrames()
    const id = await host.start(banner)
    await host.reaches(id, 'mounting')
    await withdraw(host.session_id)
    release()
    await host.reaches(id, 'blocked')
    expect(await host.path(id)).toEqual(['idle', 'requesting', 'filled', 'mounting', 'blocked'])
    expect(await host.shown()).toEqual(nothing)
    expect(await host.ledger()).toEqual([])
  })

  test('a consent withdrawn while it shows blocks it: the view is rejected, nothing is billed', async () => {
    await using host = await open()
    await host.page.locator('#slot').evaluate((slot) => slot.style.setProperty('margin-top', '3000px'))
    const id = await host.start(banner)
    const { slot_id } = await host.waitForEvent('beacon', { event: 'render' })
    await withdraw(host.session_id)
    await host.page.locator('#slot').evaluate((slot) => slot.scrollIntoView())
    await host.reaches(id, 'blocked')
    expect((await host.path(id)).slice(-2)).toEqual(['rendered', 'blocked'])
    expect(await host.ledger()).toEqual(['render accepted OK', 'visible rejected consent_not_granted'])
    expect(await host.billed(slot_id!)).toBe(false)
    expect(await host.shown()).toEqual(nothing)
  })

  test.for([
    ['target_not_found', { target: '#elsewhere' }, ['idle', 'failed']],
    ['target_not_found', { target: '>>>' }, ['idle', 'failed']],
    ['endpoint_missing', { endpoint: null }, ['idle', 'consent_check', 'failed']],
    ['request_failed', { endpoint: '/api/nobody' }, ['idle', 'requesting', 'failed']],
    ['request_failed', { endpoint: 'http://127.0.0.1:1/' }, ['idle', 'requesting', 'failed']],
  ] as const)('%s fails it: %o', { tags: 'depth' }, async ([code, request, path]) => {
    await using host = await open()
    const id = await host.start({ ...banner, ...request })
    await host.waitForEvent('error', { code })
    expect(await host.path(id)).toEqual(path)
    expect(await host.shown()).toEqual(nothing)
    expect(await host.ledger()).toEqual([])
  })

  test('a response that is not the service’s fails it, and is named', { tags: 'depth' }, async () => {
    await using host = await open()
    host.backend_responses.push({ body: JSON.stringify({ ad: await host.place(banner) }) })
    const id = await host.start(banner)
    expect(await host.waitForEvent('error')).toMatchObject({ code: 'response_unreadable', got: ['ad'] })
    expect(await host.path(id)).toEqual(['idle', 'requesting', 'failed'])
  })

  test('a creative that is gone fails it while it mounts', { tags: 'depth' }, async () => {
    await using host = await open()
    await host.context.route('**/v1/test-assets/**', (route) => route.abort())
    const id = await host.start(banner)
    await host.waitForEvent('error', { code: 'creative_failed' })
    expect(await host.path(id)).toEqual(['idle', 'requesting', 'filled', 'mounting', 'failed'])
    expect(await host.shown()).toEqual(nothing)
    expect(await host.ledger()).toEqual([])
  })

  test('a frame that loads again fails it while it shows', { tags: 'depth' }, async () => {
    await using host = await open()
    const id = await host.start(banner)
    await host.waitForEvent('beacon', { event: 'render' })
    await host.page.evaluate(() => {
      const frame = window.findAll('iframe')[0] as HTMLIFrameElement
      frame.setAttribute('src', `${frame.src}?again`)
    })
    await host.waitForEvent('error', { code: 'frame_reloaded' })
    expect((await host.path(id)).slice(-2)).toEqual(['rendered', 'failed'])
    expect(await host.shown()).toEqual(nothing)
  })
})

describe.concurrent('withTurn', () => {
  test('returns the same result, and finishes', async () => {
    await using host = await open()
    const outcome = await host.page.evaluate(
      async ({ endpoint, body }) => {
        const result = { answer: 42 }
        const seen: string[] = []
        const got = await window.SponsoredPlacement!.withTurn({ target: '#slot', endpoint, body }, async (turn) => {
          seen.push(turn.state)
          await turn.decision
          seen.push(turn.state)
          return result
        })
        return { isSame: got === result, seen }
      },
      { endpoint: host.endpoint, body: host.body(banner) },
    )
    expect(outcome).toEqual({ isSame: true, seen: ['idle', 'mounting'] })
    await host.waitForEvent('turn:finished')
    await host.waitForEvent('cleared', { reason: 'finished' })
    await host.waitForEvent('beacon', { event: 'visible' })
    expect(await host.ledger()).toEqual(viewed)
  })

  test.for(['throws', 'rejects'] as const)(
    'passes on the very exception of work that %s, and finishes',
    { tags: 'depth' },
    async (how) => {
      await using host = await open()
      const isSame = await host.page.evaluate(
        async ({ endpoint, body, how }) => {
          const problem = new RangeError('of the host')
          const work = (): Promise<never> => {
            if (how === 'throws') throw problem
            return Promise.reject(problem)
          }
          return window
            .SponsoredPlacement!.withTurn({ target: '#slot', endpoint, body }, work)
            .catch((caught: unknown) => caught === problem)
        },
        { endpoint: host.endpoint, body: host.body(banner), how },
      )
      expect(isSame).toBe(true)
      await host.waitForEvent('turn:finished')
      expect(await host.shown()).toEqual(nothing)
    },
  )

  test.for([
    ['the backend fails', { status: 500, body: 'out of order' }],
    ['the answer is not JSON', { body: '<html>' }],
    ['the answer is null', { body: 'null' }],
  ] as const)('is not disturbed when %s', { tags: 'depth' }, async ([, answer]) => {
    await using host = await open()
    host.backend_responses.push(answer)
    const result = await host.page.evaluate(
      ({ endpoint, body }) =>
        window.SponsoredPlacement!.withTurn({ target: '#slot', endpoint, body }, async (turn) => {
          await turn.decision
          return `the answer, ${turn.state}`
        }),
      { endpoint: host.endpoint, body: host.body(banner) },
    )
    expect(result).toBe('the answer, failed')
    expect(host.console_lines.filter((line) => line.startsWith('pageerror'))).toEqual([])
  })
})

describe.concurrent('finish', () => {
  test('before the decision: the decision comes too late, nothing is mounted', { tags: 'depth' }, async () => {
    await using host = await open()
    const { release, response } = await host.hold(banner)
    const id = await host.start(banner)
    await host.reaches(id, 'requesting')
    await host.call(id, 'finish')
    release()
    await host.waitForEvent('error', { code: 'late_decision' })
    expect(await host.path(id)).toEqual(['idle', 'requesting', 'cleared'])
    expect(await host.types()).toEqual(['turn:started', 'turn:finished', 'error'])
    expect(await host.shown()).toEqual(nothing)
    expect(await host.ledger()).toEqual([])
    expect(await host.billed(response.slot_id)).toBe(false)
  })

  test('while it mounts: it is rendered, stays for its dwell, and is cleared', async () => {
    await using host = await open()
    const release = await host.holdFrames()
    const id = await host.start(banner)
    await host.reaches(id, 'mounting')
    await host.call(id, 'finish')
    expect(await host.shown()).toEqual(one_ad)
    release()
    await host.waitForEvent('cleared', { reason: 'finished' })
    expect((await host.path(id)).at(-1)).toBe('cleared')
    expect((await host.types()).filter((type) => type !== 'beacon')).toEqual([
      'turn:started',
      'decision',
      'turn:finished',
      'rendered',
      'visible',
      'cleared',
    ])
    await host.waitForEvent('beacon', { event: 'visible' })
    expect(await host.ledger()).toEqual(viewed)
  })

  test('before the dwell: the ad stays as long as it is out of view, and is cleared once viewed', {
    tags: 'depth',
  }, async () => {
    await using host = await open()
    await host.page.locator('#slot').evaluate((slot) => slot.style.setProperty('margin-top', '3000px'))
    const id = await host.start(banner)
    await host.waitForEvent('beacon', { event: 'render' })
    await host.call(id, 'finish')
    await host.reaches(id, 'finishing')
    expect(await host.shown()).toEqual(one_ad)
    expect(await host.types()).not.toContain('visible')
    await host.page.locator('#slot').evaluate((slot) => slot.scrollIntoView())
    await host.reaches(id, 'cleared')
    await host.waitForEvent('beacon', { event: 'visible' })
    expect(await host.ledger()).toEqual(viewed)
    expect(await host.shown()).toEqual(nothing)
  })

  test('after the dwell: the ad is cleared at once', { tags: 'depth' }, async () => {
    await using host = await open()
    const id = await host.start(banner)
    await host.waitForEvent('visible')
    const state = await host.page.evaluate((id) => {
      const { turn } = window.followed.get(id)!
      turn.finish()
      return { state: turn.state, frames: window.findAll('iframe').length }
    }, id)
    expect(state).toEqual({ state: 'cleared', frames: 0 })
    await host.waitForEvent('beacon', { event: 'visible' })
    expect(await host.ledger()).toEqual(viewed)
  })

  test('twice has the effect of once', { tags: 'depth' }, async () => {
    await using host = await open()
    const id = await host.start(banner)
    await host.waitForEvent('visible')
    await host.call(id, 'finish')
    await host.call(id, 'finish')
    await host.call(id, 'cancel')
    expect((await host.types()).filter((type) => type === 'turn:finished' || type === 'cleared')).toHaveLength(2)
    expect((await host.path(id)).at(-1)).toBe('cleared')
    expect(await host.types()).not.toContain('turn:cancelled')
  })

  test('with keepMounted the ad stays, viewed, until the next turn replaces it', { tags: 'depth' }, async () => {
    await using host = await open()
    const id = await host.start({ ...banner, keepMounted: true })
    await host.reaches(id, 'rendered')
    await host.call(id, 'finish')
    await host.waitForEvent('beacon', { event: 'visible' })
    expect(await host.shown()).toEqual(one_ad)
    expect((await host.path(id)).at(-1)).toBe('rendered')
    const next = await host.start({ more: { test_outcome: 'no_fill' } })
    await host.reaches(next, 'no_fill')
    expect((await host.path(id)).at(-1)).toBe('cleared')
    expect(await host.types()).not.toContain('turn:cancelled')
    expect(await host.waitForEvent('cleared')).toMatchObject({ turn_id: id, reason: 'replaced' })
    expect(await host.shown()).toEqual(nothing)
    expect(await host.ledger()).toEqual(viewed)
  })
})

describe.concurrent('cancel', () => {
  test('at once: nothing is requested', { tags: 'depth' }, async () => {
    await using host = await open()
    const state = await host.page.evaluate(
      async ({ endpoint, body }) => {
        const turn = window.SponsoredPlacement!.startTurn({ target: '#slot', endpoint, body })
        turn.cancel()
        return { state: turn.state, decision: await turn.decision }
      },
      { endpoint: host.endpoint, body: host.body(banner) },
    )
    expect(state).toEqual({ state: 'cancelled', decision: null })
    expect(host.backend_calls).toEqual([])
    expect(await host.types()).toEqual(['turn:started', 'turn:cancelled'])
    expect(await host.shown()).toEqual(nothing)
  })

  test('while requesting: the decision comes too late', { tags: 'depth' }, async () => {
    await using host = await open()
    const { release } = await host.hold(banner)
    const id = await host.start(banner)
    await host.reaches(id, 'requesting')
    await host.call(id, 'cancel')
    expect(await host.path(id)).toEqual(['idle', 'requesting', 'cancelled'])
    release()
    await host.waitForEvent('error', { code: 'late_decision' })
    expect(await host.path(id)).toEqual(['idle', 'requesting', 'cancelled'])
    expect(await host.shown()).toEqual(nothing)
    expect(await host.ledger()).toEqual([])
  })

  test('while mounting: the frame is removed before its first message', { tags: 'depth' }, async () => {
    await using host = await open()
    const release = await host.holdFrames()
    const id = await host.start(banner)
    await host.reaches(id, 'mounting')
    await host.call(id, 'cancel')
    release()
    expect(await host.path(id)).toEqual(['idle', 'requesting', 'filled', 'mounting', 'cancelled'])
    expect(await host.types()).toEqual(['turn:started', 'decision', 'turn:cancelled', 'cleared'])
    expect(await host.shown()).toEqual(nothing)
    expect(await host.ledger()).toEqual([])
  })

  test('while it shows: the ad is cleared at once, and not viewed', async () => {
    await using host = await open()
    await host.whenRendered(() => [...window.followed.values()][0]!.turn.cancel())
    const id = await host.start(banner)
    const { slot_id } = await host.waitForEvent('beacon', { event: 'render' })
    await host.reaches(id, 'cancelled')
    expect((await host.path(id)).slice(-2)).toEqual(['rendered', 'cancelled'])
    expect(await host.shown()).toEqual(nothing)
    await host.start(banner)
    await host.waitForEvent('beacon', { event: 'visible' })
    expect(await host.ledger()).toEqual([...rendered_only, ...viewed])
    expect(await host.billed(slot_id!)).toBe(false)
  })

  test('while it finishes: the ad is cleared at once', { tags: 'depth' }, async () => {
    await using host = await open()
    await host.page.locator('#slot').evaluate((slot) => slot.style.setProperty('margin-top', '3000px'))
    const id = await host.start(banner)
    await host.waitForEvent('beacon', { event: 'render' })
    await host.call(id, 'finish')
    await host.call(id, 'cancel')
    expect((await host.path(id)).slice(-2)).toEqual(['finishing', 'cancelled'])
    expect(await host.shown()).toEqual(nothing)
  })

  test.for([
    ['no_fill', { more: { test_outcome: 'no_fill' } }],
    ['failed', { endpoint: '/api/nobody' }],
    ['blocked', { authoritative_consent: null }],
  ] as const)('after %s changes nothing', { tags: 'depth' }, async ([state, request]) => {
    await using host = await open()
    const id = await host.start(request)
    await host.reaches(id, state)
    await host.call(id, 'cancel')
    await host.call(id, 'finish')
    expect((await host.path(id)).at(-1)).toBe(state)
    expect(await host.types()).not.toContain('turn:cancelled')
  })

  test.for([
    ['cancel', 'decision', 'cancelled'],
    ['finish', 'decision', 'cleared'],
  ] as const)(
    '%s from a listener of %s is heeded: nothing is mounted',
    { tags: 'depth' },
    async ([call, event, state]) => {
      await using host = await open()
      const id = await host.start({ ...banner, within: { event, call } })
      await host.waitForEvent(event)
      await host.reaches(id, state)
      expect(await host.shown()).toEqual(nothing)
      const next = await host.start(banner)
      await host.waitForEvent('beacon', { event: 'visible', turn_id: next })
      expect((await host.path(id)).at(-1)).toBe(state)
      expect(await host.ledger()).toEqual(viewed)
    },
  )

  test('cancel from a listener of rendered takes effect: the ad is cleared, and no event follows', {
    tags: 'depth',
  }, async () => {
    await using host = await open()
    const id = await host.start({ ...banner, within: { event: 'rendered', call: 'cancel' } })
    await host.waitForEvent('cleared')
    expect(await host.shown()).toEqual(nothing)
    const next = await host.start(banner)
    await host.waitForEvent('beacon', { event: 'visible', turn_id: next })
    expect((await host.path(id)).at(-1)).toBe('cancelled')
    expect((await host.ledger()).filter((line) => line.startsWith('visible'))).toHaveLength(1)
  })
})

describe.concurrent('an AbortSignal', () => {
  test('aborted before: nothing is requested', { tags: 'depth' }, async () => {
    await using host = await open()
    const id = await host.start({ ...banner, signal: 'aborted' })
    expect(await host.path(id)).toEqual(['cancelled'])
    expect(await host.types()).toEqual(['turn:started', 'turn:cancelled'])
    expect(host.backend_calls).toEqual([])
  })

  test('aborted while requesting: the request ends as well', async () => {
    await using host = await open()
    const { release } = await host.hold(banner)
    const id = await host.start({ ...banner, signal: 'open' })
    const ended = host.page.waitForEvent('requestfailed')
    await until(() => host.backend_calls, ['POST '])
    await host.call(id, 'abort')
    expect((await ended).url()).toContain(host.endpoint)
    release()
    expect(await host.path(id)).toEqual(['idle', 'requesting', 'cancelled'])
    expect(await host.types()).toEqual(['turn:started', 'turn:cancelled'])
    expect(await host.page.evaluate((id) => window.followed.get(id)!.turn.decision, id)).toBe(null)
  })

  test.for(['mounting', 'rendered'] as const)('aborted in state %s: the ad goes', { tags: 'depth' }, async (state) => {
    await using host = await open()
    const release = state === 'mounting' ? await host.holdFrames() : () => {}
    const id = await host.start({ ...banner, signal: 'open' })
    await host.reaches(id, state)
    await host.call(id, 'abort')
    release()
    expect((await host.path(id)).slice(-2)).toEqual([state, 'cancelled'])
    expect(await host.waitForEvent('cleared')).toMatchObject({ reason: 'aborted' })
    expect(await host.shown()).toEqual(nothing)
  })

  test('aborted after the turn: an ad that stayed mounted is cleared', { tags: 'depth' }, async () => {
    await using host = await open()
    const id = await host.start({ ...banner, signal: 'open', keepMounted: true })
    await host.reaches(id, 'rendered')
    await host.call(id, 'finish')
    await host.call(id, 'abort')
    expect((await host.path(id)).at(-1)).toBe('cleared')
    expect(await host.shown()).toEqual(nothing)
  })
})

describe.concurrent('turns of one page', () => {
  test('the same id is the same turn: one request, one ad, also after it has ended', async () => {
    await using host = await open()
    const same = await host.page.evaluate(
      async ({ endpoint, body }) => {
        const { startTurn } = window.SponsoredPlacement!
        const options = { target: '#slot', endpoint, body, turnId: 'message-1' }
        const first = startTurn(options)
        const second = startTurn({ ...options, target: document.querySelector('#slot')! })
        await first.decision
        return [first === second, first === startTurn(options)]
      },
      { endpoint: host.endpoint, body: host.body(banner) },
    )
    expect(same).toEqual([true, true])
    await host.waitForEvent('visible')
    expect(await host.shown()).toEqual(one_ad)
    const isSameAfterwards = await host.page.evaluate(
      ({ endpoint, body }) => {
        const { startTurn } = window.SponsoredPlacement!
        const options = { target: '#slot', endpoint, body, turnId: 'message-1' }
        const turn = startTurn(options)
        turn.finish()
        return [turn.state, startTurn(options) === turn]
      },
      { endpoint: host.endpoint, body: host.body(banner) },
    )
    expect(isSameAfterwards).toEqual(['cleared', true])
    await host.waitForEvent('beacon', { event: 'visible' })
    expect(host.backend_calls).toEqual(['POST '])
    expect(await host.ledger()).toEqual(viewed)
  })

  test('a turn without an id is a new one, even after one whose id is empty', { tags: 'depth' }, async () => {
    await using host = await open()
    const isSame = await host.page.evaluate(
      ({ endpoint, body }) => {
        const { startTurn } = window.SponsoredPlacement!
        const options = { target: '#slot', endpoint, body }
        return startTurn({ ...options, turnId: '' }) === startTurn(options)
      },
      { endpoint: host.endpoint, body: host.body(banner) },
    )
    expect(isSame).toBe(false)
  })

  test('a listener that fills a target again while it is replaced leaves one ad on it', { tags: 'depth' }, async () => {
    await using host = await open()
    const responses = await Promise.all([host.place(banner), host.place(banner)])
    await host.show(banner)
    await host.waitForEvent('rendered')
    await host.page.evaluate(([again, replacement]) => {
      const { on, renderPlacement } = window.SponsoredPlacement!
      const off = on('cleared', () => {
        off()
        renderPlacement({ target: '#slot', response: again! })
      })
      renderPlacement({ target: '#slot', response: replacement! })
    }, responses)
    await until(() => host.shown(), one_ad)
    await host.page.evaluate(() => window.SponsoredPlacement!.clearPlacement({ target: '#slot' }))
    expect(await host.shown()).toEqual(nothing)
  })

  test('the id of a cancelled turn starts a new one', { tags: 'depth' }, async () => {
    await using host = await open()
    const first = await host.start({ ...banner, turnId: 'message-1' })
    await host.call(first, 'cancel')
    await host.start({ ...banner, turnId: 'message-1' })
    await host.waitForEvent('beacon', { event: 'render' })
    expect(await host.shown()).toEqual(one_ad)
  })

  test('a new turn cancels and clears the one that shows, whose counted view stays counted', async () => {
    await using host = await open()
    const old = await host.start(banner)
    const { slot_id } = await host.waitForEvent('beacon', { event: 'visible', turn_id: old })
    const next = await host.start(banner)
    await host.waitForEvent('beacon', { event: 'visible', turn_id: next })
    const events = (await host.events()).filter(({ type }) => type !== 'beacon')
    expect(events.map(({ type, turn_id }) => `${turn_id === old ? 'old' : 'new'} ${type}`)).toEqual([
      'old turn:started',
      'old decision',
      'old rendered',
      'old visible',
      'old turn:cancelled',
      'old cleared',
      'new turn:started',
      'new decision',
      'new rendered',
      'new visible',
    ])
    expect(await host.ledger()).toEqual([...viewed, ...viewed])
    expect(await host.billed(slot_id!)).toBe(true)
    expect(await host.shown()).toEqual(one_ad)
  })

  test('a new turn before the old one was viewed: only the new one is', { tags: 'depth' }, async () => {
    await using host = await open()
    const { old, next } = await host.page.evaluate(
      async ({ endpoint, body }) => {
        const request = { target: '#slot', endpoint, body }
        const old = window.SponsoredPlacement!.startTurn(request)
        await new Promise((resolve) => old.on('rendered', () => setTimeout(resolve)))
        const next = window.SponsoredPlacement!.startTurn(request)
        return { old: { id: old.id, state: old.state }, next: next.id }
      },
      { endpoint: host.endpoint, body: host.body(banner) },
    )
    expect(old.state).toBe('cancelled')
    const { slot_id } = await host.waitForEvent('cleared', { turn_id: old.id, reason: 'replaced' })
    await host.waitForEvent('beacon', { event: 'visible', turn_id: next })
    expect(await host.ledger()).toEqual([...rendered_only, ...viewed])
    expect(await host.billed(slot_id!)).toBe(false)
  })

  test('a new turn while the old one is requesting: the old decision comes too late', { tags: 'depth' }, async () => {
    await using host = await open()
    const { release } = await host.hold(banner)
    const old = await host.start(banner)
    await until(() => host.backend_calls, ['POST '])
    const next = await host.start(banner)
    await host.waitForEvent('rendered', { turn_id: next })
    release()
    await host.waitForEvent('error', { code: 'late_decision', turn_id: old })
    expect(await host.shown()).toEqual(one_ad)
  })

  test('slots of one session show side by side, and each is counted', { tags: 'depth' }, async () => {
    const ids = ['a', 'b', 'c', 'd', 'e']
    const html = ids.map((id) => `<div id="${id}" style="display:inline-block;width:240px"></div>`).join('')
    await using host = await openTurnHost(stage, { html, context: { viewport: { width: 1_300, height: 900 } } })
    const formats = ['banner', 'native', 'clip', 'banner', 'native'] as const
    const turns = await Promise.all(
      ids.map((id, n) => host.start({ target: `#${id}`, format: formats[n]!, max_width: 320, max_height: 250 })),
    )
    await host.waitForEvent('beacon', { event: 'visible' }, 5)
    expect(await host.shown()).toEqual({ frames: 5, labels: 5, occupied: 5 })
    expect((await host.ledger()).toSorted()).toEqual([
      'play_started accepted OK',
      ...ids.map(() => 'render accepted OK'),
      ...ids.map(() => 'visible accepted OK +viewable_impression'),
    ])
    await host.call(turns[1]!, 'cancel')
    expect(await host.shown()).toEqual({ frames: 4, labels: 4, occupied: 4 })
    await host.page.evaluate(() => window.SponsoredPlacement!.clearPlacement({ target: '#a' }))
    expect(await host.shown()).toEqual({ frames: 3, labels: 3, occupied: 3 })
    expect(await host.path(turns[0]!)).toContain('cancelled')
  })

  test('destroy ends all of them, and the API stays usable', { tags: 'depth' }, async () => {
    const html = '<div id="slot"></div><div id="other"></div><div id="handle"></div>'
    await using host = await openTurnHost(stage, { html })
    const { release } = await host.hold(banner)
    const requesting = await host.start({ ...banner, target: '#other' })
    await until(() => host.backend_calls, ['POST '])
    const showing = await host.start(banner)
    await host.show(banner, '#handle')
    await host.waitForEvent('rendered', {}, 2)
    await host.page.evaluate(() => window.SponsoredPlacement!.destroy())
    release()
    await host.waitForEvent('error', { code: 'late_decision' })
    expect(await host.shown()).toEqual(nothing)
    expect((await host.path(requesting)).at(-1)).toBe('cancelled')
    expect((await host.path(showing)).at(-1)).toBe('cancelled')
    const state = await host.page.evaluate(() => window.SponsoredPlacement!.state())
    expect(state).toMatchObject({ turns: [], occupied: 0, activation: null })
    const again = await host.start(banner)
    await host.waitForEvent('beacon', { event: 'visible', turn_id: again })
    expect(await host.shown()).toEqual(one_ad)
  })

  test('clearPlacement clears what was mounted without a turn, and ignores an unknown target', {
    tags: 'depth',
  }, async () => {
    await using host = await open()
    await host.whenRendered(() => {
      window.SponsoredPlacement!.clearPlacement({ target: '#slot' })
      window.SponsoredPlacement!.clearPlacement({ target: '#slot' })
      window.SponsoredPlacement!.clearPlacement({ target: '#elsewhere' })
    })
    await host.show(banner)
    await host.waitForEvent('beacon', { event: 'render' })
    await host.waitForEvent('cleared')
    expect((await host.types()).toSorted()).toEqual(['beacon', 'cleared', 'rendered'] satisfies EventType[])
    expect(await host.shown()).toEqual(nothing)
    expect(await host.ledger()).toEqual(rendered_only)
  })
})

test('a response that its target shows already is not mounted again', async () => {
  await using host = await openTurnHost(stage)
  const response = await host.place(banner)
  const isSame = await host.page.evaluate((response) => {
    const render = () => window.SponsoredPlacement!.renderPlacement({ target: '#slot', response })
    const [first, again] = [render(), render()]
    return first !== null && first === again
  }, response)
  expect(isSame).toBe(true)
  await host.waitForEvent('beacon', { event: 'visible' })
  expect(await host.mount(response)).toBe(true)
  expect(await host.types()).not.toContain('cleared')
  expect(await host.ledger()).toEqual(viewed)
})

describe.concurrent('the script element', () => {
  test('twice on a page is one renderer', async () => {
    const html = `<script>window.first = window.SponsoredPlacement</script>
<script src="${stage.sandbox.url}/v1/render.js"></script><div id="slot"></div>`
    await using host = await openTurnHost(stage, { html })
    const isSame = await host.page.evaluate(() => Reflect.get(window, 'first') === window.SponsoredPlacement)
    expect(isSame).toBe(true)
    await host.start(banner)
    await host.waitForEvent('beacon', { event: 'visible' })
    expect(await host.ledger()).toEqual(viewed)
    expect(await host.shown()).toEqual(one_ad)
  })

  test('loaded async, and late, works as well, and knows its own address', { tags: 'depth' }, async () => {
    await using host = await openTurnHost(stage, {
      before: (page) =>
        page.route('**/v1/render.js', (route) => route.fulfill({ contentType: 'text/javascript', body: '' }), {
          times: 1,
        }),
    })
    expect(await host.page.evaluate(() => window.SponsoredPlacement)).toBe(undefined)
    const activation = await host.page.evaluate(
      async ({ src, publishableKey }) => {
        const script = Object.assign(document.createElement('script'), { src, async: true })
        const loaded = new Promise((resolve) => script.addEventListener('load', resolve))
        document.head.append(script)
        await loaded
        return window.SponsoredPlacement!.activate({ publishableKey })
      },
      { src: `${stage.sandbox.url}/v1/render.js`, publishableKey: stage.sandbox.keys.publishable_key },
    )
    expect(activation).toMatchObject({ project_id: stage.sandbox.keys.client_id })
    await host.start({ ...banner, endpoint: null })
    await host.waitForEvent('beacon', { event: 'visible' })
    expect(await host.ledger()).toEqual(viewed)
    expect(host.backend_calls).toEqual([])
  })
})
