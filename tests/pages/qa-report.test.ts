/** The page of a QA run in a real browser, opened as a file: it loads nothing, runs nothing foreign, and can be used. */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AxeResults } from 'axe-core'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { renderPage } from '#qa/report/html/page.ts'
import type { RunResult } from '#qa/result.ts'
import { sharedChromium } from '#tests/browser/chromium.ts'
import { everything, exchange, failedItem, hostile, item, run } from '#tests/qa-report/results.ts'

let browser: Browser
let directory: string
let axe: string
let pages = 0

beforeAll(async () => {
  axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
  directory = await mkdtemp(join(tmpdir(), 'svc-qa-page-'))
  browser = await sharedChromium()
})

afterAll(async () => {
  await rm(directory, { recursive: true, force: true })
})

interface Opened extends AsyncDisposable {
  page: Page
  /** Everything the page asked for, itself apart. */
  requests: string[]
  /** Errors, and what the policy refused. */
  problems: string[]
  /** Bytes. */
  size: number
}

async function open(result: RunResult, options: BrowserContextOptions = {}, hash = ''): Promise<Opened> {
  const file = join(directory, `${++pages}.html`)
  const text = renderPage(result)
  await writeFile(file, text)
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    reducedMotion: 'reduce',
    ...options,
  })
  const page = await context.newPage()
  const requests: string[] = []
  const problems: string[] = []
  page.on('request', (request) => {
    if (!request.url().startsWith('file:') && !request.url().startsWith('data:')) requests.push(request.url())
  })
  page.on('console', (message) => problems.push(message.text()))
  page.on('pageerror', (error) => problems.push(error.message))
  await page.goto(pathToFileURL(file).href + hash)
  return { page, requests, problems, size: Buffer.byteLength(text), [Symbol.asyncDispose]: () => context.close() }
}

