/**
 * The console on the page: what it shows of each outcome, that neither page nor ad notices it, and its use by keyboard, screen
 * readers and on a phone. The table of pages in pages/console.ts has the pages that are hard on it.
 */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { violations } from '#tests/browser/axe.ts'
import { holdTime } from '#tests/browser/held-time.ts'
import { type Host, type OpenOptions, openStage, type Stage } from '#tests/browser/stage.ts'
import { type DemoHosts, openDemoHosts, outcomes } from './console-outcomes.ts'

vi.setConfig({ maxConcurrency: 4 })

let stage: Stage
let demos: DemoHosts

beforeAll(async () => {
  stage = await openStage({}, undefined, 'flows')
  demos = await openDemoHosts(stage.browser, holdTime)
})
afterAll(async () => {
  await demos?.[Symbol.asyncDispose]()
  await stage?.[Symbol.asyncDispose]()
})

describe.concurrent('on the demo page', () => {
  test.concurrent.each(outcomes.map((outcome) => [outcome.name, outcome] as const))('%s', async (_name, outcome) => {
    expect(await demos.show(outcome)).toEqual(expect.arrayContaining([...outcome.shows]))
  })
})

/** Everything that a text of the console could give away. */
const token = /(ast|at|bt|sbx|sk|pk)_(?!\w*redacted)\w{8,}/

/** Opens a page with a console, and starts a turn on `#slot`. */
async function openWithConsole(options: OpenOptions = {}, more: Record<string, unknown> = {}): Promise<Host> {
  const host = await stage.open(options)
  await host.page.evaluate(() => void window.SponsoredPlacement!.openConsole())
  await host.page.locator('svc-console .head').waitFor()
  await startTurn(host, more)
  return host
}

function startTurn(host: Host, more: Record<string, unknown> = {}): Promise<void> {
  const { target = '#slot', ...fields } = more
  return host.page.evaluate(
    ({ endpoint, target, body }) => {
      window.SponsoredPlacement!.startTurn({ target, endpoint, body, keepMounted: true })
    },
    { endpoint: host.endpoint, target: String(target), body: host.body({ format: 'banner', more: fields }) },
  )
}

const consoleRequests = ({ requests }: Host): string[] =>
  requests.map((request) => new URL(request.url()).pathname).filter((path) => path.startsWith('/_sandbox/'))

const chipAt = (page: Page, text: string) => page.locator('svc-console .mark-chip', { hasText: text })

