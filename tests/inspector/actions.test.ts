/** The actions of the views that no other file has: each is done in the page, and read back through the API where it changes something. */
import { expect, test } from 'vitest'
import { curlExport } from '#inspector/views/playground/exports.ts'
import { asked, beacon, fill, key, otherKey } from '#tests/http/stage.ts'
import { stagedInspector } from './staged-inspector.ts'

const openStaged = stagedInspector()

test('overview: another project changes keys and code, what is copied is what is shown, and links lead on', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  const copied = () => page.evaluate(() => navigator.clipboard.readText())
  await go('/')
  await page.getByRole('button', { name: /^Base URL/ }).click()
  expect(await copied()).toBe(here.sandbox.url)
  await page.getByRole('button', { name: /Project/ }).click()
  await page.getByRole('option', { name: 'proj_other' }).click()
  await page.getByRole('button', { name: 'Copy the secret key', exact: true }).click()
  expect(await copied()).toBe('sk_test_sandbox_other')
  for (const stack of ['Shell', 'Node', 'Python', 'PHP', 'Docker Compose']) {
    await page.getByRole('tablist', { name: 'Environment' }).getByRole('tab', { name: stack, exact: true }).click()
    await page.getByRole('button', { name: `Copy Environment, ${stack}` }).click()
    expect([stack, await copied()]).toEqual([stack, expect.stringContaining('sk_test_sandbox_other')])
  }
  await page.getByRole('link', { name: 'All requests' }).click()
  await page.waitForURL('**/_sandbox/requests')
})

test('overview: after a reset, neither the last minute nor the activity has anything from before', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  await go('/')
  const counted = page.getByRole('region', { name: 'The last minute' }).locator('dd').first()
  const activity = page.getByRole('region', { name: 'Recent activity' })
  await fill(here.api)
  await expect.poll(() => counted.innerText()).toMatch(/^1 /)
  await activity.getByText('Decision').waitFor()
  await here.api.accept('sandbox.reset', { body: {} })
  await activity.getByText('Sandbox reset').waitFor()
  await expect.poll(() => counted.innerText()).toMatch(/^0 /)
  expect(await activity.getByRole('listitem').count()).toBe(1)
  await fill(here.api)
  await expect.poll(() => counted.innerText()).toMatch(/^1 /)
})

test('beacons: a search, an event, a pause, and a funnel that says what it counts', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  const first = await fill(here.api, { format: 'banner' })
  const sent = beacon(here.clock, first, 'render')
  await here.api.accept('beacons.send', { as: key, body: sent })
  await go(`/beacons?q=${sent.beacon_id}`)
  await page.getByText('1 shown').waitFor()
  await go('/beacons?q=sess_1')
  await page.getByText('1 placement in session sess_1').waitFor()
  await page.getByText('1 shown').waitFor()
  await go('/beacons?since=5m&client_id=proj_demo')
  await page.getByText('1 placement in proj_demo in the last 5m').waitFor()
  await page.getByRole('button', { name: /Event/ }).click()
  await page.getByRole('option', { name: 'click' }).click()
  await page.getByText('No beacon matches these filters').waitFor()
  await page.getByRole('button', { name: 'Clear', exact: true }).click()
  await page.getByText('1 shown').waitFor()
  await page.getByRole('button', { name: 'Live' }).click()
  const second = await fill(here.api, { format: 'banner' })
  await here.api.accept('beacons.send', { as: key, body: beacon(here.clock, second, 'render') })
  await page.getByText('2 placements').waitFor()
  expect(await page.locator('[data-row]').count()).toBe(1)
  await page.getByRole('button', { name: 'Paused' }).click()
  await here.api.accept('beacons.send', { as: key, body: beacon(here.clock, second, 'visible') })
  await page.getByText('3 shown').waitFor()
  // By two keys: together these are more than one may send at a time.
  const jobs = Array.from({ length: 125 }, () => [
    here.api.accept('jobs.create', { as: key, body: asked({ slots_requested: 4 }) }),
    here.api.accept('jobs.create', { as: otherKey, body: asked({ client_id: 'proj_other', slots_requested: 4 }) }),
  ])
  await Promise.all(jobs.flat())
  await go('/beacons')
  await page.getByText('Newest 1,000 placements. Older ones are not counted').waitFor()
  await go('/')
  const totals = page.getByRole('region', { name: 'Totals' })
  await totals.getByText('Newest placements').waitFor()
  await totals.getByText('Billed (all)').waitFor()
  await totals.getByText('Did not count (all)').waitFor()
})

test('a request: another is chosen to compare, what is equal is shown too, and the differences are closed', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  await fill(here.api, { format: 'banner' })
  await fill(here.api, { format: 'clip' })
  const [later, earlier] = (await here.api.accept('requests.list')).body.items
  await go(`/requests/${later?.request_id}`)
  await page.getByRole('button', { name: 'Compare', exact: true }).click()
  await page.locator('.pick', { hasText: earlier?.request_id ?? '' }).click()
  await page.waitForURL(`**?with=${earlier?.request_id}`)
  const body = page.locator('.diff-part', { has: page.getByRole('heading', { name: /^Request body/ }) })
  await body.getByText('overrides.allowed_formats.0').waitFor()
  expect(await body.getByText('client_id').count()).toBe(0)
  await page.getByText('Show equal values').click()
  await body.getByText('client_id').waitFor()
  await page.getByRole('button', { name: 'Close differences' }).click()
  await page.getByRole('heading', { name: 'Differences' }).waitFor({ state: 'detached' })
  await page
    .getByRole('tab', { name: /^Headers/ })
    .first()
    .click()
  await page.getByText('application/json').first().waitFor()
  await page.getByRole('button', { name: /Key/ }).click()
  await page.getByRole('option', { name: /secret live/ }).click()
  await page.getByRole('button', { name: 'Replay', exact: true }).click()
  await page.getByText(/^Sent again as req_/).waitFor()
  const [replayed] = (await here.api.accept('requests.list')).body.items
  expect(replayed).toMatchObject({ key: 'sk_live', path: '/v1/placements' })
})

