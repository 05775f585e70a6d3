/**
 * `npm run test:soak`: a sandbox under mixed load for minutes (SOAK_MINUTES, 10 unless set): integrations and followers,
 * while evidence is verified, billing reported, lists read, snapshots saved and restored, and the clock jumps; then the
 * same with kills. Prints what it measured.
 */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { BeaconItem } from '#contract/resources/beacons.ts'
import type { Pauses } from '#tests/pauses/watch.ts'
import { watchPauses } from '#tests/pauses/watch.ts'
import { type Child, startChild } from '#tests/reliability/child.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { type Follower, follow } from './followers.ts'
import { pause, startTraffic, type Traffic } from './traffic.ts'

const minutes = Number(process.env.SOAK_MINUTES ?? '10')
const kills = Math.max(8, Math.round(minutes * 6))
const steady_ms = minutes * 60_000 * 0.65
const between_kills_ms = (minutes * 60_000 * 0.35) / kills
const lanes = 8
/** A turn is four to five requests: about 450 requests a second in all. */
const turn_every_ms = 80
const longestPause_ms = 50
/** Live objects may grow by so many bytes from a third of the steady part to its end: 170 a request, at most 4 MB. */
const mostGrowth_bytes = Math.min(minutes, 2) * 2e6

interface Sample {
  at_ms: number
  memory_mb: number
  files: number
  log_mb: number
  /** The database without its log. */
  file_mb: number
}

const directory = temporaryDirectory()
const database = join(directory, 'sandbox.db')
/**
 * Bytes of live objects, and resident ones, after a third of the steady part and at its end: right after a restore, which
 * empties every cache of rows, and a collection that gives free pages back. Those are most of what is resident otherwise,
 * 110 to 170 MB, and their number says nothing about what is in use.
 */
const settled: { live_bytes: number; resident_bytes: number }[] = []
const failures: string[] = []
const samples: Sample[] = []
const pauses: (Pauses & { here_ms: number; during: string })[] = []
const latenciesDuring = new Map<string, number[]>()
const counts = { verified: 0, reports: 0, lists: 0, snapshots: 0, restores: 0, jumps: 0, kills: 0 }
let child: Child
let traffic: Traffic
let followers: Follower[]

const options = { database, rate_limit: 'off', journal_limit: 2_000, event_limit: 1_000_000 } as const

beforeAll(
  async () => {
    child = await startChild(options)
    followers = Array.from({ length: 3 }, () => follow(() => child.url))
    traffic = startTraffic(child.url, lanes, turn_every_ms)
    await pause(2_000)
    await work(steady_ms / 3, true)
    settled.push(await settle())
    await work((steady_ms * 2) / 3, true)
    settled.push(await settle())
    for (let kill = 0; kill < kills; kill++) {
      await work(between_kills_ms * (0.5 + ((kill * 7) % 10) / 10), false)
      await traffic.interrupt(async () => {
        await child.kill()
        failures.push(...child.reports)
        child = await startChild(options)
        counts.kills++
        return child.url
      })
    }
    await pause(1_000)
    await traffic.stop()
    for (let waited = 0; missingIn(followers).length > 0 && waited < 300; waited++) await pause(100)
    await Promise.all(followers.map((follower) => follower.stop()))
    console.log(summary())
  },
  // Reports and kills take several times as long on a busy host.
  2 * minutes * 60_000 + 300_000,
)

afterAll(async () => {
  await child.kill()
})

test('every request is answered as it should be', () => {
  expect(traffic.problems).toEqual([])
  expect(failures).toEqual([])
  expect(counts.kills).toBe(kills)
})

test('what was acknowledged is stored, and its evidence verifies', async () => {
  const kept = await storedIds()
  expect(traffic.acknowledged.filter(({ id }) => !kept.has(id))).toEqual([])
  expect(await get('/_sandbox/evidence/verify')).toMatchObject({ ok: true })
  expect(await get('/_sandbox/integrity')).toMatchObject({ ok: true })
})

