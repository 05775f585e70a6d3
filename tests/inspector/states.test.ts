/** What each view shows while the sandbox is slow, when it refuses, and when it is gone: over a network that is held. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer, connect as dial, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { violations } from '#tests/browser/axe.ts'
import { fill, key, stage } from '#tests/http/stage.ts'
import { openInspector } from './inspector-page.ts'
import { stagedInspector } from './staged-inspector.ts'

const openStaged = stagedInspector()

/** A network in front of a sandbox: while it is held, no byte comes back. */
async function network() {
  const pairs = new Set<{ near: Socket; far: Socket }>()
  let isHeld = false
  let port = 0
  const server = createServer((near) => {
    const far = dial(port, '127.0.0.1')
    const pair = { near, far }
    pairs.add(pair)
    if (isHeld) far.pause()
    near.pipe(far)
    far.on('data', (data) => near.write(data))
    for (const socket of [near, far]) {
      socket.on('error', () => undefined)
      socket.on('close', () => {
        pairs.delete(pair)
        near.destroy()
        far.destroy()
      })
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lead(to: number) {
      port = to
    },
    hold(value: boolean) {
      isHeld = value
      for (const { far } of pairs) value ? far.pause() : far.resume()
    },
    end() {
      for (const { near } of pairs) near.destroy()
    },
    async [Symbol.asyncDispose]() {
      for (const { near } of pairs) near.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** The link of each view, and what it shows once it is read. */
const views = [
  ['Overview', 'Totals'],
  ['Placements', 'sess_1'],
  ['Beacons', 'schema_invalid'],
  ['Requests', '/v1/placements'],
  ['Callbacks', 'No callbacks yet'],
  ['Consent', 'sess_1'],
  ['Evidence', 'proj_demo 1'],
  ['Billing', 'Did not count'],
  ['Controls', 'Sandbox time'],
  ['Docs and contract', 'placements.create'],
] as const

test('each view says that it loads while the sandbox is slow, and shows what comes', async () => {
  await using slow = await network()
  await using on = await stage({ public_url: slow.url })
  slow.lead(on.sandbox.port)
  await fill(on.api, { format: 'banner' })
  await on.api.accept('consent.set', {
    as: key,
    body: { client_id: 'proj_demo', session_id: 'sess_1', decision: 'granted' },
  })
  await on.api.send('POST', '/v1/beacons', { as: key, body: { event: 'visble' } })
  await using inspector = await openInspector(on.sandbox, '/playground', { origin: slow.url })
  const { page } = inspector
  const main = page.locator('main')
  const loading = main.getByRole('progressbar')
  for (const [name, shows] of views) {
    slow.hold(true)
    await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name, exact: true }).click()
    await loading.first().waitFor()
    expect(await main.getByText(shows).count()).toBe(0)
    slow.hold(false)
    await main.getByText(shows).first().waitFor()
    await expect.poll(() => loading.count()).toBe(0)
  }
  slow.hold(true)
  await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Playground' }).click()
  const form = page.getByRole('form', { name: 'Request' })
  await form.getByRole('button', { name: 'Send', exact: true }).click()
  await form.getByRole('button', { name: 'Sending' }).waitFor()
  await form.getByRole('button', { name: 'Stop', exact: true }).click()
  await form.getByRole('button', { name: 'Send', exact: true }).waitFor()
  slow.hold(false)
})

const refused = [
  ['/placements?format=poster', 'format'],
  ['/beacons?verdict=maybe', 'verdict'],
  ['/requests?since=soon', 'since'],
  ['/callbacks?status=lost', 'status'],
  ['/evidence?kind=hearsay', 'kind'],
  ['/billing?since=soon', 'since'],
] as const

test('a view whose request is refused says why, and leads to the documentation and back', async () => {
  await using inspector = await openStaged()
  const { page, go } = inspector
  for (const [path, field] of refused) {
    await go(path)
    const problem = page.locator('main').getByRole('alert').first()
    await problem.getByText('400 schema_invalid').waitFor()
    await problem.locator('code', { hasText: field }).waitFor()
    const about = problem.getByRole('link', { name: 'About this error' })
    expect(await about.getAttribute('href')).toBe('/_sandbox/docs/errors/schema_invalid')
    const again = page.waitForResponse((response) => response.status() === 400)
    await problem.getByRole('button', { name: 'Try again' }).click()
    await again
    await problem.getByText('400 schema_invalid').waitFor()
    if (path === refused[0][0]) expect(await violations(page)).toEqual([])
    await page.getByRole('button', { name: 'Clear', exact: true }).click()
    await page.locator('main').getByRole('alert').waitFor({ state: 'detached' })
  }
})

test('a view that is opened while the sandbox is gone says so, and is read when it is back', async () => {
  await using cut = await network()
  await using on = await stage({ public_url: cut.url })
  cut.lead(on.sandbox.port)
  const { slot_id } = await fill(on.api)
  await using inspector = await openInspector(on.sandbox, '/placements', { origin: cut.url })
  const { page } = inspector
  await page.getByText('1 shown').waitFor()
  await page.locator('.live[data-tone=good]').waitFor()
  cut.lead(1)
  cut.end()
  await page.getByText('Connection lost.').waitFor()
  await page.getByText(slot_id).click()
  await page.locator('main').getByRole('alert').getByText('restart it').waitFor()
  expect(await violations(page)).toEqual([])
  cut.lead(on.sandbox.port)
  await page.getByRole('heading', { name: 'Timeline' }).waitFor()
  // The script of the view could not be loaded, which the browser notes.
  const others = inspector.problems.splice(0).filter((text) => !text.includes('dynamically imported module'))
  expect(others).toEqual([])
})
