/** The pages of the documentation in a browser: both themes, wide and narrow, found by search, copied, accessible. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Sandbox, startSandbox } from '#sandbox/index.ts'
import { violations } from '#tests/browser/axe.ts'
import { sharedChromium } from '#tests/browser/chromium.ts'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox({ seed: 1 })
})
afterAll(() => sandbox?.[Symbol.asyncDispose]())

async function open(
  topic: string,
  width: number,
  colorScheme: 'light' | 'dark',
): Promise<{ page: Page; log: string[] }> {
  const browser = await sharedChromium()
  const context = await browser.newContext({ viewport: { width, height: 844 }, colorScheme })
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const page = await context.newPage()
  const log: string[] = []
  page.on('console', (message) => log.push(message.text()))
  page.on('pageerror', (error) => log.push(String(error)))
  await page.goto(`${sandbox.url}/_sandbox/docs/${topic}`)
  return { page, log }
}

test.each([
  ['', 1280, 'light'],
  ['getting-started', 390, 'dark'],
  ['errors/event_not_supported_for_format', 390, 'light'],
  ['reference', 390, 'light'],
  ['reference/placements.create', 390, 'dark'],
] as const)(
  '%s at %i pixels, %s: nothing is cut off, nothing is blocked, no violation',
  async (topic, width, scheme) => {
    const { page, log } = await open(topic, width, scheme)
    expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBeLessThanOrEqual(0)
    const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    expect(ground).toBe(scheme === 'dark' ? 'rgb(17, 17, 20)' : 'rgb(255, 255, 255)')
    expect(await violations(page)).toEqual([])
    expect(log).toEqual([])
    await page.context().close()
  },
)

test.each([320, 390, 1280])('at %i pixels the results of a search are within the window', async (width) => {
  const { page } = await open('getting-started', width, 'dark')
  await page.fill('search input', 'beacon')
  await page.waitForSelector('#found a')
  const { left, right } = await page.$eval('#found', (list) => list.getBoundingClientRect().toJSON())
  expect(left).toBeGreaterThan(0)
  expect(right).toBeLessThan(width)
  // Screen readers announce the result that the arrow keys reach.
  await page.keyboard.press('ArrowDown')
  const active = await page.getAttribute('search input', 'aria-activedescendant')
  expect(await page.getAttribute(`#${active}`, 'aria-selected')).toBe('true')
  expect(await violations(page)).toEqual([])
  await page.keyboard.press('Escape')
  expect(await page.getAttribute('search input', 'aria-expanded')).toBe('false')
  await page.context().close()
})

test('a search that finds nothing says what it looked in, Tab closes it, and without a sandbox it says so', async () => {
  const { page } = await open('getting-started', 1280, 'light')
  const notes = () => page.$$eval('#found .none', (lines) => lines.map(({ textContent }) => textContent))
  await page.route('**/index.json', (route) => route.abort())
  await page.fill('search input', 'consent')
  await page.waitForSelector('#found .none')
  expect(await notes()).toEqual(['The sandbox does not respond, so nothing can be searched.'])
  await page.unroute('**/index.json')
  await page.fill('search input', 'über')
  await page.waitForFunction(() => document.querySelector('#found .none')?.textContent?.startsWith('No page') === true)
  await page.keyboard.press('Tab')
  expect(await page.isVisible('#found')).toBe(false)
  await page.context().close()
})

test('search finds pages before codes, and Enter opens the first', async () => {
  const { page, log } = await open('', 1280, 'light')
  await page.keyboard.press('/')
  await page.keyboard.type('consent')
  await page.waitForSelector('#found a')
  const found = await page.$$eval('#found a', (links) => links.map((link) => link.getAttribute('href')))
  expect(found[0]).toBe('/_sandbox/docs/consent')
  expect(found).toContain('/_sandbox/docs/errors/consent_required')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/docs/consent')
  await page.keyboard.press('/')
  await page.keyboard.type('qwertzuiop')
  await page.waitForSelector('#found .none')
  expect(log).toEqual([])
  await page.context().close()
})

