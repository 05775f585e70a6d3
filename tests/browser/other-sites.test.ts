/** What a page on another site can do to a running sandbox, in a browser that enforces its own rules: nothing but link to it. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { startSandbox } from '#sandbox/index.ts'
import { connect } from '#tests/http/call.ts'
import { fill } from '#tests/http/stage.ts'
import { sharedChromium } from './chromium.ts'

test('a page on another site reaches nothing, and its link opens the home page', async () => {
  const sandbox = await startSandbox({ port: 0 })
  // Another name of this computer is another site.
  const target = sandbox.url.replace('127.0.0.1', 'localhost')
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'text/html')
    response.end(`<!doctype html><title>elsewhere</title>
      <a href="${target}/_sandbox/">link</a>
      <iframe name="framed" src="${target}/_sandbox/"></iframe><iframe name="posted"></iframe><iframe name="got"></iframe>
      <img src="${target}/_sandbox/info"><link rel="stylesheet" href="${target}/_sandbox/docs/docs.css">
      <script src="${target}/_sandbox/contract"></script>
      <form id="post" method="post" enctype="text/plain" target="posted" action="${target}/_sandbox/reset"></form>
      <form id="get" method="get" target="got" action="${target}/_sandbox/export"></form>
      <script>post.submit(); get.submit()</script>`)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const context = await (await sharedChromium()).newContext()
  try {
    const api = connect(sandbox)
    await fill(api)
    const page = await context.newPage()
    const statuses = new Map<string, number>()
    page.on('response', (response) => {
      const { origin, pathname } = new URL(response.url())
      if (origin === target) statuses.set(`${response.request().resourceType()} ${pathname}`, response.status())
    })
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
    const read = await page.evaluate(async (url) => {
      const text = async (init: RequestInit) => {
        try {
          return await (await fetch(url, init)).text()
        } catch {
          return null
        }
      }
      return [
        await text({}),
        await text({ mode: 'no-cors' }),
        await text({ method: 'POST', body: '{}', mode: 'no-cors' }),
      ]
    }, `${target}/_sandbox/info`)
    expect(read).toEqual([null, '', ''])
    // Of image, style and script the browser itself shows the page nothing.
    const asked = [
      'document /_sandbox/',
      'document /_sandbox/export',
      'document /_sandbox/reset',
      'fetch /_sandbox/info',
    ]
    await expect.poll(() => [...statuses.keys()].sort()).toEqual(asked)
    expect(await page.evaluate(() => document.images[0]!.naturalWidth)).toBe(0)
    expect([...statuses].filter(([, status]) => status !== 403)).toEqual([])
    expect((await api.accept('placements.list')).body.items).toHaveLength(1)
    await page.getByText('link').click()
    // The page belongs to the address that the sandbox goes by.
    await page.waitForURL(`${sandbox.url}/_sandbox/`)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
  } finally {
    await context.close()
    server.close()
    await sandbox.close()
  }
})
