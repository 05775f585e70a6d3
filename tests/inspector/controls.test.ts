import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fill } from '#tests/http/stage.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { expectAccessibleInBoth, hostile, stagedInspector } from './staged-inspector.ts'

const openStaged = stagedInspector()

test('the clock is frozen, moved by spans, set to a time, and returned', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  const clock = async () => (await here.api.accept('clock.show')).body
  await go('/controls')
  await page.getByRole('button', { name: 'Freeze' }).click()
  await page.getByRole('button', { name: 'Resume' }).click()
  await expect.poll(async () => (await clock()).frozen).toBe(false)
  await page.getByRole('button', { name: 'Freeze' }).click()
  await expect.poll(async () => (await clock()).frozen).toBe(true)
  const before = (await clock()).now_ms
  await page.getByRole('button', { name: '1 hour' }).click()
  await page.getByText('Advanced by 1 hour.').waitFor()
  expect((await clock()).now_ms).toBe(before + 3_600_000)
  await page.getByLabel('Custom duration').fill('90s')
  await page.getByRole('button', { name: 'Advance', exact: true }).click()
  await expect.poll(async () => (await clock()).now_ms).toBe(before + 3_690_000)
  await page.getByLabel('A time').fill('2030-01-31T12:00:00Z')
  await page.getByRole('button', { name: 'Set', exact: true }).click()
  await expect.poll(async () => (await clock()).now_ms).toBe(Date.UTC(2030, 0, 31, 12))
  const frozen = (await clock()).now_ms
  await page.getByRole('radio', { name: '60×', exact: true }).check({ force: true })
  await expect.poll(async () => (await clock()).now_ms - frozen).toBeGreaterThan(20_000)
  await page.getByRole('radio', { name: '1×', exact: true }).check({ force: true })
  await page.getByLabel('Custom duration').fill('soon')
  await page.getByText('Enter a duration such as').waitFor()
})

test('a fault rule is added, shown and removed', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  await go('/controls?part=faults')
  await page.getByLabel('Path').fill('/v1/beacons')
  await page.getByLabel('Status').fill('429')
  await page.getByLabel('Share of requests').fill('0.5')
  await page.getByRole('button', { name: 'Add rule' }).click()
  await page.getByText('The rule was added.').waitFor()
  const [rule] = (await here.api.accept('faults.list')).body.items
  expect(rule).toMatchObject({ effect: 'error', path: '/v1/beacons', status: 429, rate: 0.5 })
  await page.getByRole('button', { name: `Remove ${rule?.fault_id}` }).click()
  await page.getByText('No fault rule').waitFor()
  await page.getByLabel('Status').fill('200')
  await page.getByRole('button', { name: 'Add rule' }).click()
  await page.getByRole('alert').getByText('status').first().waitFor()
  expect((await here.api.accept('faults.list')).body.items).toEqual([])
  const long = { effect: 'drop', path: `/v1/${'x'.repeat(200)}`, session_id: 's'.repeat(128) } as const
  await here.api.accept('faults.add', { body: long })
  await go('/controls?part=faults')
  const card = page.locator('.card').first()
  expect(await card.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0)
})

test('a scenario is used and ended', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  const active = async () => (await here.api.accept('scenario.list')).body.items.find((item) => item.active)?.name
  await go('/controls?part=scenarios')
  await page.getByLabel('Search', { exact: true }).fill('no_fill')
  await page.getByRole('button', { name: 'Use no_fill', exact: true }).click()
  await expect.poll(active).toBe('no_fill')
  await page.getByRole('button', { name: 'End no_fill', exact: true }).click()
  await expect.poll(active).toBe(undefined)
})

test('a campaign is forced on all test traffic, marked in the list and detail, and ended by its picker', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  await go('/controls?part=scenarios')
  const choose = async (name: string) => {
    await page.getByRole('button', { name: /Force a campaign$/ }).click()
    await page.getByRole('option', { name, exact: true }).click()
  }
  await choose('Larkfield Coffee')
  await page.getByText('cmp_larkfield_coffee is forced.').waitFor()
  const { slot_id } = await fill(here.api)
  await go('/placements')
  await page.locator('.chip', { hasText: /^forced$/ }).waitFor()
  await go(`/placements/${slot_id}`)
  await page.getByText('forced, never billed').waitFor()
  await go('/controls?part=scenarios')
  await choose('none: the best offer wins')
  await page.getByText('No campaign is forced.').waitFor()
  const { items } = (await here.api.accept('scenario.list')).body
  expect(items.filter(({ active }) => active)).toEqual([])
})

