/** The page in a browser, with a sandbox that is reset before each test: `npm run test:browser`. */
import { expect, test } from 'svc-sandbox/playwright'

const question = 'How do I make better espresso at home?'

test('before consent nothing is requested, and the answer still comes', async ({ page, sandbox }) => {
  await page.goto('/')
  await ask(page)
  await expect(page).not.toShowPlacement()
  const { count } = await sandbox.client.requests.count({ body: { path: '/v1' } })
  expect(count).toBe(0)
})

test('after consent the answer has a labelled ad, and its view is billed once', async ({ page, sandbox }) => {
  await page.goto('/')
  await allow(page)
  await ask(page)
  await expect(page).toShowPlacement('native')
  const { slot_id } = await sandbox.waitForBeacon('visible', { timeout: 20_000 })
  await expect(sandbox).toHaveBilled({ slot_id, count: 1 })
  await expect(sandbox).toHaveNoRejectedBeacons()
  const text = await page.evaluate(() =>
    window.SponsoredPlacement?.openConsole({ hidden: true }).then((opened) => opened.text()),
  )
  expect(text).toContain('bills viewable_impression')
  const { items } = await sandbox.client.placements.list()
  expect(items).toMatchObject([{ slot_id, fill: true }])
})

test('a no-fill leaves no gap below the answer', async ({ page, sandbox }) => {
  await sandbox.client.scenario.use({ params: { name: 'no_fill' }, body: {} })
  await page.goto('/')
  await allow(page)
  await ask(page)
  await expect(page).not.toShowPlacement()
  const { items } = await sandbox.client.placements.list()
  expect(items).toMatchObject([{ fill: false }])
  const height = await page.locator('.slot').evaluate((slot) => slot.getBoundingClientRect().height)
  expect(height).toBe(0)
})

async function allow(page) {
  await page.getByRole('button', { name: 'Allow' }).click()
  await page.getByRole('button', { name: 'Sponsored: on' }).waitFor()
}

/** Asks a question and waits for the end of the answer. */
async function ask(page) {
  await page.getByRole('textbox', { name: 'Your question' }).fill(question)
  await page.getByRole('button', { name: 'Send' }).click()
  await page.locator('.answer[aria-busy="false"]').waitFor()
}
