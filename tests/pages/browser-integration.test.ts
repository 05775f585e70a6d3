/** Turns of a page without a backend: its publishable key is exchanged for a token, which is renewed and refused. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { manualClock } from '#sandbox/index.ts'
import { letTimeSkip, openSlowStage } from '#tests/browser/slow-stage.ts'
import { type Host, openStage, type Stage } from '#tests/browser/stage.ts'
import { endTurn, expectNothing, passUntil, runTurn, startTurn } from '#tests/browser/turns.ts'

vi.setConfig({ maxConcurrency: 3 })

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage?.[Symbol.asyncDispose]())

describe.concurrent('a browser integration', () => {
  const activate = (host: Host, publishableKey: string): Promise<boolean> =>
    host.page.evaluate(
      async (publishableKey) => (await window.SponsoredPlacement!.activate({ publishableKey })) !== null,
      publishableKey,
    )
  /** A turn without a backend of the host: it requests with the activation token. */
  const direct = (more: object = {}) => ({ endpoint: '', place: { format: 'banner', ...more } }) as const

  /** Returns the JSON requests of the page to the emulator, in order: `activate 200`. */
  async function calls(host: Host): Promise<string[]> {
    const asked = host.requests.filter((request) =>
      /\/v1\/(browser\/activate|placements|decisions\/\w+)/.test(request.url()),
    )
    return Promise.all(
      asked.map(async (request) => {
        const name = new URL(request.url()).pathname.split('/')[2]
        return `${name === 'browser' ? 'activate' : name} ${(await request.response())?.status()}`
      }),
    )
  }

  test.concurrent('needs only its publishable key, and is billed like any other', async () => {
    await using host = await stage.open()
    expect(await activate(host, stage.sandbox.keys.publishable_key)).toBe(true)
    await startTurn(host, direct())
    await host.waitForEvent('beacon', { event: 'visible', accepted: true })
    expect(await calls(host)).toEqual(['activate 200', 'placements 200'])
    expect(await host.ledger()).toEqual(['render accepted OK', 'visible accepted OK +viewable_impression'])
    expect(host.backend_calls).toEqual([])
    expect(host.console_lines).toEqual([])
  })

  test.concurrent('emits no_fill', async () => {
    await using host = await stage.open()
    await activate(host, stage.sandbox.keys.publishable_key)
    await runTurn(host, direct({ more: { overrides: { bidfloor: 1_000 } } }))
    await host.waitForEvent('no_fill', { no_fill_reason: 'below_floor' })
    await expectNothing(host)
  })

  test.concurrent('may not force an outcome', async () => {
    await using host = await stage.open()
    await activate(host, stage.sandbox.keys.publishable_key)
    await runTurn(host, direct({ more: { test_outcome: 'no_fill' } }))
    await host.waitForEvent('error', {
      code: 'request_failed',
      status: 403,
      reason_code: 'test_outcome_requires_test_key',
    })
    await expectNothing(host)
  })

  test.concurrent('waits for a decision that is pending', async () => {
    const { slow, clock } = await openSlowStage()
    await using _ = slow
    await using host = await slow.open()
    await activate(host, slow.sandbox.keys.publishable_key)
    await startTurn(host, direct({ more: { wait_ms: 0 } }))
    await passUntil(host, () => host.requests.some((request) => request.url().includes('/v1/decisions/')))
    clock.advance(60_000)
    await host.waitForEvent('beacon', { event: 'render', accepted: true })
    expect((await host.types()).filter((type) => type === 'decision')).toHaveLength(1)
  })

  test.concurrent('may start a turn while its key is still exchanged: the ad comes after that, and none to a turn that has ended', async () => {
    await using host = await stage.open()
    const exchange = Promise.withResolvers<void>()
    await host.context.route('**/v1/browser/activate', async (route) => {
      await exchange.promise
      await route.continue()
    })
    const activated = activate(host, stage.sandbox.keys.publishable_key)
    await startTurn(host, direct())
    await endTurn(host)
    await startTurn(host, direct())
    exchange.resolve()
    expect(await activated).toBe(true)
    await host.waitForEvent('beacon', { event: 'render', accepted: true })
    expect(await calls(host)).toEqual(['activate 200', 'placements 200'])
    expect(await host.types()).not.toContain('error')
  })

  test.concurrent('whose key is refused during a turn gets no ad', async () => {
    await using host = await stage.open()
    const exchange = Promise.withResolvers<void>()
    await host.context.route('**/v1/browser/activate', async (route) => {
      await exchange.promise
      await route.continue()
    })
    const activated = activate(host, 'pk_test_unknown')
    await startTurn(host, direct())
    exchange.resolve()
    expect(await activated).toBe(false)
    await host.waitForEvent('error', { code: 'endpoint_missing' })
    const errors = (await host.events()).flatMap((event) => (event.type === 'error' ? [event.code] : []))
    expect(errors).toEqual(['activation_failed', 'endpoint_missing'])
    await expectNothing(host)
  })

  test.concurrent.each([
    ['an unknown key', 'pk_test_unknown', 401, 'key_unknown'],
    ['an empty key', '', 401, 'credential_missing'],
    ['a secret key', 'sk_test_sandbox_demo', 403, 'key_class'],
    ['the key of a project that does not allow the page', 'pk_test_sandbox_strict', 403, 'origin_not_allowed'],
  ])('with %s gets no ad, and reports why', async (_, key, status, reason_code) => {
    await using host = await stage.open()
    expect(await activate(host, key)).toBe(false)
    await host.waitForEvent('error', { code: 'activation_failed', status, reason_code })
    await runTurn(host, direct())
    await host.waitForEvent('error', { code: 'endpoint_missing' })
    expect(await calls(host)).toEqual([`activate ${status}`])
    await expectNothing(host)
  })

  test.concurrent('that cannot reach the service is notified', async () => {
    await using host = await stage.open()
    await host.context.route('**/v1/browser/activate', (route) => route.abort())
    expect(await activate(host, stage.sandbox.keys.publishable_key)).toBe(false)
    expect(await host.waitForEvent('error', { code: 'activation_failed' })).toMatchObject({
      message: expect.any(String),
    })
  })

  test.concurrent.each([
    ['null', 'null'],
    ['HTML', '<h1>Log in</h1>'],
    ['an empty object', '{}'],
    ['a token of another name', '{"token":"at_1","expires_at_ms":1,"project_id":"proj_demo"}'],
    ['an expiry as a date', '{"activation_token":"at_1","expires_at_ms":"2030-01-01","project_id":"proj_demo"}'],
  ])('whose activation responds with %s is not activated, and is notified', async (_, body) => {
    await using host = await stage.open()
    const headers = { 'access-control-allow-origin': '*', 'content-type': 'application/json' }
    await host.context.route('**/v1/browser/activate', (route) => route.fulfill({ headers, body }))
    expect(await activate(host, stage.sandbox.keys.publishable_key)).toBe(false)
    await host.waitForEvent('error', { code: 'activation_failed' })
    await runTurn(host, direct())
    await host.waitForEvent('error', { code: 'endpoint_missing' })
  })

  test.concurrent('has its token exchanged again before it ends', async () => {
    const clock = manualClock(Date.now())
    await using own = await openStage({ clock })
    await using host = await own.open({ before: (page) => page.addInitScript(letTimeSkip) })
    await activate(host, own.sandbox.keys.publishable_key)
    const until = await host.page.evaluate(() => window.SponsoredPlacement!.state().activation)
    await host.page.evaluate(() => {
      window.skipped_ms = 595_000
    })
    clock.advance(595_000)
    await startTurn(host, direct())
    await host.waitForEvent('beacon', { event: 'render', accepted: true })
    expect(await calls(host)).toEqual(['activate 200', 'activate 200', 'placements 200'])
    const renewed = await host.page.evaluate(() => window.SponsoredPlacement!.state().activation)
    expect(renewed).toMatchObject({ expires_at_ms: clock.now() + 600_000 })
    expect(until).toMatchObject({ expires_at_ms: clock.now() - 595_000 + 600_000 })
  })

  test.concurrent.each([
    ['at once', false],
    ['one after the other', true],
  ])('whose token has ended early exchanges it once, though two turns learn it %s', async (_, isHeld) => {
    const clock = manualClock(Date.now())
    await using own = await openStage({ clock })
    await using host = await own.open({ html: '<div id="slot"></div><div id="second"></div>' })
    await activate(host, own.sandbox.keys.publishable_key)
    await startTurn(host, direct())
    await host.waitForEvent('beacon', { event: 'render', accepted: true })
    await endTurn(host, 'cancel')
    clock.advance(600_001)
    let refusals = 0
    await host.context.route('**/v1/placements', async (route) => {
      const response = await route.fetch()
      if (isHeld && response.status() === 401 && ++refusals === 2) await host.waitForEvent('rendered', {}, 2)
      await route.fulfill({ response })
    })
    await host.page.evaluate(
      (bodies) => {
        for (const [target, body] of bodies) window.SponsoredPlacement!.startTurn({ target, body })
      },
      [
        ['#slot', host.body({ format: 'banner' })],
        ['#second', host.body({ format: 'native' })],
      ] as [string, Record<string, unknown>][],
    )
    await host.waitForEvent('beacon', { event: 'render', accepted: true }, 3)
    expect((await calls(host)).slice(2).toSorted()).toEqual([
      'activate 200',
      'placements 200',
      'placements 200',
      'placements 401',
      'placements 401',
    ])
    expect(await host.types()).not.toContain('error')
  })
})
