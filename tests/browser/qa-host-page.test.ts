/** The host page of browser steps, against a service that only records its requests. */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import chromium from '@sparticuz/chromium'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type HostPageOptions, openHostPage } from '#qa/browser/host-page.ts'
import { type BrowserHost, openBrowserHost } from '#qa/browser/launch.ts'
import { computer } from '#tests/computer.ts'

let browsers: BrowserHost
let asked: string[] = []

/** A service that allows no page anything: a preflight that is really sent is refused. */
const service = createServer((request, response) => {
  asked.push(`${request.method} ${request.url}`)
  response.writeHead(request.url === '/broken' ? 500 : 200, { 'content-type': 'text/javascript' }).end('')
})

beforeAll(async () => {
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
  browsers = await openBrowserHost({ path: await chromium.executablePath(), computer: computer, reachable: [] })
})
afterAll(async () => {
  await browsers?.close()
  service.close()
})

async function open(options: Partial<HostPageOptions> = {}) {
  asked = []
  const { port } = service.address() as AddressInfo
  const base_url = `http://127.0.0.1:${port}`
  const host = await openHostPage(await browsers.get(), {
    origin: 'http://localhost:3000',
    base_url,
    ...options,
  })
  return { ...host, base_url, [Symbol.asyncDispose]: async () => void (await host.close()) }
}

/** Resolves to the outcome of a request of the page. */
const ask = (url: string) =>
  `fetch(${JSON.stringify(url)}, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }).then(({ status }) => status, () => 'refused')`

test('the browser sends its preflights to the service itself', async () => {
  await using host = await open()
  expect(await host.page.evaluate(ask(`${host.base_url}/v1/beacons`))).toBe('refused')
  expect(asked).toEqual(['GET /v1/render.js', 'OPTIONS /v1/beacons'])
  await expect.poll(() => host.requests).toContainEqual({ method: 'POST', path: '/v1/beacons', status: 0, event: null })
})

test('the page may have any origin, and sends it in requests', async () => {
  await using host = await open({ origin: 'https://shop.example' })
  expect(await host.page.evaluate('location.origin')).toBe('https://shop.example')
  expect(await host.page.evaluate('isSecureContext')).toBe(true)
})

test('no name but the service has an address', async () => {
  await using host = await open()
  // A browser resolves any name under localhost to loopback by default.
  const elsewhere = host.base_url.replace('127.0.0.1', 'elsewhere.localhost')
  await host.page.evaluate(`fetch('${elsewhere}/found', { mode: 'no-cors' }).catch(() => {})`)
  expect(asked).not.toContain('GET /found')
  const popup = host.page.waitForEvent('popup')
  await host.page.evaluate("window.open('https://landing.example/a?b=1')")
  await popup
  await expect.poll(() => host.landings).toEqual(['https://landing.example/a?b=1'])
})

test('paths of the page respond in turn, as configured; others are 404', async () => {
  await using host = await open({
    serve: { '/api': [{ status: 503, headers: { 'retry-after': '2' }, body: { ok: false } }, { body: '<p>' }] },
  })
  const look = (path: string) =>
    host.page.evaluate(async (path) => {
      const { status, headers } = await fetch(path)
      return [status, headers.get('content-type'), headers.get('retry-after')]
    }, path)
  expect(await look('/api')).toEqual([503, 'application/json', '2'])
  expect(await look('/api')).toEqual([200, 'text/html; charset=utf-8', null])
  expect(await look('/api')).toEqual([200, 'text/html; charset=utf-8', null])
  expect(await look('/other')).toEqual([404, 'text/plain', null])
  expect(host.served).toEqual(['GET /api', 'GET /api', 'GET /api'])
})

test('errors of the page are recorded: console, uncaught errors, responses', async () => {
  await using host = await open()
  await host.page.evaluate(`console.error('one'); console.warn('two'); setTimeout(() => { throw new Error('three') })`)
  await host.page.evaluate(`fetch('${host.base_url}/broken', { mode: 'no-cors' }).then(() => {})`)
  await expect.poll(() => host.console_errors).toEqual(expect.arrayContaining(['one', 'three']))
  expect(host.console_warnings).toEqual(['two'])
  expect(host.requests).toContainEqual({ method: 'GET', path: '/broken', status: 500, event: null })
})

test('the slot has the requested size and position', async () => {
  await using host = await open({ above: 1500, slot_width: 240, width: 500, height: 400 })
  const box = await host.page.locator('#slot').evaluate((slot) => slot.getBoundingClientRect().toJSON())
  expect(box).toMatchObject({ width: 240, height: 0 })
  expect((box as { top: number }).top).toBeGreaterThan(1500)
  expect(host.page.viewportSize()).toEqual({ width: 500, height: 400 })
})

test('a browser that ended is started again, once for all callers', { tags: 'depth' }, async () => {
  const first = await browsers.get()
  await first.close()
  const [second, third] = await Promise.all([browsers.get(), browsers.get()])
  expect(second).not.toBe(first)
  expect(third).toBe(second)
  expect(second.isConnected()).toBe(true)
})

test('a browser that hangs is killed, and the next caller gets another', { tags: 'depth' }, async () => {
  const hung = await browsers.get()
  await browsers.replace(hung)
  await expect.poll(() => hung.isConnected()).toBe(false)
  const next = await browsers.get()
  expect(next).not.toBe(hung)
  await browsers.replace(hung)
  expect(next.isConnected()).toBe(true)
  expect(await browsers.get()).toBe(next)
})
