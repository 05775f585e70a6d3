/** The demo host in a real browser: five surfaces up to billing, everything that can block an ad, and the backend of the page. */

import type { Browser, BrowserContextOptions, CDPSession, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Client, createClient } from '#client/index.ts'
import type { JobType } from '#contract/fields.ts'
import { type Sandbox, startSandbox } from '#sandbox/index.ts'
import { violations } from '#tests/browser/axe.ts'
import { sharedChromium } from '#tests/browser/chromium.ts'
import { svc, temporaryDirectory } from '#tests/cli/test-cli.ts'

/** By default a page is asked in each of its frames, and paints for it. */
const polled = { polling: 100 }
/** Text that appears word by word is painted word by word: half of the time of a page. Every surface has a test with motion. */
const calm = { reducedMotion: 'reduce' } as const
const moving = { reducedMotion: 'no-preference' } as const

let sandbox: Sandbox
let client: Client
let browser: Browser

beforeAll(async () => {
  sandbox = await startSandbox({ port: 0 })
  client = createClient({ base_url: sandbox.url, credential: sandbox.keys.secret_key })
  browser = await sharedChromium()
})

afterAll(async () => {
  await sandbox?.close()
})

/** The demo in a context of its own, with the requests, responses and problems of its browser. */
interface Demo extends AsyncDisposable {
  page: Page
  requests: string[]
  received: string[]
  problems: string[]
}

async function openDemo(query = '', options: BrowserContextOptions = {}, { url } = sandbox): Promise<Demo> {
  const context = await browser.newContext({ viewport: { width: 1_280, height: 900 }, ...calm, ...options })
  // A busy host is no failure of a request.
  await context.addInitScript(() => {
    const timeout = AbortSignal.timeout.bind(AbortSignal)
    AbortSignal.timeout = (ms) => timeout(20 * ms)
  })
  const page = await context.newPage()
  page.setDefaultTimeout(0)
  const requests: string[] = []
  const problems: string[] = []
  page.on('request', (request) => requests.push(`${request.method()} ${new URL(request.url()).pathname}`))
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text())
  })
  page.on('pageerror', (error) => problems.push(error.message))
  const received = await listen(await context.newCDPSession(page))
  await page.goto(`${url}/_sandbox/demo${query}`)
  return { page, requests, received, problems, [Symbol.asyncDispose]: () => context.close() }
}

/** Returns every header, body and streamed event that arrives, as text. */
async function listen(session: CDPSession): Promise<string[]> {
  const received: string[] = []
  await session.send('Network.enable')
  session.on('Network.responseReceived', ({ response }) => received.push(JSON.stringify(response)))
  session.on('Network.eventSourceMessageReceived', ({ data }) => received.push(data))
  session.on('Network.loadingFinished', ({ requestId }) => {
    void session.send('Network.getResponseBody', { requestId }).then(
      ({ body, base64Encoded }) => received.push(base64Encoded ? atob(body) : body),
      () => undefined,
    )
  })
  return received
}

/** Waits until the journey of the newest turn shows a milestone in a state. */
async function milestone(page: Page, name: string, state = 'reached'): Promise<void> {
  await page.locator(`.journey li[data-state="${state}"] b`, { hasText: new RegExp(`^${name}$`) }).waitFor()
}

/**
 * Waits until the ad of a turn has rendered. Where the decision comes after the turn, or the frame is not painted in 5 s, the
 * renderer gives the ad up, as it must: that says how busy the host is, and the turn is repeated. Returns the number of turns.
 */
async function showAd(page: Page, firstTurn = 1): Promise<number> {
  for (let turns = firstTurn; ; turns++) {
    const handle = await page.waitForFunction(
      (turns) => {
        const events = window.SponsoredPlacement?.getEvents().filter(({ turn_id }) => turn_id === `turn-${turns}`) ?? []
        const last = events.find(({ type }) => type === 'rendered' || type === 'error' || type === 'no_fill')
        if (last) return { ...last }
        // A turn that had ended before the key was exchanged has requested nothing.
        const turn = window.SponsoredPlacement?.state().turns.find(({ id }) => id === `turn-${turns}`)
        return turn?.state === 'cleared' && { type: 'error', code: 'late_decision' }
      },
      turns,
      polled,
    )
    const { type, code } = (await handle.jsonValue()) as { type: string; code?: string }
    if (type === 'rendered') return turns
    expect(['late_decision', 'render_timeout']).toContain(code)
    await page.getByRole('button', { name: 'Again' }).click()
  }
}