describe.concurrent('an open console', () => {
  test.concurrent('leaves the ad as it is: viewed, uncovered and billed; nothing on the page moves', async () => {
    await using host = await openWithConsole({
      html: `<script>
window.shifts = []
const isOfPage = ({ node }) => node !== null && node.localName !== 'svc-console' && node.getRootNode() === document
new PerformanceObserver((list) => shifts.push(...list.getEntries().flatMap(({ sources }) => sources.filter(isOfPage).map(({ node }) => node.outerHTML))))
  .observe({ type: 'layout-shift', buffered: true })
</script><div id="slot" style="height:280px"></div><p>Below</p>`,
    })
    await chipAt(host.page, 'viewed').waitFor()
    const { page } = host
    expect(await host.ledger()).toEqual(['render accepted OK', 'visible accepted OK +viewable_impression'])
    expect(await page.evaluate(() => (window as unknown as { shifts: unknown[] }).shifts)).toEqual([])
    const covering = await page.evaluate(() => {
      const frame = window.findAll('iframe')[0]!.getBoundingClientRect()
      const steps = [0.02, 0.25, 0.5, 0.75, 0.98]
      return steps
        .flatMap((x) => steps.map((y) => [frame.left + frame.width * x, frame.top + frame.height * y] as const))
        .filter(([x, y]) => document.elementsFromPoint(x, y).some((each) => each.localName === 'svc-console')).length
    })
    expect(covering).toBe(0)
    expect(host.console_lines).toEqual([])
  })

  test.concurrent('shows the turn, the view, the beacons with their verdicts and what would be billed', async () => {
    await using host = await openWithConsole({}, { slot_hint: { max_width: 320, max_height: 600 } })
    const { page } = host
    await chipAt(page, 'viewed').waitFor()
    const panel = page.locator('svc-console .panel')
    await panel.getByText('bills viewable_impression').waitFor()
    const text = (await panel.innerText()).replaceAll(/\s+/g, ' ')
    for (const part of [
      'viewable_impression, ',
      'would bill',
      'Decision +',
      'Frame +',
      'Paint +',
      'Viewable +',
      'Viewed: the dwell is met.',
      '100 % of 50 %',
      '1.00 s of 1.00 s',
      'Size 300 × 250, shown at 300 × 250',
      'Asked at most 320 × 600',
      'Label Sponsored · ',
      'Consent granted revision 1',
      'Asset token accepts beacons',
    ])
      expect(text).toContain(part)
    const { items } = await stage.client.placements.list({ query: { session_id: host.session_id } })
    const link = panel.getByRole('link', { name: 'Inspector' })
    expect(await link.getAttribute('href')).toBe(`${stage.sandbox.url}/_sandbox/placements/${items[0]!.slot_id}`)
  })

  test.concurrent.each([
    [
      'covered',
      'covered',
      '<div style="position:fixed;inset:0;width:400px;background:#fff;z-index:9"></div><div id="slot"></div>',
    ],
    ['out of view', 'out of view', '<div style="height:600px"></div><div id="slot"></div>'],
    ['too small', 'too small', '<div style="width:40px"><div id="slot"></div></div>'],
    [
      'cut off by its own box',
      'cut off',
      '<div style="width:340px;height:60px;overflow:hidden"><div id="slot"></div></div>',
    ],
    [
      'below the rest of a list that scrolls',
      'out of view',
      '<div style="width:340px;height:300px;overflow:auto"><div style="height:290px"></div><div id="slot"></div></div>',
    ],
    [
      'out of the window, in a box that cuts nothing off',
      'out of view',
      '<div style="height:600px"></div><div style="height:300px;overflow:hidden"><div id="slot"></div></div>',
    ],
    [
      'covered, in a box that an absolute ad leaves',
      'covered',
      '<div style="position:fixed;inset:0;width:400px;background:#fff;z-index:9"></div><div style="height:20px;overflow:hidden"><div id="slot" style="position:absolute;width:320px"></div></div>',
    ],
  ])('says what stops the view of an ad that is %s', async (_, hold, html) => {
    await using host = await openWithConsole({ html })
    await host.waitForEvent('rendered')
    await host.page.locator('svc-console .section.view .chip', { hasText: hold }).waitFor()
  })

  test.concurrent('makes room for an ad that it would cover, until the ad is viewed', async () => {
    await using host = await openWithConsole({
      html: '<div id="slot" style="width:300px;margin:40px auto"></div>',
      context: { viewport: { width: 480, height: 380 } },
    })
    await chipAt(host.page, 'viewed').waitFor()
    await host.page.locator('svc-console .body').waitFor()
  })

  test.concurrent.each([
    ['open where a corner is free', '<button style="position:fixed;right:20px;bottom:20px">Send</button>', true],
    ['a chip where it would lie over a button anywhere', '<button style="position:fixed;inset:0">Send</button>', false],
    [
      'a chip over what only looks like a button',
      '<div style="position:fixed;inset:0;cursor:pointer">Send</div>',
      false,
    ],
  ])('is %s', async (_, html, isOpen) => {
    await using host = await openWithConsole({ html: `<div id="slot"></div>${html}` }, { test_outcome: 'no_fill' })
    const panel = host.page.locator('svc-console .panel')
    await panel
      .getByText(isOpen ? 'test_outcome asked for it.' : 'Placements')
      .first()
      .waitFor()
    await expect.poll(() => panel.locator('.body').count()).toBe(isOpen ? 1 : 0)
    const box = (await panel.boundingBox())!
    if (isOpen) expect(await host.page.locator('button', { hasText: 'Send' }).click({ timeout: 5_000 })).toBeUndefined()
    else expect(box.width).toBeLessThan(300)
    if (!isOpen) await host.page.getByRole('button', { name: 'Expand' }).click()
    await panel.locator('.body').waitFor()
  })

  test.concurrent('has the whole error of a service, with the pages of its code and of its request', async () => {
    await using host = await openWithConsole({}, { slot_hint: { max_width: 'wide' } })
    const panel = host.page.locator('svc-console .panel')
    await panel.getByText('slot_hint.max_width: is text (expected: a number)').waitFor()
    await panel.getByText(/^POST \/api\/\S+ responded with 400: .*\(schema_invalid\)$/).waitFor()
    const href = (name: string) => panel.getByRole('link', { name }).getAttribute('href')
    expect(await href('About this code')).toBe(`${stage.sandbox.url}/_sandbox/docs/errors/schema_invalid`)
    expect(await href('Request in the inspector')).toMatch(/\/_sandbox\/requests\/req_\w+$/)
  })

  test.concurrent('says what the page knows where no sandbox answers', async () => {
    await using host = await stage.open({
      before: (page) => page.route('**/_sandbox/console/page/*', (route) => route.abort()),
    })
    await host.page.evaluate(() => void window.SponsoredPlacement!.openConsole())
    await startTurn(host)
    await chipAt(host.page, 'viewed').waitFor()
    const panel = host.page.locator('svc-console .panel')
    await panel.getByText('does not answer').waitFor()
    expect(await panel.locator('.live').innerText()).toBe('page only')
    await panel.locator('.beacons li', { hasText: 'visible' }).getByText('accepted').waitFor()
    expect(await panel.getByRole('button', { name: 'No-fill' }).count()).toBe(0)
  })

  test.concurrent('is gone when it is closed: no element, no request', async () => {
    await using host = await openWithConsole()
    await chipAt(host.page, 'viewed').waitFor()
    await host.page.getByRole('button', { name: 'Close (Esc)' }).click()
    expect(await host.page.locator('svc-console').count()).toBe(0)
    const before = consoleRequests(host).length
    await new Promise((resolve) => setTimeout(resolve, 2_500))
    expect(consoleRequests(host).length).toBe(before)
    expect(await host.page.evaluate(() => document.documentElement.children.length)).toBe(2)
  })

  test.concurrent('takes no style of the page, and gives none', async () => {
    await using host = await openWithConsole({
      html: `<style>* { color: rgb(255, 0, 0) !important; font-size: 40px !important; display: block !important }
.chip, .panel, button { background: rgb(0, 0, 255) !important }</style><div id="slot"></div><button class="small">Own</button>`,
    })
    await chipAt(host.page, 'viewed').waitFor()
    const styles = await host.page.evaluate(() => {
      const read = (element: Element) => {
        const { color, fontSize, borderRadius } = getComputedStyle(element)
        return { color, fontSize, borderRadius }
      }
      const root = document.querySelector('svc-console')!.shadowRoot!
      return { inside: read(root.querySelector('.panel')!), outside: read(document.querySelector('.small')!) }
    })
    expect(styles.inside).toMatchObject({ fontSize: '13px', borderRadius: '14px' })
    expect(styles.inside.color).not.toBe('rgb(255, 0, 0)')
    expect(styles.outside).toEqual({ color: 'rgb(255, 0, 0)', fontSize: '40px', borderRadius: '0px' })
  })
})

