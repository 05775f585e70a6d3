import { copyFile, readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import type { HarEntry } from '#contract/recordings/har.ts'
import { expand } from '#qa/run/plan.ts'
import { loadSuite } from '#qa/suite/load.ts'
import { asked, fill, key, publishable } from '#tests/http/stage.ts'
import { runCases } from '#tests/mutations/suites.ts'
import { expectAccessible, expectAccessibleInBoth, hostile, stagedInspector } from './staged-inspector.ts'

const openStaged = stagedInspector()

test('the journal is filtered by the address, and a row opens by keyboard', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  await fill(here.api)
  await here.api.refuse('placements.create', { as: key, body: asked({ job_type: 'poem' }) })
  await go('/requests?status_class=4xx')
  await page.getByText('schema_invalid').waitFor()
  expect(await page.locator('[data-row]').count()).toBe(1)
  await go('/requests?path=placem')
  await page.getByText('2 shown').waitFor()
  await go('/requests?status_class=4xx')
  await page.getByText('schema_invalid').waitFor()
  await page.keyboard.press('j')
  await page.locator('[data-row]:focus').waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/requests\/req_/)
  await page.getByRole('heading', { name: 'Exchange' }).waitFor()
  await page.locator('[data-marked]').getByText('job_type').waitFor()
})

test('the longest session of a request is shown whole', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  const session_id = 's'.repeat(128)
  await here.api.accept('placements.create', { as: key, body: asked({ session_id }) })
  const [entry] = (await here.api.accept('requests.list')).body.items
  await go(`/requests/${entry?.request_id}`)
  const link = page.getByRole('link', { name: session_id })
  await link.waitFor()
  const beyond_px = await link.evaluate(
    (element) => element.getBoundingClientRect().right - element.closest('dl')!.getBoundingClientRect().right,
  )
  expect(beyond_px).toBeLessThanOrEqual(0)
})

test('new requests come by themselves; two are picked and compared', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  await go('/requests')
  await page.getByText('No requests yet').waitFor()
  await fill(here.api, { format: 'banner' })
  await fill(here.api, { format: 'clip' })
  await page.locator('[data-row]').nth(1).waitFor()
  for (const row of [0, 1]) await page.locator('[data-row]').nth(row).locator('.check').click()
  await page.getByRole('link', { name: 'Compare both' }).click()
  const body = page.getByRole('region', { name: 'Request body' })
  await body.getByText('overrides.allowed_formats.0').waitFor()
  expect(await body.locator('del').textContent()).toBe('banner')
  expect(await body.locator('ins').textContent()).toBe('clip')
})

test('a request is replayed with edits, and the copy as curl needs only the key', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  await fill(here.api, { format: 'banner' })
  const [entry] = (await here.api.accept('requests.list')).body.items
  await go(`/requests/${entry?.request_id}`)
  await page.getByRole('button', { name: /^Copy as curl/ }).click()
  const command = await page.evaluate(() => navigator.clipboard.readText())
  expect(command).toContain(`curl -sS -X POST '${here.sandbox.url}/v1/placements'`)
  expect(command).toContain('$SVC_SECRET_KEY')
  const body = page.getByRole('textbox', { name: 'Body' })
  await body.fill((await body.inputValue()).replace('"chat"', '"voice"'))
  await page.getByRole('button', { name: 'Replay with 1 edit' }).click()
  await page.getByText(/^Sent again as req_/).waitFor()
  const [replayed] = (await here.api.accept('requests.list', { query: { details: 'true' } })).body.items
  expect(replayed).toMatchObject({ status: 200, request_headers: { 'x-sandbox-replay': entry?.request_id } })
  expect(JSON.parse(replayed?.request_body ?? '')).toMatchObject({ job_type: 'voice' })
})

test('a request is saved as a suite that svc qa run accepts', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  await fill(here.api, { format: 'native' })
  const [entry] = (await here.api.accept('requests.list')).body.items
  await go(`/requests/${entry?.request_id}`)
  await page.getByRole('button', { name: 'Save as QA step' }).click()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: /^Download/ }).click(),
  ])
  const text = await readFile(await download.path(), 'utf8')
  const cases = expand([loadSuite(text, 'saved.yaml', '.')])
  const keys = { secret_key: key, publishable_key: publishable }
  const result = await runCases(cases, { url: here.sandbox.url, keys }, { bail: false })
  expect(result.cases.map(({ outcome }) => outcome)).toEqual(['passed'])
  await expectAccessible(page)
})

test('the requests of a list are saved as a HAR file that a browser answers from', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  const { slot_id } = await fill(here.api, { format: 'native' })
  await here.api.accept('decisions.get', { as: key, params: { slot_id } })
  await go('/requests?path=/v1/decisions')
  await page.getByText('1 shown').waitFor()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Save as HAR' }).click(),
  ])
  await page.getByText(/^Saved 1 to requests-.*\.har\.$/).waitFor()
  const path = await download.path()
  const { log } = JSON.parse(await readFile(path, 'utf8')) as { log: { entries: HarEntry[] } }
  expect(log.entries.map(({ request, _slot_id }) => [request.method, _slot_id])).toEqual([['GET', slot_id]])
  const har = `${path}.har`
  await copyFile(path, har)
  const offline = await page.context().browser()!.newContext({ offline: true })
  try {
    await offline.routeFromHAR(har)
    const other = await offline.newPage()
    await other.goto(`${here.sandbox.url}/v1/decisions/${slot_id}`)
    expect(JSON.parse(await other.innerText('body'))).toMatchObject({ slot_id, status: 'ready' })
  } finally {
    await offline.close()
  }
  await expectAccessible(page)
})

test('a request that is gone is said to be', async () => {
  await using inspector = await openStaged()
  const { page, go } = inspector
  await go('/requests/req_00000000zzz')
  await page.getByText('No such request in the journal').waitFor()
})

test('hostile text stays text, and axe finds nothing', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  await here.api.send('POST', `/v1/${encodeURIComponent(hostile)}`, {
    as: key,
    raw: hostile,
    headers: { 'user-agent': hostile.replace(/[^\x20-\x7e]/g, ' ') },
  })
  await here.api.refuse('placements.create', { as: key, body: asked({ [hostile]: hostile }) })
  await go('/requests')
  await page.locator('[data-row]').nth(1).waitFor()
  await expectAccessibleInBoth(page)
  const { items } = (await here.api.accept('requests.list')).body
  await go(`/requests/${items[0]?.request_id}?with=${items[1]?.request_id}`)
  await page.getByRole('heading', { name: 'Differences' }).waitFor()
  await page.getByRole('region', { name: 'Request body' }).first().waitFor()
  await expectAccessibleInBoth(page)
})