test('followers see each event once, in order', () => {
  expect(followers.flatMap(({ problems }) => problems)).toEqual([])
  expect(missingIn(followers)).toEqual([])
})

test(`nothing keeps the process from others for ${longestPause_ms} ms`, () => {
  // One of hundreds may meet a collection of garbage while the machine is slow.
  const long = pauses.filter(({ busy_ms }) => busy_ms > longestPause_ms)
  expect(long.slice(1)).toEqual([])
  expect(long.filter(({ busy_ms }) => busy_ms > 2 * longestPause_ms)).toEqual([])
})

test('memory, open files and the write-ahead log do not grow', () => {
  const third = Math.floor(samples.length / 3)
  const early = samples.slice(third, 2 * third)
  const late = samples.slice(-third)
  const countFiles = (of: Sample[]) =>
    quantile(
      of.map(({ files }) => files),
      0.5,
    )
  const [first, last] = settled
  expect(last!.live_bytes).toBeLessThan(first!.live_bytes + mostGrowth_bytes)
  // With the free pages of V8 and SQLite.
  expect(Math.max(...samples.map(({ memory_mb }) => memory_mb))).toBeLessThan(400)
  if (minutes >= 5) expect(last!.resident_bytes).toBeLessThan(first!.resident_bytes + 24e6)
  expect(countFiles(late)).toBeLessThan(countFiles(early) + 16)
  // 64 MiB, and the state that a restore writes at once: a page may be written twice, when it leaves the cache too early.
  expect(samples.filter(({ log_mb, file_mb }) => log_mb > 68 + 2 * file_mb)).toEqual([])
  const names = readdirSync(directory).filter((name) => !name.startsWith('sandbox.db'))
  expect(names).toEqual([])
})

/** What people do beside the traffic, one after the other, for `duration_ms`. */
async function work(duration_ms: number, isMeasured: boolean): Promise<void> {
  const until = performance.now() + duration_ms
  const here = watchPauses()
  let saved_ms = 0
  const tasks: [string, () => Promise<unknown>][] = [
    ['verify', () => count('verified', get('/_sandbox/evidence/verify'))],
    ['billing', () => count('reports', get('/_sandbox/billing'))],
    ['lists', () => count('lists', get('/_sandbox/beacons?limit=1000&verdict=accepted&since=1m'))],
    ['lists', () => count('lists', get('/_sandbox/placements?session_id=soak-20&limit=100'))],
    ['lists', () => count('lists', get('/_sandbox/requests?path=/v1/beacons&details=true&limit=100'))],
    ['clock', () => count('jumps', post('/_sandbox/clock/advance', { by_ms: 30_000 }))],
    [
      'snapshot',
      async () => {
        saved_ms = performance.now()
        await count('snapshots', post('/_sandbox/snapshots/soak', { replace: true }))
      },
    ],
    ['rest', () => pause(1_000)],
  ]
  await here()
  for (let turn = 0; performance.now() < until; turn++) {
    const [during, task] = tasks[turn % tasks.length]!
    const from = traffic.latencies.length
    await task()
    const took = traffic.latencies.slice(from)
    latenciesDuring.set(during, [...(latenciesDuring.get(during) ?? []), ...took])
    if (isMeasured && turn % (tasks.length * 4) === tasks.length * 4 - 1) {
      await traffic.goBack(saved_ms, () => count('restores', post('/_sandbox/snapshots/soak/restore', {})))
    }
    if (isMeasured) {
      pauses.push({ ...(await child.pauses()), here_ms: here().longest_ms, during })
      samples.push(await sample())
    }
  }
}

async function sample(): Promise<Sample> {
  return {
    at_ms: performance.now(),
    memory_mb: (await child.memory()) / 1e6,
    files: readdirSync(`/proc/${child.pid}/fd`).length,
    log_mb: readMegabytes(`${database}-wal`),
    file_mb: readMegabytes(database),
  }
}

function readMegabytes(file: string): number {
  return (statSync(file, { throwIfNoEntry: false })?.size ?? 0) / 1e6
}

