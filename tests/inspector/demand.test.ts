/** Files of your own campaigns, dropped on the inspector, and the creatives of a campaign in every look. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { fill } from '#tests/http/stage.ts'
import { expectAccessibleInBoth, hostile, stagedInspector } from './staged-inspector.ts'

const openStaged = stagedInspector()

const png = readFileSync(new URL('../../fixtures/test-assets/banner-300x250.png', import.meta.url))
const picture = { name: 'tea.png', mimeType: 'image/png', buffer: png }
const demand = (price_cpm: number, sponsor_name = 'Fernhill Tea') => {
  const campaign = {
    sponsor_name,
    click_url: 'https://fernhill.example/tea',
    price_cpm,
    creatives: [{ file: 'tea.png' }],
  }
  // JSON is YAML.
  const text = JSON.stringify({ campaigns: [campaign] }, null, 2)
  return { name: 'demand.yaml', mimeType: 'application/yaml', buffer: Buffer.from(text) }
}

test('files are checked, what is wrong has its line and fix, and what is right is in force once confirmed', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  await go('/demand')
  const choose = (files: (typeof picture)[]) => page.locator('.file-drop input[type=file]').setInputFiles(files)
  const sponsorNow = async () => (await fill(here.api, { format: 'banner' })).placement.sponsor_name
  await choose([demand(-1)])
  await page.getByText('demand.yaml:6:').first().waitFor()
  await page.getByText('must be more than 0').waitFor()
  await choose([demand(90), picture])
  await page.getByText('1 campaign checked.').waitFor()
  expect(await sponsorNow()).not.toBe('Fernhill Tea')
  await page.getByRole('button', { name: 'Put in force' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Put in force' }).click()
  await page.getByText('1 campaign in force.').waitFor()
  expect(await sponsorNow()).toBe('Fernhill Tea')
  await page.getByRole('link', { name: 'Fernhill Tea' }).waitFor()
})

test('hostile names are text, and the page is accessible in both themes', async () => {
  await using inspector = await openStaged()
  const { page, go } = inspector
  await go('/demand')
  await page.locator('.file-drop input[type=file]').setInputFiles([demand(4, hostile.slice(0, 200)), picture])
  await page.getByText('1 campaign checked.').waitFor()
  await expectAccessibleInBoth(page)
})

test('the looks of a campaign are rendered from their frames, and judged by the rules of the sheet', async () => {
  await using inspector = await openStaged()
  const { page, go } = inspector
  await go('/campaigns/cmp_larkfield_coffee?part=looks')
  const look = page.locator('.look', { has: page.getByText('320 px, dark', { exact: true }) }).first()
  await look.scrollIntoViewIfNeeded()
  await look
    .getByText(/^(Nothing found|Not measured: .*)$/)
    .first()
    .waitFor()
  const scheme = await look.locator('iframe').evaluate((frame) => getComputedStyle(frame).colorScheme)
  expect(scheme).toBe('dark')
  const large = page.locator('.look', { hasText: '200 % text' }).first()
  await large.scrollIntoViewIfNeeded()
  await large
    .getByText(/Nothing found|is cut off/)
    .first()
    .waitFor()
  await page
    .getByText(/svc creatives sheet/)
    .first()
    .waitFor()
})