function row(page: Page, title: string) {
  return page.locator('.turn:first-child .row', { has: page.getByText(title, { exact: true }) })
}

async function waitForSlot(page: Page, isShown: boolean): Promise<void> {
  await page.waitForFunction(
    (isShown) =>
      (document.querySelector('.slot [data-sp-placement]')?.shadowRoot?.querySelector('iframe') != null) === isShown,
    isShown,
    polled,
  )
  await page.waitForFunction(
    (isShown) => {
      const slot = document.querySelector('.slot')
      return slot !== null && slot.clientHeight > 0 === isShown
    },
    isShown,
    polled,
  )
}

const surfaces = [
  ['chat', 'native', '.chat .answer'],
  ['code', 'banner', '.code .answer'],
  ['image', 'native', '.pictures'],
  ['voice', 'clip', '.voice .answer'],
  ['agent', 'native', '.report'],
] as const satisfies [JobType, string, string][]

describe('a turn', { concurrent: true }, () => {
  test('has no accessibility violation on a phone, and never scrolls sideways', async () => {
    await using demo = await openDemo('', { viewport: { width: 320, height: 640 } })
    const { page } = demo
    await showAd(page)
    await page.locator('.slot iframe').waitFor()
    for (const view of ['Product', 'Controls', 'Timeline']) {
      await page.locator('.views button', { hasText: view }).click()
      expect([view, await violations(page)]).toEqual([view, []])
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320)
    }
  })

  test.for([
    [360, 800],
    [1_100, 900],
  ] as const)(
    'shows its ad below the pictures without scrolling, and says so in full (%i)',
    async ([width, height]) => {
      await using demo = await openDemo('?surface=image', { viewport: { width, height } })
      const { page } = demo
      await showAd(page)
      // On a phone the timeline is another view.
      await page.locator('.journey li[data-state=reached] b', { hasText: 'Viewable' }).waitFor({ state: 'attached' })
      const cut = await page.locator('.views').evaluate(
        (views) =>
          [...views.querySelectorAll('.chip')].filter((part) => {
            const { left, right } = part.getBoundingClientRect()
            return left < 0 || right > innerWidth - 4
          }).length,
      )
      expect(cut).toBe(0)
    },
  )

  test.each(surfaces)(
    'on the %s surface fills with a %s ad that is counted, and has no accessibility violation',
    async (surface, format, answer) => {
      await using demo = await openDemo(`?surface=${surface}&format=${format}`, { colorScheme: 'light', ...moving })
      const { page, received, problems } = demo
      await showAd(page)
      await milestone(page, 'Viewable')
      await waitForSlot(page, true)
      await row(page, 'Beacon · visible').getByText('bills viewable_impression').waitFor()
      await page.locator('.verdict', { hasText: 'would bill' }).waitFor()
      await page.locator(answer, { hasText: surface === 'image' ? '' : /.{20}/ }).waitFor()

      const slot_id = await findSlotText(page)
      const detail = await client.placements.explain({ params: { slot_id } })
      expect(detail).toMatchObject({ job_type: surface, format, billing: { would_bill: true } })
      expect(detail.beacons.map(({ event, verdict }) => `${event} ${verdict}`)).toEqual(
        expect.arrayContaining(['render accepted', 'visible accepted']),
      )
      expect(problems).toEqual([])
      expectNoSecret(received)

      await page.emulateMedia({ reducedMotion: 'reduce' })
      await row(page, 'Turn finished').waitFor()
      expect(await violations(page)).toEqual([])
      // Colours are all that a theme changes.
      await page.getByRole('radio', { name: 'Dark' }).check()
      expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe('rgb(9, 9, 11)')
      expect(await violations(page, ['color-contrast'])).toEqual([])
    },
  )

  test('without a fill does not disturb the product', async () => {
    await using demo = await openDemo('?outcome=no_fill')
    const { page, problems } = demo
    await milestone(page, 'No-fill', 'ended')
    await row(page, 'No-fill').getByText('test_forced').waitFor()
    await waitForSlot(page, false)
    const end = 'look for a roast date within the last three weeks'
    await page.locator('.chat .answer', { hasText: end }).waitFor()
    await page.locator('.window [role=status]', { hasText: end }).waitFor({ state: 'attached' })
    await row(page, 'Turn finished').waitFor()
    expect(problems).toEqual([])
  })

  test('forces the campaign that is chosen, and marks it', async () => {
    await using demo = await openDemo()
    const { page } = demo
    await page.getByRole('combobox', { name: 'Campaign' }).selectOption('Larkfield Coffee')
    await page.getByRole('button', { name: 'Send' }).first().click()
    await page.frameLocator('.window iframe').getByText('FORCED').waitFor()
    const { items } = await client.placements.list({ query: { campaign_id: 'cmp_larkfield_coffee' } })
    expect(items[0]).toMatchObject({ forced: true })
  })

  test('counts a click on its ad', async () => {
    await using demo = await openDemo('?surface=image')
    const { page } = demo
    await showAd(page)
    await page.frameLocator('.slot iframe').locator('a').click()
    await milestone(page, 'Click')
  })

  test('that does not keep its ad clears it at the end, once it was viewable', async () => {
    await using demo = await openDemo('?surface=image&keep=off')
    const { page } = demo
    await showAd(page)
    await row(page, 'Turn finished').waitFor()
    await milestone(page, 'Viewable')
    await row(page, 'Cleared').getByText('finished').waitFor()
    await waitForSlot(page, false)
  })

  test('with denied consent has no ad, and shows the reason', async () => {
    await using demo = await openDemo('?consent=denied&surface=code')
    const { page, requests, problems } = demo
    await row(page, 'No-fill').getByText('consent_not_granted').waitFor()
    await waitForSlot(page, false)
    expect(requests).not.toContain('POST /v1/beacons')
    expect(problems).toEqual([])
  })

  test('with a refusal that could not be stored asks for no ad', async () => {
    await using own = await startSandbox({ port: 0 })
    const { faults } = createClient({ base_url: own.url, credential: own.keys.secret_key })
    await faults.add({ body: { path: '/v1/consent', status: 503 } })
    await using demo = await openDemo('?consent=denied&surface=code', {}, own)
    const { page, requests } = demo
    await page.locator('.code .answer:not([aria-busy])').waitFor()
    expect(requests).toContain('POST /_sandbox/demo/api/consent')
    expect(requests.filter((request) => request.includes('/api/placement'))).toEqual([])
  })

  test('loses its ad when consent is withdrawn, and continues', async () => {
    await using demo = await openDemo('?surface=agent')
    const { page, problems } = demo
    await showAd(page)
    await page.getByRole('button', { name: 'Withdraw now' }).click()
    await waitForSlot(page, false)
    await row(page, 'Consent withdrawn').waitFor()
    await row(page, 'Cleared').waitFor()
    await page.locator('.report table').waitFor()
    expect(new URL(page.url()).searchParams.get('consent')).toBe('withdrawn')
    await page.getByRole('button', { name: 'Again' }).click()
    await row(page, 'No-fill').getByText('consent_not_granted').waitFor()
    expect(problems).toEqual([])
  })

  test('without stored consent fills, but without a topic', async () => {
    await using demo = await openDemo('?consent=unasked')
    const { page, requests } = demo
    await showAd(page)
    await milestone(page, 'Viewable')
    const detail = await client.placements.explain({ params: { slot_id: await findSlotText(page) } })
    expect(detail).toMatchObject({ topic: null, consent: { source: 'none', purposes: { semantic_targeting: false } } })
    expect(requests).not.toContain('POST /_sandbox/demo/api/consent')
  })

  test('asks the consent tool of the page: its strings are stored; one that is late has none yet', async () => {
    await using ready = await openDemo('?tool=ready')
    await showAd(ready.page)
    const { consent_strings } = await client.placements.explain({ params: { slot_id: await findSlotText(ready.page) } })
    expect(consent_strings).toMatchObject(
      [
        { field: 'gpp_string', problem: null, sections: ['tcfeuv2'], vendors: 3 },
        { field: 'tcf_string', problem: null, purposes: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], vendors: 3 },
      ].toSorted((a, b) => (a.field < b.field ? 1 : -1)),
    )
    await using late = await openDemo('?tool=late')
    await showAd(late.page)
    const first = await client.placements.explain({ params: { slot_id: await findSlotText(late.page) } })
    expect(first).toMatchObject({ consent_strings: [], consent: { source: 'none' } })
    expect(late.requests).not.toContain('POST /_sandbox/demo/api/consent')
  })

  test('is blocked when its consent expires', async () => {
    await using demo = await openDemo('?consent=expiring&surface=image', moving)
    const { page, problems } = demo
    await row(page, 'Blocked').getByText('consent_expired').waitFor()
    await waitForSlot(page, false)
    expect(problems).toEqual([])
  })

  test('with a slow decision is pending, then fills', async () => {
    await using demo = await openDemo('?outcome=slow&surface=voice', moving)
    const { page, requests, problems } = demo
    await row(page, 'Pending').waitFor()
    await showAd(page)
    await milestone(page, 'Viewable')
    expect(requests).toContain('GET /_sandbox/demo/api/slow-placement')
    expect(problems).toEqual([])
  })

  test('requested by the browser uses a token, never the backend', async () => {
    await using demo = await openDemo('?integration=browser&surface=chat')
    const { page, requests, received, problems } = demo
    await showAd(page)
    await milestone(page, 'Viewable')
    await row(page, 'Activated').waitFor()
    expect(requests).toContain('POST /v1/placements')
    expect(requests.filter((request) => request.includes('/api/placement'))).toEqual([])
    expect(problems).toEqual([])
    expectNoSecret(received)
  })

  test('that is repeated replaces the previous one, and every choice is in the address', async () => {
    await using demo = await openDemo('?surface=code')
    const { page } = demo
    const turns = await showAd(page)
    await milestone(page, 'Rendered')
    await page.getByRole('radio', { name: 'Minimal' }).check()
    await page.locator('.turn').nth(turns).waitFor()
    await showAd(page, turns + 1)
    await milestone(page, 'Rendered')
    expect(await page.locator('.slot iframe').count()).toBe(1)
    expect(new URL(page.url()).search).toBe('?surface=code&template=minimal')
    await page.getByRole('link', { name: 'Chat' }).click()
    await page.locator('.window[data-surface=chat] .answer').waitFor()
    expect(await page.locator('.window[data-surface=code] iframe').count()).toBe(0)
    await page.goBack()
    await page.locator('.window[data-surface=code]').waitFor()
  })
})

