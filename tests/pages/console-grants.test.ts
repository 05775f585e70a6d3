/** The routes of the console on a page, called by pages in a browser that enforces its own rules: nothing is intercepted. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import type { ConsoleAsk, ConsoleClaim } from '#contract/resources/sandbox/console.ts'
import { startSandbox } from '#sandbox/index.ts'
import { sharedChromium } from '#tests/browser/chromium.ts'
import { openStage } from '#tests/browser/stage.ts'
import { connect } from '#tests/http/call.ts'
import { fill } from '#tests/http/stage.ts'

/** Posts JSON from a page. Resolves to the response as the page sees it, null where the browser shows it nothing. */
function post(
  page: Page,
  url: string,
  body: object,
  token?: string,
): Promise<{ status: number; body: unknown } | null> {
  return page.evaluate(
    async ({ url, body, token }) => {
      const headers: Record<string, string> = { 'content-type': 'application/json' }
      if (token !== undefined) headers.authorization = `Bearer ${token}`
      try {
        const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body), credentials: 'omit' })
        return { status: response.status, body: (await response.json()) as unknown }
      } catch {
        return null
      }
    },
    { url, body, token },
  )
}

/** Tries to confirm a grant from a page: by a script, by a form, by a frame, and by a window that it opens and scripts. */
async function tryToConfirm(page: Page, { grant_id, confirm_url }: ConsoleAsk): Promise<void> {
  const confirm = `${new URL(confirm_url).origin}/_sandbox/console/grants/${grant_id}/confirm`
  expect(await post(page, confirm, {})).toBeNull()
  await page.evaluate(
    async ({ confirm, confirm_url }) => {
      await fetch(confirm, { method: 'POST', mode: 'no-cors', body: '{}' }).catch(() => null)
      const frame = document.createElement('iframe')
      frame.name = 'target'
      document.body.append(frame)
      const form = Object.assign(document.createElement('form'), { method: 'post', action: confirm, target: 'target' })
      form.enctype = 'text/plain'
      document.body.append(form)
      const sent = new Promise((resolve) => frame.addEventListener('load', resolve, { once: true }))
      form.submit()
      await sent
      const shown = new Promise((resolve) => frame.addEventListener('load', resolve, { once: true }))
      frame.src = confirm_url
      await shown
    },
    { confirm, confirm_url },
  )
  const framed = page.frames().find((frame) => frame.name() === 'target')!
  expect(await framed.getByRole('button').count()).toBe(0)
}

test('a page of an allowed origin steers once you have confirmed it, and a page of another origin does nothing', async () => {
  const sandbox = await startSandbox({ port: 0 })
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'text/html')
    response.end('<!doctype html><title>host</title><link rel="icon" href="data:,"><a target="_blank">confirm</a>')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const context = await (await sharedChromium()).newContext()
  try {
    const api = connect(sandbox)
    const { asset_token, slot_id } = await fill(api)
    const route = (name: string) => `${sandbox.url}/_sandbox/console/page/${name}`
    const open = async (host: string) => {
      const page = await context.newPage()
      await page.goto(`http://${host}:${port}/`)
      return page
    }
    const [own, neighbour, foreign] = [await open('localhost'), await open('127.0.0.1'), await open('evil.localhost')]
    const slots = { asset_tokens: [asset_token] }
    expect(await post(own, route('slots'), slots)).toMatchObject({ status: 200, body: { slots: [{ slot_id }] } })
    expect(await post(foreign, route('slots'), slots)).toBeNull()
    expect(await post(foreign, route('ask'), {})).toBeNull()
    const asked = (await post(own, route('ask'), {}))!.body as ConsoleAsk
    const { grant_id, secret } = asked
    const claim = async (page: Page) =>
      (await post(page, route('claim'), { grant_id, secret }))?.body as ConsoleClaim | undefined
    for (const page of [own, foreign]) await tryToConfirm(page, asked)
    expect((await claim(own))!.status).toBe('waiting')

    await own.evaluate((url) => document.querySelector('a')!.setAttribute('href', url), asked.confirm_url)
    const [inspector] = await Promise.all([context.waitForEvent('page'), own.getByText('confirm').click()])
    await inspector.getByText(asked.code, { exact: true }).waitFor()
    expect((await claim(own))!.status).toBe('waiting')
    await inspector.getByRole('button', { name: 'Confirm' }).click()
    await inspector.getByText('may steer this sandbox').waitFor()

    expect(await claim(foreign)).toBeUndefined()
    expect((await claim(neighbour))!.status).toBe('expired')
    const { token } = (await claim(own))!
    const noFill = { action: 'no_fill', on: true }
    for (const page of [neighbour, foreign]) expect(await post(page, route('act'), noFill, token)).toBeNull()
    const used = async () => (await api.accept('scenario.list')).body.items.find(({ active }) => active)?.name
    expect(await used()).toBeUndefined()
    expect(await post(own, route('act'), noFill, token)).toMatchObject({ status: 200 })
    expect(await used()).toBe('no_fill')
  } finally {
    await context.close()
    server.close()
    await sandbox.close()
  }
})

test('the console of a page asks, shows the code that the inspector has, and acts once that is confirmed', async () => {
  await using stage = await openStage({}, undefined, 'flows')
  await using host = await stage.open()
  const { page, context } = host
  await host.show({ format: 'banner' })
  await page.evaluate(() => window.SponsoredPlacement!.openConsole())
  await page.getByRole('button', { name: 'No-fill', exact: true }).click()
  const code = await page.getByLabel('Code').innerText()
  expect(code).toMatch(/^\d{4}$/)
  const [inspector] = await Promise.all([
    context.waitForEvent('page'),
    page.getByRole('link', { name: 'Confirm' }).click(),
  ])
  await inspector.getByText(code, { exact: true }).waitFor()
  await inspector.getByText(stage.host_url, { exact: true }).waitFor()
  expect((await host.place()).decision?.fill).toBe(true)
  await inspector.getByRole('button', { name: 'Confirm' }).click()
  await page.getByRole('paragraph').filter({ hasText: 'Test traffic gets no fill' }).waitFor()
  expect((await host.place()).decision?.fill).toBe(false)
  await page.getByText('accepts beacons', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Expire now' }).click()
  await page.getByText('accepts no beacons', { exact: true }).waitFor()
})