/** What axe finds serious or critical: the rule and the element. Default: by every rule, on the whole page. */
async function violations(
  page: Page,
  { rules, within = 'html' }: { rules?: readonly string[]; within?: string } = {},
): Promise<string[]> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe)
  const options = { resultTypes: ['violations'], ...(rules === undefined ? {} : { runOnly: rules }) }
  const results = (await page.evaluate(`axe.run('${within}', ${JSON.stringify(options)})`)) as AxeResults
  return results.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`))
}

const unfoldAll = (page: Page) =>
  page.evaluate(() => {
    for (const details of document.querySelectorAll('details')) details.open = true
  })

const shownCases = (page: Page) =>
  page
    .locator('#cases [data-case]:visible')
    .evaluateAll((cases) => cases.map((element) => element.querySelector('.title')?.textContent))

describe('for everyone', () => {
  test('offends no rule of axe, all unfolded, light and dark', async () => {
    await using opened = await open(everything(), { colorScheme: 'light' })
    const { page } = opened
    await unfoldAll(page)
    expect(await page.locator('.exchange:visible').count()).toBeGreaterThan(20)
    await page.locator('#filter-text').focus()
    expect(await violations(page)).toEqual([])
    // Nothing but colours depends on the preference.
    await page.emulateMedia({ colorScheme: 'dark' })
    expect(await violations(page, { rules: ['color-contrast'] })).toEqual([])
    await page.locator('.toggle', { hasText: 'passed' }).click()
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme })
      expect(await violations(page, { within: '#filters' })).toEqual([])
    }
  })

  test('never scrolls sideways from 320 to 1920 px, all unfolded', async () => {
    await using opened = await open(everything())
    const { page } = opened
    await unfoldAll(page)
    for (const width of [1920, 768, 320]) {
      await page.setViewportSize({ width, height: 700 })
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width)
      // Of what axe looks for, these depend on the width.
      expect(await violations(page, { rules: ['scrollable-region-focusable', 'target-size'] }), String(width)).toEqual(
        [],
      )
    }
  })

  test('nor for a long word in each of its names, from 360 to 1920 px', async () => {
    const long = 'x'.repeat(300)
    const cases = [
      failedItem({ suite: long, name: long, tags: [long], matrix: { [long]: long } }),
      item({ name: '漢字'.repeat(150) }),
    ]
    await using opened = await open(run(cases))
    await unfoldAll(opened.page)
    for (const width of [1920, 800, 360]) {
      await opened.page.setViewportSize({ width, height: 700 })
      expect(await opened.page.evaluate(() => document.documentElement.scrollWidth)).toBe(width)
    }
  })

  test('a run that went well, one of nothing, and one that was interrupted', async () => {
    const results = [run([item(), item({ name: 'second' })]), run([]), run([item()], { interrupted: 'SIGINT' })]
    const heads: string[] = []
    const counts: string[] = []
    for (const result of results) {
      await using opened = await open(result)
      heads.push(await opened.page.locator('h1').innerText())
      counts.push(...(await opened.page.locator('#filter-count').allInnerTexts()))
      expect([await violations(opened.page), opened.problems]).toEqual([[], []])
      expect(await opened.page.locator('#failures').count()).toBe(0)
      if (result.interrupted !== null) {
        await opened.page.getByText('Interrupted by SIGINT: the run is incomplete.').waitFor()
      }
    }
    expect(heads).toEqual(['All 2 cases passed', 'No case was run', 'The case passed'])
    expect([counts.at(0), counts.at(-1)]).toEqual(['2 cases', '1 case'])
  })
})

describe('what came off the wire', () => {
  test('stays text: nothing runs, nothing is loaded, and it can be read', async () => {
    await using opened = await open(everything())
    const { page, requests, problems } = opened
    await page.locator('[data-fold=open]').click()
    expect(await page.evaluate(() => 'stolen' in window)).toBe(false)
    expect(await page.locator('script').count()).toBe(1)
    expect(await page.locator('img:not([src^="data:image/png;base64,"])').count()).toBe(0)
    expect([requests, problems]).toEqual([[], []])
    const readable = hostile.replace('\u001b', '\\u001b').replace('\u0000', '\\u0000').replace('\u202e', '\\u202e')
    const text = await page.locator('#failures').evaluate((element) => element.textContent)
    expect(text!.split(readable).length).toBeGreaterThan(8)
  })

  test('would not run even if it became markup: the policy knows our script and style only', async () => {
    const file = join(directory, 'broken.html')
    const broken = renderPage(everything()).replace(
      '</main>',
      `<script>window.stolen=3</script><img src=x onerror="window.stolen=4"><p style="color:red" id="styled">x</p><form action="https://example.test/"><button id="send">x</button></form></main>`,
    )
    await writeFile(file, broken)
    const context = await browser.newContext()
    try {
      const page = await context.newPage()
      const refused: string[] = []
      page.on('console', (message) => refused.push(message.text()))
      await page.goto(pathToFileURL(file).href)
      await page.locator('#filter-count', { hasText: '26 cases' }).waitFor()
      expect(await page.evaluate(() => 'stolen' in window)).toBe(false)
      const color = await page.locator('#styled').evaluate((element) => getComputedStyle(element).color)
      expect(color).not.toBe('rgb(255, 0, 0)')
      const sending = page.waitForEvent('console', (message) => message.text().includes('form-action'))
      await page.evaluate(() => setTimeout(() => document.querySelector<HTMLButtonElement>('#send')?.click()))
      await sending
      for (const directive of ['script-src', 'style-src', 'img-src']) {
        expect(
          refused.filter((text) => text.includes(directive)),
          directive,
        ).not.toEqual([])
      }
    } finally {
      await context.close()
    }
  })
})

describe('to find something', () => {
  test('failures come first, unfolded to the failed check and the curl that repeats it', async () => {
    await using opened = await open(everything())
    const { page } = opened
    const first = page.locator('#failures .case').first()
    expect(await first.locator('.check strong:visible').allInnerTexts()).toEqual(['body.placement.creative'])
    expect(await first.locator('.diff .expected').allInnerTexts()).toEqual([
      '-   "height": 360,',
      '-       "type": "video/mp4"',
    ])
    expect(await first.locator('.copyable code').first().innerText()).toMatch(/^curl -sS -X POST/)
    const order = await page.evaluate(() => [...document.querySelectorAll('main section[id]')].map(({ id }) => id))
    expect(order).toEqual(['failures', 'matrix', 'timings', 'cases'])
  })

  test('by outcome, tag and words, together', async () => {
    await using opened = await open(everything())
    const { page } = opened
    const count = page.locator('#filter-count')
    expect(await count.innerText()).toBe('26 cases')
    await page.locator('.toggle', { hasText: 'not applicable' }).click()
    expect(await shownCases(page)).toEqual(['clock can be set', 'faults can be set', 'scenario can be set'])
    expect(await count.innerText()).toBe('3 of 26 cases')
    expect(await page.locator('#failures').isVisible()).toBe(false)
    await page.locator('.toggle', { hasText: 'failed' }).click()
    expect(await count.innerText()).toBe('9 of 26 cases')
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.locator('#filter-count', { hasText: /^26 cases$/ }).waitFor()
    await page.locator('#filter-tag').selectOption('clip')
    expect(await count.innerText()).toBe('3 of 26 cases')
    await page.locator('#filter-text').fill('IMAGE formats')
    expect(await shownCases(page)).toEqual(['clip of image has its shape'])
    await page.locator('#filter-text').fill('nowhere')
    expect(await page.locator('#filter-none').isVisible()).toBe(true)
    expect(await shownCases(page)).toEqual([])
  })

  test('by the matrix: a cell leads to its case, also when it is filtered out', async () => {
    await using opened = await open(everything())
    const { page } = opened
    const table = page.getByRole('region', { name: 'Cases by format' })
    expect(await table.locator('thead th').allInnerTexts()).toEqual(['By format', 'banner', 'clip', 'native'])
    expect(await table.locator('tbody tr').first().locator('th, td').allInnerTexts()).toEqual([
      'formats {format} of code has its shape',
      '✓',
      '✗',
      '✓',
    ])
    expect(await table.locator('tbody tr').count()).toBe(3)
    await page.locator('#filter-text').fill('beacons')
    await table.getByRole('link', { name: 'passed: native of image has its shape' }).click()
    await page.locator('#filter-count', { hasText: /^26 cases$/ }).waitFor()
    const target = page.locator('details.case[open]', { hasText: 'native of image has its shape' })
    await target.waitFor()
    expect(
      await target
        .locator('summary')
        .first()
        .evaluate((summary) => summary === document.activeElement),
    ).toBe(true)
  })

  test('by an address that someone was sent', async () => {
    await using opened = await open(everything(), {}, '#case-10')
    await opened.page.locator('#case-10[open] .step').waitFor()
  })

  test('with the keyboard alone', async () => {
    await using opened = await open(everything())
    const { page } = opened
    const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim() ?? '')
    await page.keyboard.press('Tab')
    expect(await focused()).toBe('Skip to the cases')
    await page.keyboard.press('/')
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('filter-text')
    await page.keyboard.type('no-fill frequency/')
    expect(await page.locator('#filter-text').inputValue()).toBe('no-fill frequency/')
    await page.keyboard.press('Backspace')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Space')
    expect(await page.locator('input[value=failed]').isChecked()).toBe(true)
    await page.keyboard.press('Space')
    const suite = page.locator('#cases .suite:visible > summary')
    await suite.focus()
    await page.keyboard.press('Tab')
    expect(await focused()).toContain('answers frequency_cap')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    expect(await focused()).toContain('placement')
    await page.keyboard.press('Enter')
    await page.locator('.exchange:visible').waitFor()
  })

  test('the curl is copied', async () => {
    await using opened = await open(everything(), { permissions: ['clipboard-read', 'clipboard-write'] })
    const { page } = opened
    const button = page.getByRole('button', { name: 'Copy the curl command' }).first()
    await Promise.all([page.getByText('Copied').waitFor(), button.click()])
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(exchange().curl)
  })

  test('without scripts everything is there, folded', async () => {
    await using opened = await open(everything(), { javaScriptEnabled: false })
    const { page } = opened
    expect(await page.locator('#filters').isVisible()).toBe(false)
    expect(await page.locator('.copy:visible, .folds:visible').count()).toBe(0)
    await page.locator('#cases summary', { hasText: 'answers no_demand' }).click()
    await page.locator('.step:visible', { hasText: 'placement' }).first().waitFor()
  })
})

// The size of such a page, with long bodies and screenshots, is pinned without a browser: tests/qa-report/page.test.ts.
test('a thousand cases are one page that opens, and can be filtered', async () => {
  const cases = Array.from({ length: 1_000 }, (_, index) => {
    const given = { suite: `suite ${index % 20}`, name: `case ${index}`, id: `suite ${index % 20}/case ${index}` }
    return index < 30 ? failedItem(given) : item(given)
  })
  await using opened = await open(run(cases))
  const { page, problems } = opened
  expect(problems).toEqual([])
  expect(await page.locator('#filter-count').innerText()).toBe('1000 cases')
  expect(await page.locator('#failures .case[open]').count()).toBe(10)
  await page.locator('#filter-text').fill('case 777')
  expect(await page.locator('#filter-count').innerText()).toBe('1 of 1000 cases')
  expect(await shownCases(page)).toEqual(['case 777'])
})