test('latency, rate limits and origins are saved as a patch, by fields and by JSON', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  const show = async () =>
    (await here.api.accept('projects.show', { params: { client_id: 'proj_other' } })).body.settings
  await go('/controls?part=settings&project=proj_other')
  await page.getByLabel('Milliseconds').fill('250')
  await page.getByLabel('Beacons').fill('5/s')
  await page.getByLabel('Allowed origins').fill('https://a.example\nhttps://b.example')
  await page.getByText('Refuse personal data').click()
  await page.getByRole('button', { name: 'Save 4 settings' }).click()
  await page.getByText(/^Saved: /).waitFor()
  expect(await show()).toMatchObject({
    decision_latency_ms: 250,
    rate_limits: { default: null, beacons: '5/s', activate: null },
    allowed_origins: ['https://a.example', 'https://b.example'],
    personal_data: 'reject',
  })
  // The form is that of the new revision: what is typed before is lost with the one before.
  await page.getByText('revision 2').waitFor()
  const json = page.getByLabel('Settings as JSON')
  await json.fill((await json.inputValue()).replace('"fill_rate": 1', '"fill_rate": 0.25'))
  await page.getByRole('button', { name: 'Save fill_rate' }).click()
  await page.getByText('Saved: fill_rate.').waitFor()
  expect((await show()).fill_rate).toBe(0.25)
  await page.getByText('revision 3').waitFor()
  await page.getByLabel('Beacons').fill('many')
  await page.getByRole('button', { name: 'Save 1 setting' }).click()
  await page.getByRole('alert').getByText('rate_limits.beacons').waitFor()
})

test('a key is created, shown once, works, and is revoked after a question', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  await go('/controls?part=keys')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  const created = page.getByRole('region', { name: 'The new key' }).locator('code')
  const key = (await created.textContent()) ?? ''
  expect(key).toMatch(/^sk_test_/)
  await fill(here.api, { as: key })
  const params = { client_id: 'proj_demo' }
  const [item] = (await here.api.accept('keys.list', { params })).body.items.toSorted(
    (a, b) => b.created_at_ms - a.created_at_ms || (a.key_id < b.key_id ? 1 : -1),
  )
  await page
    .locator('.card', { hasText: item?.key_id ?? '' })
    .getByRole('button', { name: 'Revoke' })
    .click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click()
  await page.getByText(`${item?.key_id} is revoked.`).waitFor()
  await here.api.refuse('placements.create', { as: key, body: { ...params, session_id: 's', job_type: 'chat' } })
})

test('a snapshot is saved and restored; a reset is asked twice; an export is imported with progress', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  const placements = async () => (await here.api.accept('placements.list')).body.items.length
  await fill(here.api)
  await go('/controls?part=data')
  await page.getByLabel('Name').fill('with-one')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('Saved as with-one.').waitFor()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export' }).click(),
  ])
  const file = await download.path()

  await page.getByRole('button', { name: 'Reset to the seed' }).click()
  const dialog = page.getByRole('alertdialog')
  await dialog.getByRole('button', { name: 'Reset', exact: true }).click()
  expect(await placements()).toBe(1)
  await dialog.getByRole('button', { name: 'Yes, reset everything' }).click()
  await expect.poll(placements).toBe(0)

  await page.locator('.card', { hasText: 'with-one' }).getByRole('button', { name: 'Restore' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Restore' }).click()
  await expect.poll(placements).toBe(1)

  await here.api.accept('sandbox.reset', { body: {} })
  await page.locator('input[type=file]').setInputFiles(file)
  await page.getByRole('button', { name: 'Import', exact: true }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Import' }).click()
  await page.getByText(/^Imported: 3 projects/).waitFor()
  expect(await placements()).toBe(1)

  const broken = join(temporaryDirectory(), 'broken.svc')
  await writeFile(broken, 'no export')
  await page.locator('input[type=file]').setInputFiles(broken)
  await page.getByRole('button', { name: 'Import', exact: true }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Import' }).click()
  await page.getByText('archive_invalid').waitFor()
  expect(await placements()).toBe(1)
})

test('every part is accessible, light at 390 pixels and dark at 1280, with hostile text in its fields', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  await here.api.accept('faults.add', { body: { effect: 'delay', session_id: hostile.slice(0, 200) } })
  await here.api.accept('projects.update', {
    params: { client_id: 'proj_demo' },
    body: { label_text: hostile.slice(0, 64) },
  })
  for (const part of ['clock', 'faults', 'scenarios', 'settings', 'keys', 'data']) {
    await go(`/controls?part=${part}`)
    await page.locator('main .panel').first().waitFor()
    for (const field of await page.locator('main input[type=text]').all())
      await field.fill(hostile.replaceAll('\n', ' '))
    await expectAccessibleInBoth(page)
  }
})
