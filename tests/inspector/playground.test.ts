import { expect, test } from 'vitest'
import { phone } from './inspector-page.ts'
import { expectAccessibleInBoth, hostile, stagedInspector } from './staged-inspector.ts'

const openStaged = stagedInspector()
const send = { name: 'Send', exact: true } as const

test('a placement is sent as a server, rendered on the surface, and its beacons come as they are accepted', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  await go('/playground?format=banner')
  await page.locator('form').getByRole('button', send).first().click()
  await page.getByText(/^A banner from /).waitFor()
  await page.locator('.surface iframe').waitFor()
  await page.locator('.events').getByText('visible', { exact: true }).first().waitFor()
  const { items } = (await here.api.accept('placements.list')).body
  expect(items).toHaveLength(1)
  expect(items[0]).toMatchObject({ format: 'banner', job_type: 'chat', fill: true })
  const beacons = (await here.api.accept('beacons.list')).body.items.map(({ event, verdict }) => `${event} ${verdict}`)
  expect(beacons).toEqual(expect.arrayContaining(['render accepted', 'visible accepted']))
  const [sent] = (await here.api.accept('requests.list', { query: { path: '/v1/placements' } })).body.items
  expect(sent).toMatchObject({ key: 'sk_test', status: 200 })
  await page.getByRole('button', { name: 'slot_id:' }).first().hover()
  await page.getByRole('tooltip').getByText('documented').waitFor()
})

test.each(['desk', 'phone'] as const)(
  'on a %s there is one Send, and on a phone the form comes first',
  async (size) => {
    await using inspector = await openStaged()
    const { page, go } = inspector
    if (size === 'phone') await page.setViewportSize(phone)
    await go('/playground')
    await page.locator('.surface').waitFor()
    expect(await page.getByRole('button', { name: /^send/i }).count()).toBe(1)
    const readTop = (part: string) => page.locator(part).evaluate((element) => element.getBoundingClientRect().top)
    const [form, surface] = [await readTop('.playground-form'), await readTop('.surface')]
    if (size === 'phone') expect(form).toBeLessThan(surface)
  },
)

test('a clock that is months ahead expires nothing that is shown', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  here.clock.advance(400 * 86_400_000)
  await go('/playground?format=banner')
  await page.locator('form').getByRole('button', send).first().click()
  await page.locator('.events').getByText('visible', { exact: true }).first().waitFor()
  const beacons = (await here.api.accept('beacons.list')).body.items.map(({ event, verdict }) => `${event} ${verdict}`)
  expect(beacons).toEqual(expect.arrayContaining(['visible accepted']))
})

test('as a browser it activates with the publishable key, from this origin', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  await go('/playground?as=browser&format=native&job_type=agent')
  await page.locator('form').getByRole('button', send).first().click()
  await page.getByText(/^A native from /).waitFor()
  await page.locator('.surface iframe').waitFor()
  const { items } = (await here.api.accept('requests.list', { query: { path: '/v1/placements', details: 'true' } }))
    .body
  expect(items[0]).toMatchObject({ key: 'at', status: 200, request_headers: { origin: here.sandbox.url } })
})

test('every choice is in the link, and opening a link sends nothing', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  await go('/playground')
  await page.getByRole('radio', { name: 'Clip' }).check({ force: true })
  await page.getByRole('textbox', { name: 'Topic' }).fill('running shoes')
  await page.getByText('Force a no-fill').click()
  await page.getByRole('button', { name: 'Overrides and waiting' }).click()
  await page.getByRole('textbox', { name: 'Overrides' }).fill('{"bidfloor":2}')
  await expect.poll(() => new URL(page.url()).searchParams.get('overrides')).toBe('{"bidfloor":2}')
  await page.getByRole('button', { name: 'Copy link to this state' }).click()
  const link = await page.evaluate(() => navigator.clipboard.readText())
  await page.goto(link)
  await page.locator('.page-head h1').waitFor()
  expect(await page.getByRole('textbox', { name: 'Topic' }).inputValue()).toBe('running shoes')
  expect((await here.api.accept('requests.list', { query: { path: '/v1/placements' } })).body.items).toEqual([])
  await page.locator('form').getByRole('button', send).first().click()
  await page.getByText('No fill: ').waitFor()
  const [entry] = (await here.api.accept('requests.list', { query: { path: '/v1/placements', details: 'true' } })).body
    .items
  expect(JSON.parse(entry?.request_body ?? '')).toMatchObject({
    test_outcome: 'no_fill',
    prompt: { topic: 'running shoes' },
    overrides: { allowed_formats: ['clip'], bidfloor: 2 },
  })
})

test('a campaign is chosen, fills, and is marked', async () => {
  await using inspector = await openStaged()
  const { page, go } = inspector
  await go('/playground')
  await page.getByRole('button', { name: /Campaign$/ }).click()
  await page.getByRole('option', { name: 'Larkfield Coffee' }).click()
  await expect.poll(() => new URL(page.url()).searchParams.get('campaign')).toBe('cmp_larkfield_coffee')
  await page.locator('form').getByRole('button', send).first().click()
  await page.getByText(/ from Larkfield Coffee/).waitFor()
  await page.getByText('forced, never billed').first().waitFor()
  await page.frameLocator('iframe').getByText('FORCED').first().waitFor()
})

test('a scenario is used with the send; a decision that is late is polled', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  await go('/playground?scenario=pending_then_ready&wait_ms=0')
  await page.locator('form').getByRole('button', send).first().click()
  await page.getByText(/polls$/).waitFor()
  const { items } = (await here.api.accept('scenario.list')).body
  expect(items.find(({ active }) => active)?.name).toBe('pending_then_ready')
  here.clock.advance(600_000)
  await page.getByText(/^An? \w+ from /).waitFor()
})

test('a refusal shows its cause, and what cannot be sent is said before', async () => {
  await using inspector = await openStaged()
  const { page, go } = inspector
  await go('/playground?session=a%01b')
  await page.locator('form').getByRole('button', send).first().click()
  await page.getByText('Refused with 400.').waitFor()
  await page.locator('.playground-result').getByText('"schema_invalid"').waitFor()
  await go('/playground?overrides=%5B1%5D')
  await page.getByRole('button', { name: 'Overrides and waiting' }).click()
  await page.getByText('Enter a JSON object, such as').waitFor()
  expect(await page.locator('form').getByRole('button', send).first().isDisabled()).toBe(true)
})

test('hostile text is text in every field, and axe finds nothing', async () => {
  await using inspector = await openStaged()
  const { page, go } = inspector
  const query = new URLSearchParams({
    topic: hostile.slice(0, 180),
    text: hostile,
    session: hostile,
    overrides: hostile,
  })
  await go(`/playground?${query}`)
  await expectAccessibleInBoth(page)
  await go(`/playground?${new URLSearchParams({ topic: hostile.slice(0, 180), text: hostile })}`)
  await page.locator('form').getByRole('button', send).first().click()
  await page.getByText(/^(A \w+ from|No fill)/).waitFor()
  await page.getByRole('tab', { name: 'QA step' }).click()
  await expectAccessibleInBoth(page)
})