describe.concurrent('its use', () => {
  test.concurrent('by keys: opened, moved through, moved and closed, with the focus back where it was', async () => {
    await using host = await stage.open({ html: '<input id="field"><div id="slot"></div><div id="second"></div>' })
    const { page } = host
    await startTurn(host, { test_outcome: 'no_fill' })
    await startTurn(host, { target: '#second', test_outcome: 'no_fill' })
    await page.locator('#field').focus()
    await page.keyboard.press('Control+Alt+Shift+KeyS')
    const list = page.locator('svc-console [role=listbox]')
    await list.waitFor()
    const selected = () => page.locator('svc-console [aria-selected=true] b').innerText()
    await expect.poll(() => page.evaluate(() => document.activeElement?.localName)).toBe('svc-console')
    expect(await selected()).toBe('#second')
    await page.keyboard.press('ArrowUp')
    expect(await selected()).toBe('#slot')
    await page.keyboard.press('End')
    expect(await selected()).toBe('#second')
    const grip = page.getByRole('button', { name: 'Move with the arrow keys' })
    await grip.focus()
    const left = async () => (await page.locator('svc-console .panel').boundingBox())!.x
    const before = await left()
    await page.keyboard.press('ArrowLeft')
    expect(await left()).toBe(before - 16)
    await page.keyboard.press('Escape')
    expect(await page.locator('svc-console').count()).toBe(0)
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('field')
  })

  test.concurrent('by a pointer: the head drags the panel, a chip selects its slot', async () => {
    await using host = await openWithConsole({ html: '<div id="slot"></div><div id="second"></div>' })
    const { page } = host
    await startTurn(host, { target: '#second', test_outcome: 'no_fill' })
    await chipAt(page, 'viewed').click()
    expect(await page.locator('svc-console [aria-selected=true] b').innerText()).toBe('#slot')
    const head = page.locator('svc-console .head h2')
    const from = (await head.boundingBox())!
    await page.mouse.move(from.x + 5, from.y + 5)
    await page.mouse.down()
    await page.mouse.move(from.x - 95, from.y - 5, { steps: 4 })
    await page.mouse.up()
    const to = (await head.boundingBox())!
    expect([to.x - from.x, to.y - from.y]).toEqual([-100, -10])
  })

  test.concurrent.each(['light', 'dark'] as const)('has no accessibility violation in %s', async (colorScheme) => {
    await using host = await openWithConsole({ context: { colorScheme, reducedMotion: 'reduce' } })
    await chipAt(host.page, 'viewed').waitFor()
    await host.page.locator('svc-console').getByText('bills viewable_impression').waitFor()
    expect(await violations(host.page)).toEqual([])
  })

  test.concurrent('on a phone is a sheet at the lower edge, which the page scrolls under', async () => {
    await using host = await openWithConsole({ context: { viewport: { width: 360, height: 740 }, hasTouch: true } })
    const { page } = host
    await chipAt(page, 'viewed').waitFor()
    const box = (await page.locator('svc-console .panel').boundingBox())!
    expect([box.x, box.width, Math.round(box.y + box.height)]).toEqual([0, 360, 740])
    expect(box.height).toBeLessThan(740 / 2)
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    expect(overflow).toBe(0)
    const wide = await page.evaluate(() => {
      const body = document.querySelector('svc-console')!.shadowRoot!.querySelector('.body')!
      return body.scrollWidth - body.clientWidth
    })
    expect(wide).toBe(0)
  })
})

