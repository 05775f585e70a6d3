/** What the renderer does with a beacon that is refused, limited, lost or not sent: sent again under its own id, or given up. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { manualClock } from '#sandbox/index.ts'
import { honestly, replaceFrames } from '#tests/browser/hostile-frame.ts'
import { type Host, type OpenOptions, openStage, type Stage } from '#tests/browser/stage.ts'
import { beaconPosts, startTurn, view } from '#tests/browser/turns.ts'

vi.setConfig({ maxConcurrency: 3 })

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage?.[Symbol.asyncDispose]())

const place = { format: 'banner' } as const
/** A page whose slot is out of view: what is mounted there is rendered and not viewed. */
const below: OpenOptions = { html: '<div id="slot" style="margin-top:3000px"></div>' }

/** Starts a turn whose backend responds with `response`. */
async function respondToTurn(host: Host, response: unknown): Promise<void> {
  host.backend_responses.push({ body: JSON.stringify(response) })
  await startTurn(host)
}

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
