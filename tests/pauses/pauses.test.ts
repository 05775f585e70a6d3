/**
 * The longest pause of the event loop while each endpoint works on a large state: every list with every filter and every
 * report on half a million rows a table (`PAUSES_ROWS`), and what reads or replaces the whole state on a quarter of them, where
 * 0.4 µs a row are too long a pause already. An endpoint or a filter that is missing here fails.
 *
 * A pause counts by the time of the processor: others on this host may take that away, but a freeze uses it up. Where they
 * slow the processor down, because they share its core and its caches, the limit grows by as much. The real time, which
 * waiting for the disk adds to, has a wider limit, relative to the pauses of the same sandbox at rest.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { manualClock, startSandbox } from '#sandbox/index.ts'
import { connect } from '#tests/http/call.ts'
import { fill, folder } from '#tests/http/stage.ts'
import { type Child, startChild } from '#tests/reliability/child.ts'
import { addPending, addTraffic } from '#tests/reliability/large-state.ts'
import { type Asked, listRequests, readers, unplaced } from '#tests/reliability/list-requests.ts'
import type { Pauses } from './watch.ts'

/** Half a million rows show in 50 ms what takes 0.1 µs a row. */
const rows = Number(process.env.PAUSES_ROWS ?? 500_000)
const wholeRows = rows / 4
const pending = 40_000
/** Milliseconds of the processor between two turns of the event loop. */
const mostBusy_ms = 50
/** The same in real time, beside the longest pause at rest: on a busy host, waiting for the disk is most of it. */
const mostReal_ms = 1_000
const attempts = 3

/** Of the readers, those that read every byte. */
const ofWholeState = ['evidence.verify', 'sandbox.integrity']

const place = folder()
const figures: string[] = []
let child: Child | undefined
/** The export of the whole state, which is imported again. */
let exported = new Blob()
let rest: Pauses = { longest_ms: 0, busy_ms: 0 }
/** Processor time of the calibration, the least of this run. */
let calibrated_ms = Number.POSITIVE_INFINITY

beforeAll(async () => {
  const child = await start(await filled('lists.db', rows))
  await call({ path: '/_sandbox/livez' })
  await child.pauses()
  for (let turn = 0; turn < 1_000; turn++) await call({ path: '/_sandbox/livez' })
  rest = await child.pauses()
  note('at rest', rest, 0)
  for (let turn = 0; turn < 5; turn++) slowdown()
})

afterAll(async () => {
  await child?.close()
  rmSync(place.path, { recursive: true, force: true })
  console.log(figures.join('\n'))
})

test('every endpoint is measured, or touches few rows', () => {
  expect(unplaced()).toEqual([])
})

const lists = readers.filter(({ id }) => !ofWholeState.includes(id))

test.each(lists.map((endpoint) => [endpoint.id, endpoint] as const))('%s', (_, endpoint) => measureReader(endpoint))

test('what reads or replaces the whole state', async () => {
  await start(await filled('whole.db', wholeRows))
  const post = (path: string, body?: unknown) => () => call({ method: 'POST', path: `/_sandbox${path}`, body })
  const last = await lastEntry()
  expect(last).toMatchObject({ seq: wholeRows + 1 })
  for (const endpoint of readers.filter(({ id }) => ofWholeState.includes(id))) await measureReader(endpoint)
  await measure('snapshots.save', post('/snapshots/large', { replace: true }))
  await measure('sandbox.export', async () => {
    exported = await call({ path: '/_sandbox/export' })
  })
  const restore = post('/snapshots/large/restore', {})
  await measure('clock.advance', post('/clock/advance', { by_ms: 7_200_000 }), async () => {
    await post('/clock/set', { to_ms: Date.now() })()
    await restore()
  })
  const left = await json<{ items: { status: string }[] }>({ path: '/_sandbox/placements', query: 'limit=1000' })
  expect(left.items.filter(({ status }) => status === 'pending')).toEqual([])
  await measure('clock.set', post('/clock/set', { to_ms: Date.now() }))
  await measure('sandbox.reset', post('/reset', {}), restore)
  await measure('snapshots.restore', restore)
  expect(await lastEntry()).toEqual(last)
  await measure('sandbox.import', () => expectImport(exported))
  expect(await lastEntry()).toEqual(last)
})

