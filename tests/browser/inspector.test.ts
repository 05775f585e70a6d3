/** The inspector in short: it starts, shows what happens as it happens, and does nothing that it must not. */
import { expect, test } from 'vitest'
import { fill, stage } from '#tests/http/stage.ts'
import { openInspector } from '#tests/inspector/inspector-page.ts'
import { violations } from './axe.ts'

test('the overview gives the keys, and shows a placement as it is made', async () => {
  await using on = await stage()
  await using inspector = await openInspector(on.sandbox)
  const { page } = inspector
  await page.getByRole('button', { name: 'Copy the secret key', exact: true }).click()
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(on.sandbox.keys.secret_key)
  expect(await page.getByLabel('Create a placement, curl', { exact: true }).textContent()).toContain(
    `curl ${on.sandbox.url}/v1/placements`,
  )
  await page.locator('.live[data-tone=good]').waitFor()
  const { slot_id } = await fill(on.api, { format: 'banner' })
  const row = page.locator('.event-row', { hasText: 'Decision' })
  await row.getByRole('link', { name: slot_id }).click()
  await page.getByRole('heading', { name: slot_id }).waitFor()
  await page.getByText('would not bill').first().waitFor()
  expect(await violations(page)).toEqual([])
})

test('every identifier has a page, and the palette leads to it', { tags: 'depth' }, async () => {
  await using on = await stage()
  const { slot_id } = await fill(on.api)
  await using inspector = await openInspector(on.sandbox, '/placements')
  const { page } = inspector
  await page.getByRole('row').nth(1).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('searchbox', { name: 'Search views, actions' }).fill(slot_id)
  await page.getByRole('menuitem').first().waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(`**/_sandbox/placements/${slot_id}`)
  await inspector.goto('/id/sess_1')
  await page.waitForURL('**/_sandbox/sessions/sess_1')
  await page.getByRole('row').nth(1).getByText(slot_id).waitFor()
})
