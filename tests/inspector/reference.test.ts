import { expect, test } from 'vitest'
import { fill } from '#tests/http/stage.ts'
import { expectAccessibleInBoth, hostile, stagedInspector } from './staged-inspector.ts'

const openStaged = stagedInspector()

test('the search finds endpoints, fields, decisions, codes and pages', async () => {
  await using inspector = await openStaged()
  const { page, go } = inspector
  await go('/reference?q=bidfloor')
  await page.getByRole('navigation', { name: 'Endpoints' }).getByText('placements.create').waitFor()
  expect(await page.getByRole('navigation', { name: 'Endpoints' }).getByText('clock.show').count()).toBe(0)
  await go('/reference?q=consent_required')
  await page
    .getByRole('region', { name: 'Reason codes' })
    .first()
    .getByRole('link', { name: 'consent_required' })
    .waitFor()
  await go('/reference?q=time%20travel')
  await page.getByRole('link', { name: /time travel/i }).click()
  await page.waitForURL(/\/_sandbox\/docs\//)
})

test('fields show where they come from, and are filtered by it', async () => {
  await using inspector = await openStaged()
  const { page, go } = inspector
  await go('/reference?endpoint=placements.create&provenance=observed')
  const fields = page.locator('.field-list')
  await fields.getByText('overrides.bidfloors').first().waitFor()
  expect(await fields.getByText('documented', { exact: true }).count()).toBe(0)
})

test('every example of the API runs with one press and succeeds', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  await fill(here.api)
  for (const id of [
    'placements.create',
    'jobs.create',
    'decisions.get',
    'browser.activate',
    'beacons.send',
    'consent.set',
    'projects.config',
  ]) {
    await go(`/reference?endpoint=${id}`)
    const choices = page.getByRole('button', { name: /Example/ })
    await page.getByRole('button', { name: 'Run', exact: true }).waitFor()
    const count = (await choices.count()) === 0 ? 1 : await buildOptions()
    for (let index = 0; index < count; index++) {
      if (count > 1) {
        await choices.click()
        await page.getByRole('option').nth(index).click()
      }
      await page.getByRole('button', { name: 'Run', exact: true }).click()
      const outcome = await page.getByText(/^Responded \d+\.$/).textContent()
      expect([id, index, outcome]).toEqual([id, index, expect.stringMatching(/^Responded 20[01]\.$/)])
    }
    async function buildOptions(): Promise<number> {
      await choices.click()
      const found = await page.getByRole('option').count()
      await page.keyboard.press('Escape')
      return found
    }
  }
})

test('a read of the control plane runs too, and what is edited is sent as it is', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  await go('/reference?endpoint=clock.show')
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  await page.getByText('Responded 200.').waitFor()
  await go('/reference?endpoint=placements.create')
  await page.getByRole('textbox', { name: 'Body' }).fill('{"client_id":')
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  await page.getByText('Responded 400.').waitFor()
  const [entry] = (await here.api.accept('requests.list')).body.items
  expect(entry).toMatchObject({ reason_code: 'json_malformed' })
})

test('the contract is accessible, whatever is searched', async () => {
  await using inspector = await openStaged()
  const { page, go } = inspector
  await go('/reference')
  await page.getByRole('navigation', { name: 'Endpoints' }).waitFor()
  await expectAccessibleInBoth(page)
  await go(`/reference?q=${encodeURIComponent(hostile)}`)
  await page.getByText('No endpoint matches.').waitFor()
  await go('/reference?endpoint=beacons.send')
  await page.getByRole('button', { name: 'Run', exact: true }).waitFor()
  await expectAccessibleInBoth(page)
})