test('what reads or replaces the whole state of a sandbox in memory', async () => {
  const last = await lastEntry()
  await start(':memory:')
  const post = (path: string, body: unknown) => () => call({ method: 'POST', path: `/_sandbox${path}`, body })
  const restore = post('/snapshots/large/restore', {})
  await measure('in memory: sandbox.import', () => expectImport(exported))
  await measure('in memory: snapshots.save', post('/snapshots/large', { replace: true }))
  await measure('in memory: sandbox.reset', post('/reset', {}), restore)
  await measure('in memory: snapshots.restore', restore)
  await measure('in memory: sandbox.export', () => call({ path: '/_sandbox/export' }))
  expect(await lastEntry()).toEqual(last)
})

/** Creates a database with so many beacons, entries of the evidence and exchanges, and pending slots. Resolves to its path. */
async function filled(name: string, count: number): Promise<string> {
  const database = join(place.path, name)
  const clock = manualClock(Date.now() - 60_000)
  const sandbox = await startSandbox({ database, clock })
  await fill(connect(sandbox), { format: 'banner' })
  await sandbox.close()
  addTraffic(database, { beacons: count, unaccepted: count / 10, exchanges: count, events: count / 10 })
  addPending(database, pending, Date.now() + 3_600_000)
  return database
}

/** Starts the sandbox that is measured from now on, in place of the one before it. */
async function start(database: string): Promise<Child> {
  await child?.close()
  child = await startChild({ database, rate_limit: 'off', journal_limit: 2 * rows })
  return child
}

async function measureReader(endpoint: (typeof readers)[number]): Promise<void> {
  for (const [name, asked] of Object.entries(listRequests(endpoint))) {
    await measure(`${endpoint.id} ${name}`, () => call(asked))
  }
}

/** Imports the state, which verifies its chains, and expects as many entries as it was made with. */
async function expectImport(file: Blob): Promise<void> {
  const result = await call({ method: 'POST', path: '/_sandbox/import', file })
  expect(JSON.parse(await result.text())).toMatchObject({ ok: true, evidence_entries: wholeRows + 1 })
}

/** Resolves to the last entry of the evidence: its hash is that of the whole chain. */
async function lastEntry(): Promise<unknown> {
  const { items } = await json<{ items: unknown[] }>({ path: '/_sandbox/evidence', query: 'limit=1' })
  return items[0]
}

/**
 * Expects that the longest pause of some attempt is short: a busy host may lengthen some, a freeze lengthens all. Work that
 * finds less to do the second time has its state restored before that.
 */
async function measure(name: string, work: () => Promise<unknown>, restore?: () => Promise<unknown>): Promise<void> {
  const tries: (Pauses & { slowdown: number })[] = []
  for (let attempt = 0; attempt < attempts; attempt++) {
    if (attempt > 0) await restore?.()
    await child!.pauses()
    const started = performance.now()
    await work()
    const pause = await child!.pauses()
    note(name, pause, performance.now() - started)
    if (isShort(pause, 1)) return
    const measured = { ...pause, slowdown: slowdown() }
    if (isShort(measured, measured.slowdown)) return
    tries.push(measured)
  }
  expect.soft(tries, name).toEqual([])
}

function isShort({ longest_ms, busy_ms }: Pauses, slowdown: number): boolean {
  return busy_ms <= mostBusy_ms * slowdown && longest_ms <= mostReal_ms + rest.longest_ms
}

/** Returns how many times as long the processor now takes for the same work as it took at its best in this run. */
function slowdown(): number {
  const before = process.threadCpuUsage()
  let text = ''
  for (let round = 0; round < 200; round++)
    text = JSON.stringify(Array.from({ length: 1_000 }, (_, id) => ({ id, text: text.slice(0, 50) })))
  const { user, system } = process.threadCpuUsage(before)
  calibrated_ms = Math.min(calibrated_ms, (user + system) / 1000)
  return (user + system) / 1000 / calibrated_ms
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