/** Memory after a restore: what a cache holds grows and shrinks, and what has leaked stays. */
async function settle(): Promise<(typeof settled)[number]> {
  const saved_ms = performance.now()
  await count('snapshots', post('/_sandbox/snapshots/soak', { replace: true }))
  await traffic.goBack(saved_ms, () => count('restores', post('/_sandbox/snapshots/soak/restore', {})))
  const { heap_bytes: live_bytes, rss_bytes: resident_bytes } = await child.collected()
  // That collection is the test's own, and throws compiled code away: what came next had pauses of 111 and 51 ms by it.
  await get('/_sandbox/evidence/verify')
  await child.pauses()
  return { live_bytes, resident_bytes }
}

async function count(what: keyof typeof counts, done: Promise<unknown>): Promise<void> {
  await done
  counts[what]++
}

async function get<Body = unknown>(path: string): Promise<Body> {
  const reply = await fetch(`${child.url}${path}`)
  if (reply.status !== 200) failures.push(`${path}: ${reply.status} ${await reply.clone().text()}`)
  return (await reply.json()) as Body
}

async function post(path: string, body: object): Promise<unknown> {
  const headers = { 'content-type': 'application/json' }
  const reply = await fetch(`${child.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!reply.ok) failures.push(`${path}: ${reply.status} ${await reply.clone().text()}`)
  return reply.json()
}

/** Slots, and beacons by the identifiers that the traffic gave them. */
async function storedIds(): Promise<Set<string>> {
  const ids = new Set<string>()
  const list = async (path: string, idOf: (item: Partial<BeaconItem>) => string | null | undefined) => {
    let cursor = ''
    do {
      const page = await get<{ items: Partial<BeaconItem>[]; next_cursor: string | null }>(
        `${path}?limit=1000${cursor}`,
      )
      for (const item of page.items) ids.add(idOf(item) ?? '')
      cursor = page.next_cursor === null ? '' : `&cursor=${page.next_cursor}`
    } while (cursor !== '')
  }
  await list('/_sandbox/placements', ({ slot_id }) => slot_id)
  await list('/_sandbox/beacons', ({ beacon_id }) => beacon_id)
  return ids
}

function missingIn(all: readonly Follower[]): string[] {
  return traffic.acknowledged.map(({ id }) => id).filter((id) => !all.every(({ seen }) => seen.has(id)))
}

function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN
}

function summary(): string {
  // Not by Math.max: it takes no hundred thousand arguments, and ten minutes have more requests.
  const most = (values: number[]) => Math.round(values.reduce((one, other) => Math.max(one, other), 0) * 10) / 10
  const { latencies, acknowledged } = traffic
  return [
    `${latencies.length} requests, ${acknowledged.length} acknowledged writes kept in mind, ${JSON.stringify(counts)}`,
    `p50 ${quantile(latencies, 0.5).toFixed(1)} ms, p99 ${quantile(latencies, 0.99).toFixed(1)} ms, longest ${most(latencies)} ms`,
    ...[...new Set(pauses.map(({ during }) => during))].map((name) => {
      const of = pauses.filter(({ during }) => during === name)
      const slow = quantile(latenciesDuring.get(name) ?? [], 0.99).toFixed(1)
      const own = most(of.map(({ busy_ms }) => busy_ms))
      return `longest pause during ${name}: ${own} ms of processor time, ${most(of.map(({ longest_ms }) => longest_ms))} ms by the clock (here ${most(of.map(({ here_ms }) => here_ms))} ms); p99 of requests ${slow} ms`
    }),
    `live objects ${settled.map(({ live_bytes }) => (live_bytes / 1e6).toFixed(1))} MB, resident with them ${settled.map(({ resident_bytes }) => Math.round(resident_bytes / 1e6))} MB, memory ${samples.map(({ memory_mb }) => Math.round(memory_mb)).filter((_, index) => index % Math.ceil(samples.length / 12) === 0)} MB, log at most ${most(samples.map(({ log_mb }) => log_mb))} MB, database ${most(samples.map(({ file_mb }) => file_mb))} MB, open files ${samples[0]?.files} to ${samples.at(-1)?.files}`,
  ].join('\n')
}