describe.concurrent('its text', () => {
  test.concurrent('has each slot with its reason, without a console on the page and without any token', async () => {
    await using host = await stage.open({ html: '<div id="slot"></div><div id="second"></div>' })
    await startTurn(host)
    await startTurn(host, { target: '#second', test_outcome: 'no_fill' })
    await host.waitForEvent('beacon', { event: 'visible', accepted: true })
    const text = await host.page.evaluate(async () => {
      const opened = await window.SponsoredPlacement!.openConsole({ hidden: true })
      const text = opened?.text() ?? ''
      opened?.close()
      return text
    })
    expect(await host.page.locator('svc-console').count()).toBe(0)
    expect(text.split('\n').slice(0, 2)).toEqual([
      expect.stringContaining(': 2 slots'),
      expect.stringMatching(/^render\.js .*: live$/),
    ])
    expect(text).toContain(
      '  beacon visible: accepted OK, bills viewable_impression\n  would bill a viewable_impression, ',
    )
    expect(text).toMatch(/#second \(.*\): no-fill test_forced\n {2}test_outcome asked for it\./)
    expect(text).not.toMatch(token)
  })

  test.concurrent.each([
    ['a second turn that took its element', 'two', 'replaced', 'Another turn on the same element took its place.'],
    ['the same, once its work had ended', 'after', 'replaced', 'Another turn on the same element took its place.'],
    ['its answer, without keepMounted', 'early', 'finished_early', 'The answer ended before its ad had arrived.'],
    ['cancel()', 'cancel', 'cancelled', 'cancel() ended the turn.'],
    ['its signal', 'abort', 'aborted', 'The signal of the turn was aborted.'],
    ['clearPlacement()', 'clear', 'cleared', 'The page called clearPlacement() or clear().'],
  ] as const)('says of a turn that got no ad what ended it: %s', async (_, how, reason, words) => {
    await using host = await stage.open()
    const text = await host.page.evaluate(
      async ({ endpoint, body, how }) => {
        const api = window.SponsoredPlacement!
        const options = { target: '#slot', endpoint, body, keepMounted: how !== 'early' }
        const abort = new AbortController()
        const opened = await api.openConsole({ hidden: true })
        const first = api.startTurn({ ...options, signal: abort.signal })
        if (how === 'after' || how === 'early') first.finish()
        if (how === 'two' || how === 'after') api.startTurn(options)
        if (how === 'cancel') first.cancel()
        if (how === 'abort') abort.abort()
        if (how === 'clear') api.clearPlacement({ target: '#slot' })
        return opened!.text()
      },
      { endpoint: host.endpoint, body: host.body({ format: 'banner' }), how },
    )
    expect(text).toContain(`: ended ${reason}\n  ${words}`)
  })

  const refused = { error: 'rate_limited', reason_code: 'rate_limited', message: 'Too many requests.' }
  test.concurrent.each([
    [
      'a 429 whose Retry-After the backend dropped',
      { status: 429, body: JSON.stringify(refused) },
      'It was not retried: it came without Retry-After. If the service sent one, your backend has to pass it on.',
    ],
    [
      'HTML that is labelled as JSON',
      { status: 200, body: '<!doctype html><title>Log in</title>' },
      'its body is no JSON object. It begins with: <!doctype html><title>Log in</title>',
    ],
  ])('says what is certain of %s', async (_, response, words) => {
    await using host = await stage.open()
    host.backend_responses.push({ headers: { 'content-type': 'application/json' }, ...response })
    await startTurn(host)
    await host.waitForEvent('error')
    const text = await host.page.evaluate(async () =>
      (await window.SponsoredPlacement!.openConsole({ hidden: true }))!.text(),
    )
    expect(text).toContain(words)
    expect(host.backend_calls).toEqual(['POST '])
  })

  // In one test: pages of a browser share one clipboard.
  test.concurrent('one slot is copied as JSON and as a bug report, without any token', async () => {
    const context = { permissions: ['clipboard-read', 'clipboard-write'] }
    await using host = await openWithConsole({ context })
    const { page } = host
    await chipAt(page, 'viewed').waitFor()
    await page.getByText('bills viewable_impression').waitFor()
    const copy = async (name: string) => {
      const button = page.getByRole('button', { name })
      // It says so for two seconds: a busy computer may return from the click later.
      await Promise.all([page.getByRole('button', { name: 'Copied' }).waitFor(), button.click()])
      await button.waitFor()
      return page.evaluate(() => navigator.clipboard.readText())
    }
    const [json, report] = [await copy('Copy as JSON'), await copy('Copy as bug report')]
    expect(JSON.parse(json)).toMatchObject({ state: { outcome: 'fill', isViewed: true } })
    expect(report).not.toBe(json)
    for (const copied of [json, report]) {
      expect(copied).toContain('viewable_impression')
      expect(copied).not.toMatch(token)
    }
  })
})

describe.concurrent('a page', () => {
  test.concurrent('that does not ask for it loads no byte more', async () => {
    await using host = await stage.open()
    await startTurn(host)
    await host.waitForEvent('beacon', { event: 'visible', accepted: true })
    expect(consoleRequests(host)).toEqual([])
  })

  test.concurrent('whose service is no sandbox gets one line, and no console', async () => {
    await using host = await stage.open({
      before: (page) => page.route('**/_sandbox/console.js', (route) => route.fulfill({ status: 404, body: '' })),
    })
    expect(await host.page.evaluate(() => window.SponsoredPlacement!.openConsole())).toBeNull()
    const lines = host.console_lines.filter((line) => line.startsWith('warning'))
    expect(lines).toEqual([expect.stringContaining('The console did not load from ')])
  })
})

test('an action waits for the grant that the user confirms, and is done', async () => {
  await using own = await openStage({}, undefined, 'flows')
  await using host = await own.open()
  const { page } = host
  await page.evaluate(() => void window.SponsoredPlacement!.openConsole({ focus: true }))
  await page.getByRole('button', { name: 'No-fill' }).click()
  const code = await page.locator('svc-console output').innerText()
  const { items } = await own.client.console.list()
  expect(items).toMatchObject([{ code, status: 'waiting' }])
  const { grant_id } = items[0]!
  const link = page.getByRole('link', { name: 'Confirm' })
  expect(await link.getAttribute('href')).toBe(`${own.sandbox.url}/_sandbox/console?grant=${grant_id}`)
  await own.client.console.confirm({ params: { grant_id }, body: {} })
  await page.locator('svc-console .outcome').waitFor()
  await page.evaluate(
    ({ endpoint, body }) => void window.SponsoredPlacement!.startTurn({ target: '#slot', endpoint, body }),
    { endpoint: host.endpoint, body: host.body({ format: 'banner' }) },
  )
  await page.locator('svc-console .mark-chip', { hasText: 'no-fill' }).waitFor()
})

test('a campaign is forced by its picker, and the slot says so', async () => {
  await using own = await openStage({}, undefined, 'flows')
  await using host = await own.open()
  const { page } = host
  await page.evaluate(() => void window.SponsoredPlacement!.openConsole({ focus: true }))
  await page.getByRole('button', { name: 'Choose' }).click()
  await page.locator('svc-console output').waitFor()
  const [ask] = (await own.client.console.list()).items
  await own.client.console.confirm({ params: { grant_id: ask!.grant_id }, body: {} })
  const picker = page.getByRole('combobox', { name: 'Campaign of the next turns' })
  await picker.selectOption('Larkfield Coffee')
  await page.locator('svc-console .outcome', { hasText: 'cmp_larkfield_coffee' }).waitFor()
  expect(await picker.inputValue()).toBe('cmp_larkfield_coffee')
  await page.evaluate(
    ({ endpoint, body }) =>
      void window.SponsoredPlacement!.startTurn({ target: '#slot', endpoint, body, keepMounted: true }),
    { endpoint: host.endpoint, body: host.body({ format: 'banner' }) },
  )
  await page.locator('svc-console .headline', { hasText: 'forced, never billed' }).waitFor()
  await picker.selectOption('The best offer')
  await page.locator('svc-console .outcome', { hasText: 'No campaign is forced.' }).waitFor()
})