async function findSlotText(page: Page): Promise<string> {
  await row(page, 'Fill').click()
  return page.locator('.slot-line code').innerText()
}

function expectNoSecret(received: readonly string[]): void {
  const text = received.join('\n')
  expect(text).toContain('SponsoredPlacement')
  expect(text).toContain('placement.decided')
  for (const { secret_key, live_secret_key } of sandbox.projects) {
    expect(text.includes(secret_key)).toBe(false)
    expect(text.includes(live_secret_key)).toBe(false)
  }
}

describe('the backend of the page', () => {
  const routes = ['placement', 'slow-placement', 'consent']
  const body = JSON.stringify({ session_id: 'elsewhere', job_type: 'chat', decision: 'denied' })

  test('refuses a write from another origin or without the token', async () => {
    const { items: before } = await client.placements.list()
    const token = sandbox.admin_token
    const foreign: Record<string, string>[] = [
      { origin: 'https://evil.example' },
      { origin: 'https://evil.example', 'x-sandbox-token': token },
      { origin: 'null', 'x-sandbox-token': token },
      { 'sec-fetch-site': 'cross-site', 'x-sandbox-token': token },
      { origin: sandbox.url, 'sec-fetch-site': 'same-origin' },
      { origin: sandbox.url, 'x-sandbox-token': `${token}x` },
    ]
    for (const route of routes) {
      for (const headers of foreign) {
        const response = await fetch(`${sandbox.url}/_sandbox/demo/api/${route}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body,
        })
        expect([route, headers, response.status]).toEqual([route, headers, 403])
        expect(response.headers.get('access-control-allow-origin')).toBeNull()
        expect(await response.json()).toMatchObject({ reason_code: 'origin_refused' })
      }
    }
    const { items: after } = await client.placements.list()
    expect(after.filter(({ session_id }) => session_id === 'elsewhere')).toEqual([])
    expect(after.length).toBeGreaterThanOrEqual(before.length)
  })

  test('passes v1 responses on unchanged: errors with their reason, status and headers', async () => {
    const post = (route: string, body: string, type = 'application/json') =>
      fetch(`${sandbox.url}/_sandbox/demo/api/${route}`, { method: 'POST', headers: { 'content-type': type }, body })
    const expected: [Response, number, string][] = [
      [await post('placement', '{"session_id":"s"}'), 400, 'schema_invalid'],
      [await post('placement', '{'), 400, 'json_malformed'],
      [await post('slow-placement', body, 'text/plain'), 415, 'content_type_unsupported'],
      [await post('consent', '{"session_id":"s","decision":"perhaps"}'), 400, 'schema_invalid'],
      [await fetch(`${sandbox.url}/_sandbox/demo/api/placement?slot_id=slot_nothing`), 404, 'not_found'],
      [await fetch(`${sandbox.url}/_sandbox/demo/api/placement?slot_id=..%2F..%2Fkeys`), 404, 'not_found'],
    ]
    for (const [response, status, reason_code] of expected) {
      expect([response.status, await response.json()]).toEqual([status, expect.objectContaining({ reason_code })])
      expect(response.headers.get('date')).not.toBeNull()
      expect(response.headers.get('x-request-id')).toMatch(/^req_/)
    }
  })

  test('passes a rate limit on with its Retry-After', async () => {
    await using limited = await startSandbox({ port: 0, rate_limit: '1/min' })
    const request = () =>
      fetch(`${limited.url}/_sandbox/demo/api/placement`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"session_id":"s","job_type":"chat"}',
      })
    const responses = [await request(), await request(), await request()]
    const refused = responses.find(({ status }) => status === 429)
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0)
  })

  test('serves the pictures of the gallery, and no other file', async () => {
    const picture = (file: string) => fetch(`${sandbox.url}/_sandbox/demo/pictures/${file}`)
    const known = await picture('city-1.webp')
    expect([known.status, known.headers.get('content-type')]).toEqual([200, 'image/webp'])
    for (const file of ['city-5.webp', 'chat.json', '..%2Fdemand.json']) {
      expect((await picture(file)).status).toBe(404)
    }
  })

  test('gives the page a strict policy, no secret, and one address', async () => {
    const page = await fetch(`${sandbox.url}/_sandbox/demo`)
    const policy = page.headers.get('content-security-policy')
    for (const directive of [
      "default-src 'none'",
      "connect-src 'self'",
      "frame-src 'self'",
      "frame-ancestors 'none'",
    ]) {
      expect(policy).toContain(directive)
    }
    expect(policy).not.toMatch(/unsafe|\*|https?:/)
    expect(page.headers.get('x-content-type-options')).toBe('nosniff')
    expect(page.headers.get('cache-control')).toBe('no-store')
    expect(await page.text()).not.toMatch(/sk_(test|live)_/)
    const elsewhere = await fetch(`${sandbox.url.replace('127.0.0.1', 'localhost')}/_sandbox/demo?surface=code`, {
      redirect: 'manual',
    })
    expect(elsewhere.headers.get('location')).toBe(`${sandbox.url}/_sandbox/demo?surface=code`)
  })
})

test('what the demo sends is in the journal, and nobody judges it as an integration', async () => {
  await using own = await startSandbox({ port: 0 })
  await using demo = await openDemo('', {}, own)
  await showAd(demo.page)
  await milestone(demo.page, 'Viewable')
  const own_client = createClient({ base_url: own.url })
  const { items } = await own_client.requests.list({ query: { details: 'true', limit: 1_000 } })
  expect(items.filter(({ path }) => path.startsWith('/v1/placements')).map((each) => each.request_headers)).toEqual(
    expect.arrayContaining([expect.objectContaining({ 'user-agent': 'svc-demo' })]),
  )
  expect(items.map(({ method, path }) => `${method} ${path}`)).toEqual(
    expect.arrayContaining(['POST /v1/placements', 'POST /v1/beacons']),
  )
  const placement = items.find(({ path }) => path === '/v1/placements')
  await demo.page.goto(`${own.url}/_sandbox/requests/${placement?.request_id}`)
  await demo.page.getByText('the demo, not judged').waitFor()
  const env = { SVC_HOME: temporaryDirectory() }
  const { code, stderr } = await svc(`observe --since 10m --base-url ${own.url}`, { env })
  expect([code, stderr]).toEqual([5, expect.stringContaining('Nothing was judged')])
})
