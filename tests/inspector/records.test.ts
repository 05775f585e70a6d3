/** Placements, beacons, consent, evidence and billing in the inspector: what each view shows, and each of its actions. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startSandbox } from '#sandbox/index.ts'
import { violations } from '#tests/browser/axe.ts'
import { connect } from '#tests/http/call.ts'
import { asked, beacon, edit, fill, key } from '#tests/http/stage.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { isTooWide, openInspector, phone } from './inspector-page.ts'
import { stagedInspector } from './staged-inspector.ts'

const openStaged = stagedInspector()

test('placements: pages by cursor, filters that are in the address, and new rows as they arrive', async () => {
  await using inspector = await openStaged()
  const { here: on, page, go } = inspector
  for (let index = 0; index < 130; index++) await fill(on.api, { format: index % 2 === 0 ? 'banner' : 'native' })
  await on.api.accept('placements.create', { as: key, body: asked({ test_outcome: 'no_fill' }) })
  await go('/placements')
  await page.getByText('100 shown, more below').waitFor()
  await page.getByRole('table').evaluate((table) => table.scrollTo(0, table.scrollHeight))
  await page.getByText('131 shown').waitFor()
  await page.getByRole('button', { name: /Outcome/ }).click()
  await page.getByRole('option', { name: 'no-fills' }).click()
  await page.getByText('1 shown').waitFor()
  await page.getByRole('row').getByText('test_forced').waitFor()
  expect(new URL(page.url()).search).toBe('?fill=false')
  await page.reload()
  await page.getByText('1 shown').waitFor()
  await page.getByRole('button', { name: 'Clear', exact: true }).click()
  await page.getByText('100 shown, more below').waitFor()
  const { slot_id } = await fill(on.api)
  await page.getByRole('row').nth(1).getByText(slot_id).waitFor()
  await page.getByRole('button', { name: 'Live' }).click()
  await fill(on.api)
  await page.getByRole('searchbox', { name: 'Session, job, slot or campaign' }).fill(slot_id)
  await page.getByText('1 shown').waitFor()
  const { job_id } = (await on.api.accept('placements.explain', { params: { slot_id } })).body
  await page.getByRole('searchbox', { name: 'Session, job, slot or campaign' }).fill(job_id)
  await page.waitForURL(`**?q=${job_id}`)
  await page.getByText('1 shown').waitFor()
  await page.getByRole('searchbox', { name: 'Session, job, slot or campaign' }).fill('nobody')
  await page.getByText('No placement matches these filters').waitFor()
  await page.getByRole('button', { name: 'Clear', exact: true }).click()
  const { campaign_id } = (await on.api.accept('placements.explain', { params: { slot_id } })).body
  await page.getByRole('searchbox', { name: 'Session, job, slot or campaign' }).fill(campaign_id!)
  await page.waitForURL(`**?q=${campaign_id}`)
  await page.getByRole('row').getByText('test_forced').waitFor({ state: 'detached' })
})

test('a list is saved as a CSV file with all its pages', async () => {
  await using inspector = await openStaged()
  const { here: on, page, go } = inspector
  for (let index = 0; index < 110; index++) await fill(on.api, { format: 'banner' })
  await on.api.accept('placements.create', { as: key, body: asked({ test_outcome: 'no_fill' }) })
  await go('/placements?fill=true')
  await page.getByText('100 shown, more below').waitFor()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download CSV' }).click(),
  ])
  await page.getByText(/^Saved 110 to placements-.*\.csv\.$/).waitFor()
  const lines = (await readFile(await download.path(), 'utf8')).split('\r\n')
  expect(lines[0]).toMatch(/^slot_id,job_id,.*,created_at,decided_at,reached$/)
  expect(lines).toHaveLength(112)
  expect(lines[1]).toMatch(/^slot_\w{11},job_\w{11},proj_demo,.*,banner,.*Z,.*Z,$/)
  expect(await violations(page)).toEqual([])
})

test('a campaign: the placements that it has filled, and none for one that lost', async () => {
  await using inspector = await openStaged()
  const { here: on, page, go } = inspector
  const { slot_id } = await fill(on.api, { format: 'banner' })
  const { campaign_id } = (await on.api.accept('placements.explain', { params: { slot_id } })).body
  await go(`/placements/${slot_id}`)
  await page.getByRole('link', { name: campaign_id!, exact: true }).first().click()
  await page.waitForURL(`**/campaigns/${campaign_id}`)
  await page.getByRole('row').getByText(slot_id).waitFor()
  await go('/id/cmp_nobody')
  await page.waitForURL('**/campaigns/cmp_nobody')
  await page.getByText('This campaign has not filled any placement').waitFor()
})

test('a placement: its timeline, its trace as a funnel, its frame, consent, evidence and verdict', async () => {
  await using inspector = await openStaged()
  const { here: on, page, go } = inspector
  const filled = await fill(on.api, { format: 'banner' })
  await go(`/placements/${filled.slot_id}`)
  const detail = (await on.api.accept('placements.explain', { params: { slot_id: filled.slot_id } })).body
  const removed = Map.groupBy(
    detail.trace.filter(({ outcome }) => outcome === 'removed'),
    ({ rule }) => rule,
  )
  const [rule, steps] = [...removed][0]!
  const row = page.locator('button.funnel-row', { hasText: `${steps.length} removed by ${rule}` })
  await row.click()
  await page.locator('.funnel-detail').getByText(steps[0]!.campaign_id, { exact: true }).waitFor()
  await page.getByText(detail.campaign_id!).first().waitFor()

  await page.frameLocator('iframe').locator('.creative').waitFor()
  const after = (await on.api.accept('placements.explain', { params: { slot_id: filled.slot_id } })).body
  expect([after.first_frame_at_ms, after.beacons]).toEqual([null, []])

  const entry = page.locator('.chain-row').first()
  await entry.click()
  await page.locator('.chain-detail').getByRole('button', { name: 'Copy the hash' }).click()
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(detail.evidence[0]!.hash)

  await page.locator('.json-name', { hasText: 'lifecycle_state' }).first().hover()
  await page.getByRole('tooltip').getByText('documented').waitFor()
  expect(await violations(page)).toEqual([])
  await page.setViewportSize(phone)
  await expect.poll(() => isTooWide(page)).toBe(false)
  await go('/placements/slot_00000000000')
  await page.getByText('There is no such placement').waitFor()
})

test('a placement: personal data in what partners would have received is named beside it', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  const ask = async (topic: string) => {
    const body = asked({ prompt: { topic }, consent: { semantic_targeting: true } })
    return (await here.api.accept('placements.create', { as: key, body })).body.slot_id
  }
  await go(`/placements/${await ask('flowers for ann@example.org, 14 Elm Road, Leeds LS1 4AP')}`)
  const panel = page.locator('.panel', { has: page.getByRole('heading', { name: 'Partner request' }) })
  await panel.getByText('topic seems to contain an e-mail address and a postal address.').waitFor()
  expect(await violations(page)).toEqual([])
  await page.setViewportSize(phone)
  await expect.poll(() => isTooWide(page)).toBe(false)
  await go(`/placements/${await ask('flowers')}`)
  await panel.getByText('"flowers"').waitFor()
  expect(await panel.getByText('personal data').count()).toBe(0)
})

test('a placement begins with why it would not be billed and what to do, and a beacon says why it does not count', async () => {
  await using inspector = await openStaged()
  const { here: on, page, go } = inspector
  const firstPanel = () => page.locator('.panel').first().innerText()
  const none = await on.api.accept('placements.create', { as: key, body: asked({ overrides: { bidfloor: 9_999 } }) })
  await go(`/placements/${none.body.slot_id}`)
  await page.getByRole('heading', { name: 'What is missing' }).waitFor()
  expect(await firstPanel()).toMatch(/All offers are under the floor\.\s+Change the request/)
  await page.getByText('Only a fill has a frame and beacons.').waitFor()
  const filled = await fill(on.api, { format: 'banner' })
  await go(`/placements/${filled.slot_id}`)
  await expect.poll(firstPanel).toMatch(/no visible beacon was accepted\.\s+No frame of it was loaded\./)
  await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, filled, 'render') })
  const unmeasured = beacon(on.clock, filled, 'visible')
  await on.api.accept('beacons.send', { as: key, body: unmeasured })
  await expect.poll(firstPanel).toContain('Send measurements.visible_ratio and measurements.visible_ms with visible.')
  expect(await violations(page)).toEqual([])
  await go(`/beacons/${unmeasured.beacon_id}`)
  await page.getByText(/^the visible beacon has no measurements.visible_ratio or visible_ms/).waitFor()
  await page.getByText('Send measurements.visible_ratio and measurements.visible_ms with visible.').waitFor()
  await go('/billing')
  await page.locator('a.figure-link[href*="reason=VISIBILITY_UNMEASURED"]', { hasText: /^1$/ }).first().waitFor()
})

test('beacons: what one bills is not cut off in a window of 1,100 px', async () => {
  await using inspector = await openStaged({ width: 1_100 })
  const { here: on, page, go } = inspector
  const filled = await fill(on.api, { format: 'banner' })
  await on.api.accept('render.frame', { params: { asset_token: filled.asset_token } })
  const measurements = { visible_ratio: 1, visible_ms: 1_200, page_visible: true }
  await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, filled, 'render') })
  await on.api.accept('clock.advance', { body: { by_ms: 2_000 } })
  await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, filled, 'visible', { measurements }) })
  await go('/beacons')
  const cell = page.getByRole('cell').filter({ hasText: 'bills viewable_impression' })
  expect(await cell.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0)
})

test('beacons: a rejected one shows its body with the fields that were refused, and the funnel counts', async () => {
  await using inspector = await openStaged()
  const { here: on, page, go } = inspector
  await fill(on.api, { format: 'banner' })
  await go('/beacons')
  await page.locator('.format-funnel', { hasText: 'banner' }).getByText('1 fill').waitFor()
  await page.getByText('No beacons yet').waitFor()
  const sent = { beacon_id: 'beacon-00000001', event: 'visble', asset_token: 'ast_x', occurred_at_ms: 1 }
  expect((await on.api.send('POST', '/v1/beacons', { as: key, body: sent })).status).toBe(400)
  const row = page.getByRole('row').nth(1)
  await row.getByText('rejected').waitFor()
  await row.getByRole('link', { name: 'unreadable' }).click()
  const marked = page.locator('.json-line[data-marked]')
  await marked
    .filter({ hasText: 'visble' })
    .getByText(/is not one of the allowed values/)
    .waitFor()
  expect(await marked.filter({ hasText: 'beacon_id' }).count()).toBe(0)
  expect(await violations(page)).toEqual([])
  await go('/beacons?verdict=accepted')
  await page.getByText('No beacon matches these filters').waitFor()
  expect((await on.api.send('POST', '/v1/beacons', { as: key, body: { event: 'render' } })).status).toBe(400)
  await go('/beacons')
  const route = await page.getByRole('row').nth(1).getByRole('link', { name: 'render' }).getAttribute('href')
  const filled = await fill(on.api, { format: 'banner' })
  const again = beacon(on.clock, filled, 'render')
  await Promise.all(Array.from({ length: 210 }, () => on.api.accept('beacons.send', { as: key, body: again })))
  await go(route!.replace('/_sandbox', ''))
  await page.getByText('no beacon_id could be read').waitFor()
  await page.locator('.json-mark', { hasText: 'beacon_id' }).waitFor()
})

test('consent: the history of a session, newest first, and the page of a revision', async () => {
  await using inspector = await openStaged()
  const { here: on, page, go } = inspector
  const purposes = { semantic_targeting: true, prompt_shared: false }
  for (const decision of ['granted', 'denied']) {
    await on.api.accept('consent.set', {
      as: key,
      body: { client_id: 'proj_demo', session_id: 'sess_1', decision, purposes },
    })
  }
  await go('/consent')
  await page.getByText('2 shown').waitFor()
  expect(await page.getByRole('row').nth(1).textContent()).toContain('denied')
  expect(await page.getByRole('row').nth(2).textContent()).toContain('replaced')
  const [newest] = (await on.api.accept('consent.list')).body.items
  await go(`/consent/${newest!.consent_id}`)
  await page.getByRole('heading', { name: `Revision ${newest!.revision}` }).waitFor()
  await page.getByRole('link', { name: 'sess_1' }).first().click()
  await page.getByRole('tab', { name: 'Consent' }).click()
  await page.getByText('2 shown').waitFor()
  const granted = { client_id: 'proj_demo', session_id: 'sess_1', decision: 'granted', purposes }
  await on.api.accept('consent.set', { as: key, body: granted })
  await page.getByText('3 shown').waitFor()
  await page.getByRole('row').nth(1).getByText('granted').waitFor()
  await on.api.accept('clock.advance', { body: { by_ms: 200 * 86_400_000 } })
  await page.getByRole('row').nth(1).getByText('expired').waitFor()
})

test('a filter that the API takes whole waits for it, and says so in the field', async () => {
  await using inspector = await openStaged()
  const { here: on, page, go } = inspector
  const { slot_id } = await fill(on.api, { format: 'banner' })
  await fill(on.api, { format: 'banner' })
  await on.api.refuse('placements.create', { as: key, body: asked({ job_type: 'poem' }) })
  const refused: string[] = []
  page.on('response', (response) => {
    if (response.status() === 400) refused.push(response.url())
  })
  for (const [path, name, whole, hint] of [
    ['/evidence', 'Slot', slot_id, 'A full slot_id: slot_ and 11 characters'],
    ['/callbacks', 'Slot', slot_id, 'A full slot_id: slot_ and 11 characters'],
    ['/requests', 'Reason code', 'schema_invalid', 'A full code, such as key_unknown'],
  ] as const) {
    await go(path)
    const field = page.getByRole('searchbox', { name, exact: true })
    await field.fill(whole.slice(0, 6))
    await page.getByText(hint).waitFor()
    await field.fill(whole)
    await page.waitForURL(/\?(slot_id|reason)=/)
    expect(await page.getByText(hint).count()).toBe(0)
    await field.fill(whole.slice(0, 6))
    await page.waitForURL((url) => url.search === '')
  }
  expect(refused).toEqual([])
})

test('evidence: verified on demand, and the first broken entry is named and shown', async () => {
  const database = join(temporaryDirectory(), 'sandbox.db')
  const first = await startSandbox({ database })
  for (let index = 0; index < 5; index++) await fill(connect(first))
  await using inspector = await openInspector(first, '/evidence')
  const { page } = inspector
  await page.getByRole('button', { name: 'Verify all chains' }).click()
  await page.locator('.verification').getByText('proj_demo, 5 entries').waitFor()
  expect(await page.locator('.verification .chip[data-tone=bad]').count()).toBe(0)
  const { port } = first
  await first.close()
  edit(database, (db) =>
    db.prepare("UPDATE evidence SET entry = replace(entry, 'decision', 'decisiom') WHERE seq = 3").run(),
  )
  const second = await startSandbox({ database, port })
  try {
    await page.getByText('Connected again.').waitFor()
    await page.getByRole('button', { name: 'Verify all chains' }).click()
    await page.getByRole('link', { name: 'first broken entry: 3' }).click()
    await page.waitForURL('**/evidence/proj_demo~3')
    await page.locator('.chain li').nth(2).locator('.json-string', { hasText: 'decisiom' }).waitFor()
    expect(await page.locator('.chain-detail:visible').count()).toBe(1)
  } finally {
    await second.close()
  }
})

test('billing: totals, days, lines and what did not count', async () => {
  await using inspector = await openStaged()
  const { here: on, page, go } = inspector
  await on.api.send('POST', '/v1/beacons', { as: key, body: { event: 'click' } })
  await go('/billing')
  await page
    .getByRole('region', { name: 'Did not count', exact: true })
    .locator('a.figure-link[href*="reason=schema_invalid"]', { hasText: /^1$/ })
    .first()
    .waitFor()
  await page.getByRole('img', { name: /^Billed by day and format: .*\d{4}-\d\d-\d\d/ }).waitFor()
  await page.locator('.chart canvas').waitFor()
  expect(await violations(page)).toEqual([])
  const { now_ms } = (await on.api.accept('clock.advance', { body: { by_ms: 40 * 86_400_000 } })).body
  const today = new Date(now_ms).toISOString().slice(0, 10)
  await page.getByRole('img', { name: new RegExp(`^Billed by day and format: .*${today}`) }).waitFor()
})

test.for([390, 1_100, 1_280])(
  'lists have room for all of their columns and for the day of each time, and a chip that is cut ends in an ellipsis (%i)',
  async (width) => {
    await using inspector = await openStaged({ width })
    const { here: on, page, go } = inspector
    const session_id = 'a-session-with-a-very-long-name-of-a-customer'
    // The month with the longest name.
    await on.api.accept('clock.set', { body: { to_ms: Date.UTC(2027, 8, 20, 12) } })
    await on.api.accept('placements.create', { as: key, body: asked({ session_id }) })
    await on.api.accept('placements.create', { as: key, body: asked({ session_id, test_outcome: 'no_fill' }) })
    await on.api.send('POST', '/v1/beacons', { as: key, body: { event: 'visble' } })
    await on.api.accept('jobs.create', { as: key, body: asked({ callback_url: 'http://127.0.0.1:1/' }) })
    for (const decision of ['granted', 'withdrawn', 'granted'] as const) {
      await on.api.accept('consent.set', { as: key, body: { client_id: 'proj_demo', session_id, decision } })
    }
    for (const view of ['placements', 'beacons', 'requests', 'callbacks', 'consent', 'evidence', 'projects']) {
      await go(`/${view}`)
      await page.locator('.table-body [role=row]').first().waitFor()
      const cut = await page.getByRole('table').evaluate((table) => {
        const chips = [...table.querySelectorAll<HTMLElement>('.chip')].filter((chip) => {
          const isInside =
            chip.getBoundingClientRect().right <= chip.closest('[role=cell]')!.getBoundingClientRect().right
          return (
            !isInside || (chip.scrollWidth > chip.clientWidth && getComputedStyle(chip).textOverflow !== 'ellipsis')
          )
        })
        return {
          chips: chips.map(({ innerText }) => innerText),
          columns: Math.max(0, table.scrollWidth - table.clientWidth),
          times: [...table.querySelectorAll('time')].flatMap((time) => {
            const cell = time.closest('[role=cell]')!
            const isWhole = cell.scrollWidth <= cell.clientWidth && /^\d\d \w{3,4} \d\d:\d\d:\d\d$/.test(time.innerText)
            return isWhole ? [] : [time.innerText]
          }),
        }
      })
      expect([view, cut]).toEqual([view, { chips: [], columns: 0, times: [] }])
    }
  },
)
