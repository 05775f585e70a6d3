/** The page that compares own counts: a file that is dropped or chosen, its columns, the report, and what it saves. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { asked, beacon, fill, key, type Stage } from '#tests/http/stage.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { expectAccessibleInBoth, hostile, stagedInspector } from './staged-inspector.ts'

const openStaged = stagedInspector()

/** Drags a file from outside the browser onto the page, and drops it. */
async function drop(page: Page, name: string, text: string): Promise<void> {
  const path = join(temporaryDirectory(), name)
  await writeFile(path, text)
  const { x, y, width, height } = (await page.locator('.file-drop').boundingBox())!
  const place = { x: x + width / 2, y: y + height / 2 }
  const session = await page.context().newCDPSession(page)
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const) {
    const data = { items: [], files: [path], dragOperationsMask: 1 }
    await session.send('Input.dispatchDragEvent', { type, ...place, data })
  }
  await session.detach()
}

/** Plays a fill that is rendered and viewed, one that is only rendered, and a no-fill. Resolves to their slots. */
async function playTurns(on: Stage): Promise<[viewed: string, rendered: string, empty: string]> {
  const viewed = await fill(on.api, { format: 'banner' })
  const rendered = await fill(on.api, { format: 'banner' })
  for (const each of [viewed, rendered]) {
    await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, each, 'render') })
  }
  const measurements = { visible_ratio: 1, visible_ms: 5_000, page_visible: true }
  const seen = beacon(on.clock, viewed, 'visible', { measurements, occurred_at_ms: on.clock.now() + 6_000 })
  await on.api.accept('beacons.send', { as: key, body: seen })
  const { body } = await on.api.accept('placements.create', { as: key, body: asked({ test_outcome: 'no_fill' }) })
  return [viewed.slot_id, rendered.slot_id, body.slot_id]
}

test('a dropped file is compared: totals, a chart, causes, and each turn with a link', async () => {
  await using inspector = await openStaged()
  const { here: on, page, go } = inspector
  const [viewed, rendered, empty] = await playTurns(on)
  await go('/billing')
  await page.getByRole('link', { name: 'Compare your own counts' }).click()
  await page.getByRole('heading', { name: 'Compare your own counts' }).waitFor()
  const rows = [`${viewed},1,1`, `${rendered},1,1`, `${empty},1,0`]
  await drop(page, 'own.csv', ['slot_id,impressions,views', ...rows, ''].join('\n'))
  const total = page.getByRole('region', { name: 'rendered impression', exact: true })
  await total.getByText('+50 %').waitFor()
  await total.getByText('3 yours, 2 accepted, deviation 50 %').waitFor()
  await total.getByText('deviation above the tolerance').waitFor()
  const causes = page.getByRole('region', { name: 'Causes' })
  await causes.getByText('no_fill_counted test_forced').waitFor()
  await causes.getByText('not_viewed').waitFor()
  await causes.getByText('Count only decisions with fill: true.').waitFor()
  const chart = page.getByRole('img', { name: /^rendered impression by day: / })
  await expect
    .poll(() => chart.getAttribute('aria-label'))
    .toContain('2 counted by both, 1 only yours, 0 only accepted')
  await chart.locator('canvas').waitFor()
  await page.getByLabel('Tolerance, percent').fill('100')
  await total.getByText('within the tolerance').waitFor()
  await expectAccessibleInBoth(page)
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download CSV' }).click(),
  ])
  const saved = (await readFile(await download.path(), 'utf8')).split('\r\n')
  expect(saved).toHaveLength(4)
  expect(saved[0]).toContain('slot_id,session_id,day,metric,own,accepted,difference')
  await page.getByRole('link', { name: empty }).click()
  await page.waitForURL(`**/placements/${empty}`)
})

test('a file whose columns are not found is read when they are chosen, and a bad row is named by its line', async () => {
  await using inspector = await openStaged()
  const { here: on, page, go } = inspector
  const [viewed, rendered] = await playTurns(on)
  await go('/billing/reconcile')
  const choose = (name: string, text: string) =>
    page.locator('.file-drop input[type=file]').setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(text) })
  await choose('who.csv', `who,"Ad ${hostile.replaceAll('"', '""')}"\n${viewed},1\n`)
  await page.getByText('No column of it is a slot, an asset token, a session or a day.').waitFor()
  await page.getByRole('button', { name: /slot id/ }).click()
  await page.getByRole('option', { name: 'who' }).click()
  await page.getByText('No column of it counts anything.').waitFor()
  await page.getByRole('button', { name: /viewable impression/ }).click()
  await page.getByRole('option', { name: /^Ad/ }).click()
  await page.getByText('No difference: both count the same.').waitFor()
  await choose('part.csv', `slot_id,impressions,views,VImp\n${viewed},1,1,Y\n${rendered},1,0,N\n`)
  await page.getByText('No difference: both count the same.').waitFor()
  await choose('doubt.csv', `slot_id,impressions,VImp\n${viewed},1,Y\n${rendered},1,N\n`)
  await page.getByText('What was read has no difference, and not all was compared.').waitFor()
  await choose('none.csv', `slot_id,metric\n${viewed},\n`)
  await page.getByText('Nothing was compared: no row of your file has a count').waitFor()
  expect(await page.getByText('No difference').count()).toBe(0)
  await choose('bad.csv', `slot_id,views\n${viewed},many\n`)
  await page.getByText('line 2: views is many: it must be a whole number from 0, yes or no').waitFor()
  await page.getByText('Choose the columns').waitFor()
  // What a file leaves open is chosen on the page, which has no flags.
  await choose('german.csv', 'Jour\tViews\n05.11.2026\t1.000\n')
  await page.getByRole('button', { name: /\bday\b/ }).click()
  await page.getByRole('option', { name: 'Jour' }).click()
  await page.getByText('Its count 1.000 could be 1 or 1000.').waitFor()
  await page.getByRole('button', { name: /Numbers are written/ }).click()
  await page.getByRole('option', { name: '1.234,5' }).click()
  await page.getByText('It does not show whether the day or the month of 05.11.2026 comes first.').waitFor()
  expect(await page.locator('main').innerText()).not.toMatch(/ --[a-z]/)
  await page.getByRole('button', { name: /Days are written/ }).click()
  await page.getByRole('option', { name: '31.12.2026' }).click()
  await page
    .getByText('Read day from Jour (day before month), viewable_impression from Views (thousands with a point).')
    .waitFor()
  await page.getByText('possibly time_zone').or(page.getByText('possibly never_requested')).first().waitFor()
  await choose('empty.csv', '')
  await page.getByText('empty.csv has no row.').waitFor()
  await page
    .locator('.file-drop input[type=file]')
    .setInputFiles({ name: 'image.png', mimeType: 'image/png', buffer: Buffer.from('\x89PNG\r\n\x1a\n\0\0', 'latin1') })
  await page.getByText('image.png: It is not text in UTF-8, UTF-16 or Windows-1252.').waitFor()
})
