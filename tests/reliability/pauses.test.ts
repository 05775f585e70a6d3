/**
 * The longest pause of the event loop while each endpoint works on a state of a million rows a table: every list with every
 * filter, every report, and what reads or replaces the whole state. An endpoint or a filter that is missing here fails.
 *
 * A pause counts by the time of the processor: others on this host may take that away, but a freeze uses it up. The real
 * time, which waiting for the disk adds to, has a wider limit, relative to the pauses of the same sandbox at rest.
 */
import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { manualClock, startSandbox } from '../../sandbox/index.ts'
import type { Endpoint } from '../../src/contract/endpoint.ts'
import { contract, type EndpointId } from '../../src/contract/index.ts'
import { connect } from '../http/call.ts'
import { fill, folder } from '../http/stage.ts'
import { type Child, startChild } from './child.ts'
import { addPending, addTraffic } from './large-state.ts'
import type { Pauses } from './pauses.ts'

const rows = 1_000_000
const pending = 40_000
/** Milliseconds of the processor between two turns of the event loop. */
const mostBusy_ms = 50
/** The same in real time, beside the longest pause at rest: on a busy host, waiting for a processor is most of it. */
const mostReal_ms = 1_000
const attempts = 3

const place = folder()
const database = join(place.path, 'sandbox.db')
const figures: string[] = []
let child: Child | undefined
let rest: Pauses = { longest_ms: 0, busy_ms: 0 }

beforeAll(async () => {
  const clock = manualClock(Date.now() - 60_000)
  const sandbox = await startSandbox({ database, clock })
  await fill(connect(sandbox), { format: 'banner' })
  await sandbox.close()
  addTraffic(database, { beacons: rows, unaccepted: rows / 10, exchanges: rows, events: rows / 10 })
  addPending(database, pending, Date.now() + 3_600_000)
  child = await startChild({ database, rate_limit: 'off', journal_limit: 2 * rows })
  await call({ path: '/_sandbox/livez' })
  await child.pauses()
  for (let turn = 0; turn < 1_000; turn++) await call({ path: '/_sandbox/livez' })
  rest = await child.pauses()
  note('at rest', rest, 0)
})

afterAll(async () => {
  await child?.close()
  rmSync(place.path, { recursive: true, force: true })
  console.log(figures.join('\n'))
})

/** A request to a sandbox. */
interface Asked {
  path: string
  method?: Endpoint['method']
  query?: string
  body?: unknown
  file?: Blob
}

/** Values of every filter, by the name of its field: those of many rows, of few, of old ones, and of none. */
const values: Readonly<Record<string, readonly string[]>> = {
  client_id: ['proj_demo', 'proj_other', 'nowhere'],
  session_id: ['hot', 'old', 's40000', 's49999', 'nowhere'],
  slot_id: ['slot_00000000000', 'nowhere'],
  since: ['0', '1m', '1h', '100d'],
  until: ['0', '1m', '1h', '100d'],
  event: ['heartbeat', 'play_completed'],
  verdict: ['accepted', 'rejected', 'duplicate'],
  format: ['banner', 'clip'],
  fill: ['true', 'false'],
  kind: ['beacon', 'decision', 'consent'],
  method: ['POST', 'DELETE'],
  path: ['/v1/placements', '*/beacons', '/nowhere'],
  status: ['200', '500'],
  status_class: ['2xx', '5xx'],
  reason: ['schema_invalid'],
  key: ['sk_test', 'sk_live'],
  after: ['req_00000000000'],
  after_seq: ['0', '999000'],
  details: ['true'],
  limit: ['1000'],
  cursor: [],
}

/** Endpoints that read or write a few rows, found by their key, whatever else there is. */
const brief: readonly EndpointId[] = [
  'faults.list',
  'faults.add',
  'faults.clear',
  'faults.remove',
  'scenario.list',
  'scenario.use',
  'scenario.clear',
  'clock.show',
  'clock.freeze',
  'clock.resume',
  'projects.show',
  'projects.create',
  'projects.update',
  'projects.config',
  'keys.create',
  'keys.revoke',
  'requests.show',
  'requests.replay',
  'health.live',
  'health.ready',
  'contract.show',
  'contract.openapi',
  'snapshots.delete',
  'placements.explain',
  'placements.create',
  'decisions.get',
  'browser.activate',
  'consent.set',
  'render.script',
  'render.frame',
  'jobs.create',
  'beacons.send',
]

/** What is sent to an endpoint beside its filters, where that takes a body or a part of the path. */
const bodies: Partial<Record<EndpointId, readonly unknown[]>> = {
  'requests.find': [{ path: '/v1/beacons' }, { body: { event: 'click' } }, { session_id: 'nowhere', limit: 1_000 }],
  'requests.count': [{ method: 'POST' }, { body: { event: 'render' } }],
  'requests.nearest': [{ path: '/v1/beacons', body: { event: 'click' } }],
}
const params = { client_id: 'proj_demo', name: 'large' }

/** Endpoints that change the whole state, which the last test calls one after the other. */
const whole: readonly EndpointId[] = [
  'clock.advance',
  'clock.set',
  'sandbox.export',
  'sandbox.import',
  'sandbox.reset',
  'snapshots.save',
  'snapshots.restore',
]

