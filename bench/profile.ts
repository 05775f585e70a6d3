/**
 * `npm run bench:profile`: where the time of a request goes, by part of the sandbox. The sandbox runs in this process,
 * from source, under the engine's own profiler; the load comes from a separate thread.
 *
 * A sample counts for the innermost file of the table on its stack, so a schema counts towards the parsing of bodies,
 * and a statement towards the table that it writes. Samples without such a file belong to Node itself: sockets, parser,
 * timers.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { type Profiler, Session } from 'node:inspector/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type autocannon from 'autocannon'
import { startSandbox } from '#sandbox/index.ts'
import { connections, generate, headers, makeTokens, placementBodies } from './load.ts'

const requests = 12_000
const warmUp = 4_000
const intervalUs = 200

/** The first pattern that a file matches names its part. */
const parts: readonly [name: string, pattern: RegExp][] = [
  ['sockets and responses', /pipeline\/(server|exchange)/],
  ['routes and guards', /pipeline\/(routes|pipeline|cors|faults)|drain-lock/],
  ['read, parse and validate bodies', /pipeline\/(body|acceptor)/],
  ['credentials and rates', /pipeline\/credentials|domain\/rate|sqlite\/projects/],
  ['journal', /pipeline\/journal|sqlite\/requests|redaction/],
  ['evidence', /(sqlite|domain)\/evidence/],
  ['hashes and identifiers', /platform\/platform|contract\/ids/],
  ['decision', /domain\/(market|decision|sizes|topic)|runtime\/(decisions|markets|scenarios)/],
  ['rows', /store\/sqlite\/(placements|beacons|consent|events|rows|meta)/],
  ['commit', /store\/sqlite\//],
  ['operations and rules', /sandbox\/(operations|domain|runtime)|contract\//],
]

if (import.meta.main) await printProfile()

/** Prints a table for placements, and one for beacons. */
export async function printProfile(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-profile-'))
  const sandbox = await startSandbox({ database: join(folder, 'sandbox.db'), rate_limit: 'off' })
  try {
    const [body] = placementBodies.plain
    const placements = { url: `${sandbox.url}/v1/placements`, bodies: [body!] }
    const tokens = await makeTokens(sandbox.url, 256)
    let count = 0
    const beacons = {
      url: `${sandbox.url}/v1/beacons`,
      get bodies() {
        return tokens.map((asset_token) => {
          const beacon_id = `bench-${String(count++).padStart(6, '0')}-[<id>]`
          return JSON.stringify({ beacon_id, asset_token, event: 'heartbeat', occurred_at_ms: Date.now() })
        })
      },
    }
    for (const [name, load] of Object.entries({ placements, beacons })) {
      await send(load, warmUp)
      print(name, await profiled(() => send(load, requests)))
    }
  } finally {
    await sandbox.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function send({ url, bodies }: { url: string; bodies: string[] }, amount: number): Promise<void> {
  const each = bodies.map((body) => ({ body }))
  const options = { url, method: 'POST', headers, connections, amount, requests: each, idReplacement: true, workers: 1 }
  const { non2xx, errors } = await generate(options as autocannon.Options)
  if (non2xx + errors > 0) throw new Error(`${non2xx + errors} requests failed under load`)
}

async function profiled(work: () => Promise<void>): Promise<Profiler.Profile> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.setSamplingInterval', { interval: intervalUs })
  await session.post('Profiler.start')
  await work()
  const { profile } = await session.post('Profiler.stop')
  session.disconnect()
  return profile
}

function print(name: string, { nodes, samples = [], timeDeltas = [] }: Profiler.Profile): void {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)))
  const partOfNode = new Map<number, string>()
  const findPart = (id: number): string => {
    const known = partOfNode.get(id)
    if (known !== undefined) return known
    const { functionName, url } = byId.get(id)!.callFrame
    const parent = parents.get(id)
    const own = functionName.startsWith('(g')
      ? 'garbage collection'
      : parts.find(([, pattern]) => pattern.test(url))?.[0]
    const part = own ?? (functionName === '(idle)' ? 'idle' : parent === undefined ? 'node' : findPart(parent))
    partOfNode.set(id, part)
    return part
  }
  const times = new Map<string, number>()
  for (const [index, id] of samples.entries()) {
    const part = findPart(id)
    times.set(part, (times.get(part) ?? 0) + timeDeltas[index]!)
  }
  times.delete('idle')
  const all = [...times.values()].reduce((sum, time) => sum + time, 0)
  console.log(`\n${name}: ${(all / requests).toFixed(0)} us of the main thread for each request`)
  for (const [part, time] of [...times].toSorted((a, b) => b[1] - a[1])) {
    console.log(
      `  ${part.padEnd(34)}${(time / requests).toFixed(1).padStart(6)} us ${((100 * time) / all).toFixed(0).padStart(4)} %`,
    )
  }
}
