/**
 * How long whole states take: a reset, and saving, restoring, exporting and importing a sandbox with 100 000 beacons.
 * Each figure is the time of one request from outside, as a test suite would wait for it.
 */
import { loadBeacons, makeTokens } from './load.ts'
import { median } from './processes.ts'
import { startServer } from './server.ts'

const slots = 25_000
const beacons = slots * 4
const runs = 7

let unmet = 0

const command = ['bin/svc.js', 'start', '-o', 'json', '-q', '--port', '0', '--rate-limit', 'off']
for (const [where, database] of [
  ['file', ['--db', '{db}']],
  ['memory', ['--ephemeral']],
] as const) {
  const server = await startServer([...command, ...database])
  try {
    console.log(`${where}: ${beacons.toLocaleString('en')} beacons`)
    await loadBeacons(server.url, await makeTokens(server.url, slots))
    await measure(server.url)
  } finally {
    await server.stop()
  }
}
console.log(unmet === 0 ? 'Every target is met.' : `${unmet} targets are missed.`)

async function measure(url: string): Promise<void> {
  const save = await times(() => post(url, '/_sandbox/snapshots/bench', { replace: true }))
  report('save', save, null)
  const restores: number[] = []
  const resets: number[] = []
  for (let run = 0; run < runs; run++) {
    restores.push(await timed(() => post(url, '/_sandbox/snapshots/bench/restore', {})))
    resets.push(await timed(() => post(url, '/_sandbox/reset', {})))
  }
  report('restore', restores, 1_000)
  report('reset of all of it', resets, 30)
  report('reset of nothing', await times(() => post(url, '/_sandbox/reset', {})), 30)
  await post(url, '/_sandbox/snapshots/bench/restore', {})
  let file = new Uint8Array()
  const exported = await times(async () => {
    file = new Uint8Array(await (await fetch(`${url}/_sandbox/export`)).arrayBuffer())
  }, 3)
  report(`export, ${(file.length / 1e6).toFixed(0)} MB`, exported, null)
  const body = new Blob([file])
  report('import, verified', await times(() => importFile(url, body), 3), null)
}

async function times(work: () => Promise<unknown>, count = runs): Promise<number[]> {
  const all: number[] = []
  for (let run = 0; run < count; run++) all.push(await timed(work))
  return all
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return performance.now() - started
}

async function post(url: string, path: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  await checked(await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) }))
}

async function importFile(url: string, body: Blob): Promise<void> {
  const headers = { 'content-type': 'application/gzip' }
  await checked(await fetch(`${url}/_sandbox/import`, { method: 'POST', headers, body }))
}

async function checked(response: Response): Promise<void> {
  const text = await response.text()
  if (!response.ok) throw new Error(`${response.status}: ${text}`)
}

/** The median, beside the slowest. */
function report(name: string, all: readonly number[], most_ms: number | null): void {
  const middle = median(all)
  const isMet = most_ms === null || middle <= most_ms
  if (!isMet) unmet++
  const verdict = most_ms === null ? '' : `${isMet ? 'met   ' : 'MISSED'}  (at most ${most_ms} ms)`
  const figures = `${middle.toFixed(0).padStart(6)} ms   slowest ${Math.max(...all).toFixed(0)} ms`
  console.log(`  ${name.padEnd(22)} ${figures.padEnd(30)} ${verdict}`.trimEnd())
}