test.each([
  ['csp', 'browser#when-nothing-shows'],
  ['reset', 'commands/sandbox#svc-sandbox-reset'],
  ['next.js', 'browser#with-your-backend'],
  ['svc agent mcp', 'agents'],
  ['/v1/placements', 'reference/placements.create'],
  ['rate_limit', 'errors/rate_limited'],
])('search finds %s at %s', async (text, target) => {
  const { page } = await open('', 1280, 'light')
  await page.fill('search input', text)
  await page.waitForSelector('#found a')
  const found = await page.$$eval('#found a', (links) => links.map((link) => link.getAttribute('href')))
  expect(found).toContain(`/_sandbox/docs/${target}`)
  const [path = '', anchor] = target.split('#')
  await page.goto(new URL(`/_sandbox/docs/${path}`, page.url()).href)
  if (anchor !== undefined) expect(await page.locator(`[id="${anchor}"]`).count()).toBe(1)
  await page.context().close()
})

test('a block of code is copied as it is, with the address of this sandbox', async () => {
  const { page } = await open('errors/batch_not_supported', 1280, 'light')
  await page.hover('.code')
  await Promise.all([
    page.waitForFunction(() => document.querySelector('.code button')?.textContent === 'Copied'),
    page.click('.code button'),
  ])
  const copied = await page.evaluate(() => navigator.clipboard.readText())
  expect(copied).toContain(`curl -s ${sandbox.url}/v1/beacons -H 'Authorization: Bearer sk_test_sandbox_demo' \\\n  -H`)
  await page.context().close()
})

test('code has colours in both themes, in each language that has a grammar', async () => {
  for (const scheme of ['light', 'dark'] as const) {
    for (const [topic, language, tags] of [
      ['server', 'ts', ['q', 'b', 'u']],
      ['server', 'python', ['q', 'b', 'u']],
      ['qa-suites', 'yaml', ['q', 'var', 'u']],
      ['server', 'sh', ['var']],
    ] as const) {
      const { page } = await open(topic, 1280, scheme)
      for (const tag of tags) {
        const token = page.locator(`[data-language=${language}] code ${tag}`).first()
        const colours = await token.evaluate((element) =>
          [element, element.closest('code')!].map((each) => getComputedStyle(each).color),
        )
        expect([language, tag, scheme, new Set(colours).size]).toEqual([language, tag, scheme, 2])
      }
      await page.context().close()
    }
  }
})

test('the switch goes from the theme of the system to light, dark and back, and the inspector has the same', async () => {
  const { page, log } = await open('getting-started', 1280, 'dark')
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
  const [dark, light] = ['rgb(17, 17, 20)', 'rgb(255, 255, 255)']
  expect(await ground()).toBe(dark)
  for (const [theme, colour] of [
    ['light', light],
    ['dark', dark],
    ['system', dark],
    ['light', light],
  ] as const) {
    await page.locator('button.theme').click()
    expect([await page.locator('button.theme').getAttribute('aria-label'), await ground()]).toEqual([
      `Theme: ${theme}`,
      colour,
    ])
  }
  await page.reload()
  expect(await ground()).toBe(light)
  await page.getByRole('link', { name: 'Inspector', exact: true }).click()
  await page.waitForURL('**/_sandbox/')
  await page.locator('h1').first().waitFor()
  expect(await page.getByRole('radio', { name: 'Light theme' }).isChecked()).toBe(true)
  expect(log).toEqual([])
  await page.context().close()
})

test('on a phone the pages are in a menu', async () => {
  const { page } = await open('faults', 390, 'light')
  expect(await page.isVisible('nav')).toBe(false)
  await page.click('.menu')
  await page.click('nav >> text=Time travel')
  await page.waitForURL('**/docs/time-travel')
  expect(await page.isVisible('nav')).toBe(false)
  await page.context().close()
})
