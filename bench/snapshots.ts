/**
 * How long whole states take: a reset, and saving, restoring, exporting and importing a sandbox with 100 000 beacons.
 * Each figure is the time of one request from outside, as a test suite would wait for it. Then the commands that export
 * and import a state of some hundred megabytes: their time, and the peak memory of command and sandbox.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { addTraffic } from '#tests/reliability/large-state.ts'
import { connections, loadBeacons, loadPlacements, makeTokens } from './load.ts'
import { median } from './processes.ts'
import { type MeasuredServer, startServer } from './server.ts'

const slots = 25_000
const beacons = slots * 4
const runs = 7
const largeBeacons = 600_000
/** The limits on the memory of a command, and on the additional memory of the sandbox, MB: far less than the state. */
const maxCommandMemory = 150
const maxAddedMemory = 150

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
await measureLarge()
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

/** The median, next to the slowest. */
function report(name: string, all: readonly number[], max_ms: number | null): void {
  const middle = median(all)
  const isMet = max_ms === null || middle <= max_ms
  if (!isMet) unmet++
  const verdict = max_ms === null ? '' : `${isMet ? 'met   ' : 'MISSED'}  (at most ${max_ms} ms)`
  const figures = `${middle.toFixed(0).padStart(6)} ms   slowest ${Math.max(...all).toFixed(0)} ms`
  console.log(`  ${name.padEnd(22)} ${figures.padEnd(30)} ${verdict}`.trimEnd())
}

async function measureLarge(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-large-'))
  const database = join(folder, 'sandbox.db')
  const start = () => startServer([...command, '--db', database])
  try {
    const first = await start()
    await loadPlacements(first.url, connections)
    await first.stop()
    addTraffic(database, { beacons: largeBeacons, unaccepted: 0, exchanges: 45_000, events: 90_000 })
    const size = (file: string) => `${(statSync(file).size / 1e6).toFixed(0)} MB`
    console.log(`file: ${largeBeacons.toLocaleString('en')} beacons, ${size(database)}`)
    const server = await start()
    try {
      const file = join(folder, 'state.svc.gz')
      await measureCommand(server, 'svc sandbox export', ['export', file])
      console.log(`  the export has ${size(file)}`)
      await measureCommand(server, 'svc sandbox import', ['import', file])
    } finally {
      await server.stop()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measureCommand(server: MeasuredServer, name: string, words: readonly string[]): Promise<void> {
  const before = server.memory()
  // Linux: resets the peak value.
  writeFileSync(`/proc/${server.pid}/clear_refs`, '5')
  const started = performance.now()
  const child = spawn(process.execPath, ['bin/svc.js', 'sandbox', ...words, '-q', '-o', 'none'], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, SVC_HOME: server.home, SVC_BASE_URL: server.url },
  })
  let max = 0
  const watch = setInterval(() => {
    max = Math.max(max, highestMemory(child.pid!) ?? 0)
  }, 10)
  const code = await new Promise((resolve) => child.once('exit', resolve))
  clearInterval(watch)
  if (code !== 0) throw new Error(`${name} ended with ${code}`)
  report(name, [performance.now() - started], null)
  reportMemory('  memory of the command', max, maxCommandMemory)
  reportMemory('  added in the sandbox', (highestMemory(server.pid) ?? 0) - before, maxAddedMemory)
}

/** The peak resident memory of a process so far, MB; null when it has ended. */
function highestMemory(pid: number): number | null {
  try {
    const match = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
    return match === null ? null : Number(match[1]) / 1024
  } catch {
    return null
  }
}

function reportMemory(name: string, used: number, max: number): void {
  const isMet = used <= max
  if (!isMet) unmet++
  console.log(
    `  ${name.padEnd(22)} ${used.toFixed(0).padStart(6)} MB ${isMet ? 'met   ' : 'MISSED'}  (at most ${max} MB)`,
  )
}
