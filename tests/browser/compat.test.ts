/**
 * A page on another origin with the client that was written from the description of old clients alone. Nothing is
 * intercepted: the browser sends its own preflights, and drops what CORS does not let it read.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient } from '#client/index.ts'
import { type Sandbox, startSandbox } from '#sandbox/index.ts'
import { createOldClient, type OldClient } from '#tests/http/old-client.ts'
import { sharedChromium } from './chromium.ts'

declare global {
  interface Window {
    client: OldClient
    createOldClient: typeof createOldClient
  }
}

let sandbox: Sandbox
let origin: string
const app = createServer((_, response) => {
  response.writeHead(200, { 'content-type': 'text/html' })
  response.end(`<!doctype html><title>App</title><div id="slot"></div><script>${createOldClient}</script>`)
})

beforeAll(async () => {
  sandbox = await startSandbox()
  await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve))
  origin = `http://localhost:${(app.address() as AddressInfo).port}`
})
afterAll(async () => {
  await new Promise((resolve) => app.close(resolve))
  await sandbox.close()
})

/** Opens the app with a client of its own. A tracing library adds a header to each of its requests, as such do. */
async function open(): Promise<Page & AsyncDisposable> {
  const context = await (await sharedChromium()).newContext()
  const page = await context.newPage()
  await page.goto(origin)
  await page.evaluate((base_url) => {
    const traced: typeof fetch = (url, init) =>
      fetch(url, {
        ...init,
        headers: { ...(init?.headers as object), traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01` },
      })
    window.client = window.createOldClient({ base_url, publishable_key: 'pk_test_sandbox_demo', fetch: traced })
  }, sandbox.url)
  return Object.assign(page, { [Symbol.asyncDispose]: () => context.close() })
}

const job = (more: object = {}) => ({
  contract_version: 'csl_wrapper_ingress_create/v1',
  job: { job_type: 'chat', slots_requested: 1 },
  delivery: { mode: 'polling', callback_url: null },
  verification: { device: { kind: 'browser' }, human: {} },
  ...more,
})

async function expectVisibleBeacon(format: string): Promise<void> {
  await using page = await open()
  const body = job({ context: { chat_session_id: `page-${format}` }, slot_config: { allowed_formats: [format] } })
  const { decision, sent } = await page.evaluate(async (sentJob) => {
    const { client } = window
    const created = await client.createJob(sentJob)
    await client.reportGeneration(created.job_id, 'started')
    const decided = await client.poll(created.slot_ids[0]!)
    const { creative, asset_token } = decided
    const element = document.createElement(creative!.type === 'clip' ? 'video' : 'img')
    element.src = creative!.url
    document.querySelector('#slot')!.append(element)
    await new Promise((resolve, reject) => {
      element.addEventListener(creative!.type === 'clip' ? 'loadedmetadata' : 'load', resolve)
      element.addEventListener('error', () => reject(new Error('the creative does not load')))
    })
    const beacons = []
    for (const beacon_type of ['rendered', 'visible_started', 'on_view']) {
      const measurements = { visible_ratio: 1, visible_ms: 2_500, page_visible: true }
      const beacon = { beacon_id: `${beacon_type}-1`, asset_token, beacon_type, measurements }
      const { status, body: answer } = await client.sendBeacon(beacon, { keepalive: true })
      beacons.push([status, answer.accepted])
    }
    await client.reportGeneration(created.job_id, 'finished', { usage_json: { tokens: 2 } })
    return { decision: decided, sent: beacons }
  }, body)
  expect(decision.creative?.type).toBe(format)
  expect(sent).toEqual([
    [200, true],
    [200, true],
    [200, true],
  ])
  const items = (await control().beacons.list({ query: { slot_id: decision.slot_id } })).items
  expect(items.map(({ event, verdict }) => [event, verdict]).toReversed()).toEqual([
    ['render', 'accepted'],
    ['visible', 'accepted'],
    ['visible', 'accepted'],
  ])
}

test('from activation to a visible beacon', () => expectVisibleBeacon('banner'))

test.each(['clip', 'native'])('from activation to a visible beacon: %s', { tags: 'depth' }, expectVisibleBeacon)

test('both forms, a no-fill, pending, the other route of beacons, and errors that it can read', async () => {
  await using page = await open()
  const seen = await page.evaluate(async (contractForm) => {
    const { client } = window
    const flat = await client.createJob({ job_type: 'chat', slots_requested: 1 })
    const filled = await client.poll(flat.slot_ids[0]!)
    const refused = await client.createJob({ ...contractForm, slot_config: { bidfloor: 900 } })
    const noFill = await client.poll(refused.slot_ids[0]!)
    const { asset_token } = filled
    const at_ms = Date.now()
    const beacon = { beacon_id: 'page-beacon', asset_token }
    const first = await client.sendBeacon({ ...beacon, beacon_type: 'rendered', occurred_at_ms_client: at_ms })
    const again = await client.call('POST', '/v1/beacons', { ...beacon, event: 'render', occurred_at_ms: at_ms })
    const unknown = await client.call('GET', '/public/browser/v1/slots/slot_00000000000/decision')
    const asServer = await client.call('GET', `/public/wrapper/v1/slots/${filled.slot_id}/decision`)
    return {
      fill: filled.fill,
      reason: noFill.no_fill_reason,
      duplicates: [first.body.duplicate, again.body.duplicate],
      errors: [unknown, asServer].map(({ status, body }) => [status, body.reason_code]),
    }
  }, job())
  expect(seen).toEqual({
    fill: true,
    reason: 'below_floor',
    duplicates: [false, true],
    errors: [
      [404, 'not_found'],
      [403, 'key_class'],
    ],
  })
})

test('a slow decision is polled; an expired one is a no-fill; times follow the moved clock', {
  tags: 'depth',
}, async () => {
  await using page = await open()
  const settings = (decision_latency_ms: number) =>
    control().projects.update({ params: { client_id: 'proj_demo' }, body: { decision_latency_ms } })
  await settings(600)
  const seen = await page.evaluate(async (body) => {
    const { client } = window
    const slow = await client.createJob(body)
    const pending = await client.getDecision(slow.slot_ids[0]!)
    const started = performance.now()
    const decided = await client.poll(slow.slot_ids[0]!)
    return {
      slot_id: decided.slot_id,
      before: pending.status,
      fill: decided.fill,
      took_ms: performance.now() - started,
    }
  }, job())
  await settings(0)
  expect([seen.before, seen.fill]).toEqual(['pending', true])
  expect(seen.took_ms).toBeGreaterThan(300)
  await control().clock.advance({ body: { by_ms: 660_000 } })
  const refusal = await page.evaluate(async (slot_id) => {
    const { body } = await window.client.call('GET', `/public/browser/v1/slots/${slot_id}/decision`)
    return body.reason_code
  }, seen.slot_id)
  // The activation is over by the clock of the sandbox; the client trusts its own.
  expect(refusal).toBe('activation_token_expired')
  await using second = await open()
  const renewed = await second.evaluate(
    async ({ slot_id, body }) => {
      const { client } = window
      const expired = await client.getDecision(slot_id)
      const created = await client.createJob(body)
      const { asset_token } = await client.poll(created.slot_ids[0]!)
      const sent = await client.sendBeacon({ beacon_id: 'later', asset_token, beacon_type: 'rendered' })
      return { expired: expired.no_fill_reason, accepted: sent.body.accepted }
    },
    { slot_id: seen.slot_id, body: job() },
  )
  expect(renewed).toEqual({ expired: 'slot_expired', accepted: true })
})

function control() {
  return createClient({ base_url: sandbox.url, credential: 'sk_test_sandbox_demo' })
}

test('has its decision pushed over a socket of its own, which another origin cannot open with the same ticket', {
  tags: 'depth',
}, async () => {
  await using page = await open()
  await using slow = await startSandbox({ decision_latency_ms: 400 })
  const pushed = await page.evaluate(async (base_url) => {
    const post = async (path: string, body?: object, token?: string) => {
      const headers = {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      }
      const init = { method: 'POST', headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
      return (await (await fetch(base_url + path, init)).json()) as Record<string, string & string[]>
    }
    const { activation_token } = await post('/v1/browser/activate', { publishable_key: 'pk_test_sandbox_demo' })
    const { slot_ids } = await post('/v1/jobs', { job_type: 'chat', client_id: 'proj_demo' }, activation_token)
    const slot = `/public/browser/v1/slots/${slot_ids![0]}`
    const { ticket } = await post(`${slot}/decision-ticket`, undefined, activation_token)
    const second = await post(`${slot}/decision-ticket`, undefined, activation_token)
    const url = (text: string) => `${base_url.replace('http', 'ws')}${slot}/decision/ws?ticket=${text}`
    const messages: string[] = []
    await new Promise<void>((resolve, reject) => {
      const socket = new WebSocket(url(ticket!))
      socket.onmessage = ({ data }) => {
        messages.push(data as string)
        socket.close(1000)
      }
      socket.onerror = () => reject(new Error('the socket failed'))
      socket.onclose = () => resolve()
    })
    return { slot_id: slot_ids![0], messages, unused: url(second.ticket!) }
  }, slow.url)
  expect(pushed.messages).toHaveLength(1)
  expect(JSON.parse(pushed.messages[0]!)).toMatchObject({ slot_id: pushed.slot_id, status: 'ready' })
  const opens = (target: Page) =>
    target.evaluate(
      (url) =>
        new Promise<boolean>((resolve) => {
          const socket = new WebSocket(url)
          socket.onopen = () => resolve(true)
          socket.onerror = () => resolve(false)
        }),
      pushed.unused,
    )
  const elsewhere = await page.context().newPage()
  await elsewhere.goto(origin.replace('localhost', '127.0.0.1'))
  expect(await opens(elsewhere)).toBe(false)
  expect(await opens(page)).toBe(true)
})