test('controls: back to system time, a jump from elsewhere, rewritten fields, every rule and a snapshot removed', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  await go('/controls')
  await here.api.accept('clock.freeze', { body: {} })
  await here.api.accept('clock.set', { body: { to_ms: Date.UTC(2031, 4, 6, 7, 8, 9) } })
  await page.locator('.clock-time', { hasText: '07:08:09' }).waitFor()
  await here.api.accept('clock.advance', { body: { by_ms: 3_600_000 } })
  await page.locator('.clock-time', { hasText: '08:08:09' }).waitFor()
  await page.locator('.top .chip', { hasText: 'stopped at 06 May' }).waitFor()
  await here.api.accept('clock.resume', { body: {} })
  await page.locator('.clock-time', { hasText: '08:08:11' }).waitFor()
  await page.getByRole('button', { name: 'Back to system time' }).click()
  await page.getByText('The clock follows system time again.').waitFor()
  expect((await here.api.accept('clock.show')).body).toMatchObject({ offset_ms: 0, frozen: false })

  await go('/controls?part=faults')
  await page.getByRole('button', { name: /The client gets/ }).click()
  await page.getByRole('option', { name: 'other fields in the response' }).click()
  await page.getByLabel('Fields and new values').fill('{"status": "late"}')
  await page.getByRole('button', { name: 'Add rule' }).click()
  await page.getByText('The rule was added.').waitFor()
  expect((await here.api.accept('faults.list')).body.items).toMatchObject([{ rewrite: { status: 'late' } }])
  await page.getByRole('button', { name: 'Remove all' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Remove all' }).click()
  await page.getByText('All fault rules were removed.').waitFor()
  expect((await here.api.accept('faults.list')).body.items).toEqual([])

  await here.api.accept('snapshots.save', { params: { name: 'kept' }, body: {} })
  await go('/controls?part=data')
  await page.locator('.card', { hasText: 'kept' }).getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Cancel' }).click()
  expect((await here.api.accept('snapshots.list')).body.items).toHaveLength(1)
  await page.locator('.card', { hasText: 'kept' }).getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
  await expect.poll(async () => (await here.api.accept('snapshots.list')).body.items).toEqual([])

  await go('/controls?part=scenarios')
  await page.getByLabel('Search', { exact: true }).fill('no_fill')
  await page.getByRole('link', { name: 'Try no_fill in the playground' }).click()
  await page.waitForURL('**/playground?scenario=no_fill')
})

test('playground: size, position and session of the form are sent, the surface asks, and the exports follow', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  const form = page.getByRole('form', { name: 'Request' })
  const sentBody = async () => {
    const query = { path: '/v1/placements', details: 'true' }
    const [entry] = (await here.api.accept('requests.list', { query })).body.items
    return JSON.parse(entry?.request_body ?? '')
  }
  await go('/playground')
  await form.getByRole('button', { name: 'Size and place' }).click()
  await page.getByLabel('Maximum width').fill('320')
  await page.getByLabel('Maximum height').fill('100')
  await form.getByRole('button', { name: /Position/ }).click()
  await page.getByRole('option', { name: 'Below' }).click()
  await form.getByRole('button', { name: 'Project, session, scenario' }).click()
  await page.getByRole('textbox', { name: 'Session' }).fill('chosen-session')
  await form.getByRole('button', { name: 'Send', exact: true }).click()
  await page.locator('.outcome', { hasText: /./ }).first().waitFor()
  const body = await sentBody()
  expect(body).toMatchObject({
    session_id: 'chosen-session',
    slot_hint: { max_width: 320, max_height: 100, position: 'below' },
  })
  const call = { id: 'placements.create', method: 'POST', path: '/v1/placements', body, as: 'server' } as const
  const target = { base_url: here.sandbox.url, origin: here.sandbox.url }
  for (const name of ['curl', 'TypeScript', 'Python', 'QA step']) {
    await page.getByRole('tab', { name, exact: true }).click()
    await page.getByRole('button', { name: `Copy Export, ${name}` }).click()
    const text = await page.evaluate(() => navigator.clipboard.readText())
    // A step of a suite has the session of its case.
    expect([name, text]).toEqual([
      name,
      expect.stringContaining(name === 'QA step' ? 'max_width: 320' : 'chosen-session'),
    ])
    if (name === 'curl') expect(text).toBe(curlExport(call, target))
  }
  const surface = page.locator('.surface')
  expect(await surface.getByRole('button', { name: 'Send' }).count()).toBe(0)
  await page.getByLabel('Prompt text').fill('hiking boots')
  await form.getByRole('button', { name: 'Send', exact: true }).click()
  await expect.poll(async () => JSON.stringify(await sentBody())).toContain('[removed: 12 characters]')
  await page.getByRole('button', { name: 'Start over' }).click()
  await expect.poll(() => new URL(page.url()).search).toBe('')
})
