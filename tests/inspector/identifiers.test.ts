/** Every identifier that the command line prints has a page: those of `contract/ids.ts`, and those without a form. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import type { IdPrefix } from '#contract/ids.ts'
import { activate, asked, fill, key } from '#tests/http/stage.ts'
import { expectAccessibleInBoth, stagedInspector } from './staged-inspector.ts'

const openStaged = stagedInspector()

test('each kind of identifier leads to its page', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  const { api } = here
  const { slot_id, asset_token } = await fill(api)
  const { job_id } = (await api.accept('placements.explain', { params: { slot_id } })).body
  const purposes = { semantic_targeting: true, prompt_shared: false }
  const consent = { client_id: 'proj_demo', session_id: 'sess_1', decision: 'granted', purposes } as const
  await api.accept('consent.set', { as: key, body: consent })
  const params = { client_id: 'proj_demo' }
  const [stored] = (await api.accept('consent.list')).body.items
  const [request] = (await api.accept('requests.list')).body.items
  const [first] = (await api.accept('keys.list', { params })).body.items
  const { wrapper_tenant_id } = (await api.accept('projects.show', { params })).body
  await api.accept('faults.add', { body: { path: '/v1/never' } })
  await api.accept('snapshots.save', { params: { name: 'before-launch' }, body: {} })
  // The compiler names a kind that is missing.
  const pages: Readonly<Record<IdPrefix, readonly [id: string, shows: string]>> = {
    slot: [slot_id, 'Timeline'],
    job: [job_id, slot_id],
    req: [request!.request_id, 'Exchange'],
    key: [first!.key_id, 'Requests with this key'],
    cns: [stored!.consent_id, 'Revision 1'],
    ten: [wrapper_tenant_id, 'All settings'],
    ast: [asset_token, 'Timeline'],
    at: [await activate(api), 'This is an activation token'],
    bt: [`bt_00000000001_${'x'.repeat(43)}`, 'This is a beacon token'],
  }
  const others = [
    ['sess_1', slot_id],
    ['proj_demo', 'All settings'],
    ['proj_demo~1', 'Entry 1 of the proj_demo chain'],
    ['flt_1', 'matched 0, applied to 0'],
    ['banner_ok', 'Every fill is a banner'],
    ['before-launch', 'Snapshots'],
  ] as const
  for (const [id, shows] of [...Object.values(pages), ...others]) {
    await go(`/id/${encodeURIComponent(id)}`)
    await page.getByText(shows).first().waitFor()
    expect([id, await page.getByText('There is no such').count()]).toEqual([id, 0])
  }
})

test('a key is shown, and revoked after a question; one that is gone is said to be', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  const [item] = (await here.api.accept('keys.list', { params: { client_id: 'proj_other' } })).body.items
  await go(`/keys/${item!.key_id}`)
  await page.getByText('proj_other').first().waitFor()
  await expectAccessibleInBoth(page)
  await page.getByRole('button', { name: 'Revoke', exact: true }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click()
  await page.getByText(`${item!.key_id} is revoked.`).waitFor()
  await go('/keys/key_00000000zzz')
  await page.getByText('No such key').waitFor()
})

test('projects are listed, and a project shows its settings and keys', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  await go('/projects')
  await expectAccessibleInBoth(page)
  await page.getByRole('link', { name: 'proj_strict' }).click()
  const [first] = (await here.api.accept('keys.list', { params: { client_id: 'proj_strict' } })).body.items
  await page.getByRole('link', { name: first!.key_id }).waitFor()
  await expectAccessibleInBoth(page)
  await page.getByRole('link', { name: 'Change settings' }).click()
  await page.waitForURL('**/controls?part=settings&project=proj_strict')
  await here.api.accept('projects.create', { body: { client_id: 'proj_own' } })
  await go('/projects/proj_own')
  await page.locator('main').getByRole('link', { name: 'Placements' }).click()
  const filter = page.getByRole('button', { name: /Project/ })
  await expect.poll(() => filter.innerText()).toBe('proj_own')
  await filter.click()
  await page.getByRole('option', { name: 'proj_strict' }).click()
  await page.waitForURL('**/placements?client_id=proj_strict')
  await filter.click()
  await page.getByRole('option', { name: 'proj_own' }).waitFor()
})

test('a callback shows its attempts and is sent again', async () => {
  await using inspector = await openStaged()
  const { here, page, go } = inspector
  let received = 0
  const server = createServer((_, response) => {
    received++
    response.writeHead(204).end()
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  try {
    const { port } = server.address() as AddressInfo
    // Longer than the journal accepts as a filter.
    const callback_url = `http://127.0.0.1:${port}/decided/${'long/'.repeat(60)}`
    await go('/callbacks')
    await page.getByText('No callbacks yet').waitFor()
    await here.api.accept('jobs.create', { as: key, body: asked({ callback_url }) })
    await page.getByRole('row').nth(1).getByText('delivered').waitFor()
    await expectAccessibleInBoth(page)
    const [callback] = (await here.api.accept('callbacks.list')).body.items
    await go(`/callbacks/${callback!.slot_id}`)
    await page.getByRole('region', { name: 'Attempts' }).getByRole('link').first().waitFor()
    await page.getByRole('button', { name: 'Send again' }).click()
    await page.getByText('Sent: the endpoint responded 204.').waitFor()
    expect(received).toBe(2)
    await page.getByRole('region', { name: 'Attempts' }).getByRole('link').nth(1).waitFor()
    await expectAccessibleInBoth(page)
    await go('/callbacks/slot_00000000zzz')
    await page.getByText('This slot has no callback').waitFor()
  } finally {
    server.close()
  }
})
