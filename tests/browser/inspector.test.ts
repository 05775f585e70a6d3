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
  expect(await page.getByLabel('First placement, curl', { exact: true }).textContent()).toContain(
    `curl ${on.sandbox.url}/v1/placements`,
  )
  await page.locator('.live[data-tone=good]').waitFor()
  const { slot_id } = await fill(on.api, { format: 'banner' })
  const row = page.locator('.event-row', { hasText: 'Decision' })
  await row.getByRole('link', { name: slot_id }).click()
  await page.getByRole('heading', { name: slot_id }).waitFor()
  await page.getByText('Would not be billed').waitFor()
  expect(await violations(page)).toEqual([])
})

test('the button that copies code covers none of it, down to a phone', async () => {
  await using on = await stage()
  await using inspector = await openInspector(on.sandbox)
  const blocks = inspector.page.locator('.code')
  for (const width of [1_100, 768, 390]) {
    await inspector.page.setViewportSize({ width, height: 900 })
    const covered = await blocks.evaluateAll(
      (blocks) =>
        blocks.filter((block) => {
          const code = block.querySelector('.scroller')!.getBoundingClientRect()
          const copy = block.querySelector('.copy')!.getBoundingClientRect()
          return copy.width === 0 || copy.left < code.right || copy.right > block.getBoundingClientRect().right
        }).length,
    )
    expect({ width, blocks: await blocks.count(), covered }).toEqual({ width, blocks: 2, covered: 0 })
  }
})

test('no tab is cut off, down to a phone', async () => {
  await using on = await stage()
  await using inspector = await openInspector(on.sandbox, '/controls')
  const { page } = inspector
  for (const width of [1_100, 768, 390]) {
    await page.setViewportSize({ width, height: 900 })
    const lists = await page
      .getByRole('tablist')
      .evaluateAll((found) => found.map((list) => list.scrollWidth - list.clientWidth))
    expect({ width, lists }).toEqual({ width, lists: [0] })
  }
})

test('every identifier has a page, and the palette leads to it', async () => {
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