const endpoints = Object.values<Endpoint>(contract)
const lists = endpoints.filter(({ id }) => !brief.some((other) => other === id) && !whole.some((other) => other === id))

test('every endpoint is measured, or touches few rows', () => {
  const unplaced = lists.filter(({ id, method }) => method !== 'GET' && bodies[id as EndpointId] === undefined)
  expect(unplaced.map(({ id }) => id)).toEqual([])
  const filters = new Set(lists.flatMap(({ query }) => Object.keys(query?.shape ?? {})))
  filters.delete('since_seq')
  filters.delete('type')
  expect([...filters].filter((name) => values[name] === undefined)).toEqual([])
})

test.each(lists.map((endpoint) => [endpoint.id, endpoint] as const))('%s', async (id, endpoint) => {
  for (const [name, asked] of Object.entries(requestsOf(endpoint))) {
    await measure(`${id} ${name}`, () => call(asked))
  }
})

test('what reads or replaces the whole state', async () => {
  const post = (path: string, body?: unknown) => () => call({ method: 'POST', path: `/_sandbox${path}`, body })
  await measure('snapshots.save', post('/snapshots/large', { replace: true }))
  let file = new Blob()
  await measure('sandbox.export', async () => {
    file = await call({ path: '/_sandbox/export' })
  })
  await measure('clock.advance', post('/clock/advance', { by_ms: 7_200_000 }), 1)
  const left = await json<{ items: { status: string }[] }>({ path: '/_sandbox/placements', query: 'limit=1000' })
  expect(left.items.filter(({ status }) => status === 'pending')).toEqual([])
  await measure('clock.set', post('/clock/set', { to_ms: Date.now() }))
  await measure('sandbox.reset', post('/reset', {}), 1)
  await measure('snapshots.restore', post('/snapshots/large/restore', {}))
  await measure('sandbox.import', () => call({ method: 'POST', path: '/_sandbox/import', file }))
  const verified = await json<{ ok: boolean; chains: { entries: number }[] }>({ path: '/_sandbox/evidence/verify' })
  expect(verified).toMatchObject({ ok: true, chains: [{ entries: rows + 2 }, {}, {}] })
  expect(statSync(database).size).toBeGreaterThan(rows * 100)
})

/** The requests of an endpoint: without a filter, with each value of each, and with each in pages of the largest size. */
function requestsOf({ id, path, method, query }: Endpoint): Record<string, Asked> {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: keyof typeof params) => params[name])
  const all: Record<string, Asked> = {}
  if (method !== 'GET') {
    for (const body of bodies[id as EndpointId] ?? []) all[JSON.stringify(body)] = { method, path: filled, body }
    return all
  }
  if (id === 'events.stream') return { 'a long history': { path: filled, query: 'since_seq=1&type=nothing' } }
  all[''] = { path: filled }
  const names = Object.keys(query?.shape ?? {})
  const pages = names.includes('limit') ? ['', '&limit=1000'] : ['']
  for (const name of names) {
    for (const value of values[name]!) {
      for (const page of pages) {
        const text = `${name}=${encodeURIComponent(value)}${name === 'limit' ? '' : page}`
        all[text] = { path: filled, query: text }
      }
    }
  }
  return all
}

/** Expects that the longest pause of some attempt is short: a busy host may lengthen some, a freeze lengthens all. */
async function measure(name: string, work: () => Promise<unknown>, most = attempts): Promise<void> {
  const tries: Pauses[] = []
  for (let attempt = 0; attempt < most; attempt++) {
    await child!.pauses()
    const started = performance.now()
    await work()
    const pause = await child!.pauses()
    tries.push(pause)
    if (isShort(pause)) return note(name, pause, performance.now() - started)
    note(name, pause, performance.now() - started)
  }
  expect.soft(tries.some(isShort), `${name}: ${JSON.stringify(tries)}`).toBe(true)
}

function isShort({ longest_ms, busy_ms }: Pauses): boolean {
  return busy_ms <= mostBusy_ms && longest_ms <= mostReal_ms + rest.longest_ms
}

function note(name: string, { longest_ms, busy_ms }: Pauses, took_ms: number): void {
  const text = [busy_ms, longest_ms, took_ms].map((value) => value.toFixed(1).padStart(9)).join('')
  figures.push(`${name.slice(0, 60).padEnd(60)} ${text} ms`)
}

async function call({ path, method = 'GET', query, body, file }: Asked): Promise<Blob> {
  const url = `${child!.url}${path}${query === undefined ? '' : `?${query}`}`
  const type = file === undefined ? 'application/json' : 'application/gzip'
  const stop = new AbortController()
  const response = await fetch(url, {
    method,
    headers: method === 'GET' ? {} : { 'content-type': type },
    body: file ?? (body === undefined ? null : JSON.stringify(body)),
    signal: stop.signal,
  })
  if (response.headers.get('content-type') === 'text/event-stream') {
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    stop.abort()
    return new Blob()
  }
  const result = await response.blob()
  expect(response.status, `${url}: ${result.size < 2_000 ? await result.text() : ''}`).toBe(200)
  return result
}

async function json<T>(asked: Asked): Promise<T> {
  return JSON.parse(await (await call(asked)).text()) as T
}
