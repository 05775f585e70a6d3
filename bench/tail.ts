/**
 * `svc beacons tail` under load: 2 000 beacons a second for 30 seconds, from a server that only streams events, drawn in a
 * terminal of script(1). Tells how far the tail was behind, its memory, its processor time, and what it drew.
 */
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createTerminalScreen } from '../tests/cli/terminal-screen.ts'
import { processorTime, residentMemory } from './server.ts'

const perSecond = 2_000
const seconds = 30
const tick_ms = 10
const root = join(import.meta.dirname, '..')
const events = ['render', 'visible', 'heartbeat', 'click']

let stream: ServerResponse | null = null
let sent = 0
const server = createServer((request, response) => {
  if (request.url?.startsWith('/_sandbox/events') === true) {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(': connected\n\n')
    stream = response
    return
  }
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify(info()))
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const command = `stty sane cols 140 rows 40; exec "${process.execPath}" "${join(root, 'bin/svc.js')}" beacons tail --base-url ${base_url}`
const child = spawn('script', ['--quiet', '--flush', '--command', command, '/dev/null'], {
  env: { ...process.env, TERM: 'xterm-256color', SHELL: '/bin/sh' },
  stdio: ['pipe', 'pipe', 'inherit'],
})
const screen = createTerminalScreen(140, 40)
let bytes = 0
let frames = 0
child.stdout.on('data', (chunk: Buffer) => {
  const text = chunk.toString('utf8')
  bytes += chunk.length
  frames += text.split('\u001b[?2026h').length - 1
  screen.write(text)
})
await until(() => stream !== null)
const tail = processOf(base_url)

const started = performance.now()
let memory = 0
await new Promise<void>((resolve) => {
  const timer = setInterval(() => {
    const due = Math.min(seconds * perSecond, Math.floor(((performance.now() - started) / 1000) * perSecond))
    let text = ''
    while (sent < due) text += event(++sent)
    if (text !== '') stream!.write(text)
    memory = Math.max(memory, residentMemory(tail))
    if (sent < seconds * perSecond) return
    clearInterval(timer)
    resolve()
  }, tick_ms)
})
const sent_after = performance.now()
await until(() => screen.lines()[1]?.startsWith('60 000 beacons') === true)
const behind_ms = performance.now() - sent_after
const cpu_ms = processorTime(tail)
memory = Math.max(memory, residentMemory(tail))
child.stdin.write('q')
await new Promise((resolve) => child.once('close', resolve))
stream!.end()
server.close()
server.closeAllConnections()
const whole_s = (sent_after - started) / 1000
console.log(`sent           ${sent} beacons in ${whole_s.toFixed(1)} s`)
console.log(`behind         ${behind_ms.toFixed(0)} ms when the last was sent`)
console.log(`memory         ${memory.toFixed(0)} MB at most`)
console.log(`processor      ${((cpu_ms / 1000 / whole_s) * 100).toFixed(0)} % of one core`)
console.log(`frames         ${(frames / whole_s).toFixed(1)} a second, ${(bytes / frames / 1024).toFixed(1)} kB each`)

/** What the tail asks before it follows. */
function info() {
  return {
    version: '0',
    pid: process.pid,
    url: base_url,
    inspector_url: `${base_url}/_sandbox/`,
    database: ':memory:',
    schema_version: 1,
    seed: null,
    clock: { now_ms: Date.now(), offset_ms: 0, frozen: false },
    journal: { enabled: false, limit: 0, size: 0, dropped: 0 },
    projects: [],
    warnings: [],
  }
}

function event(seq: number): string {
  const now_ms = Date.now()
  const slot_id = `slot_${String(seq >> 2).padStart(11, '0')}`
  const data = {
    beacon_id: `bench-${seq}`,
    slot_id,
    client_id: 'proj_demo',
    session_id: `session-${seq % 50}`,
    format: 'banner',
    event: events[seq % events.length],
    verdict: 'accepted',
    reason_code: 'OK',
    would_bill: seq % 4 === 1,
    metric: 'viewable_impression',
    occurred_at_ms: now_ms,
    received_at_ms: now_ms,
  }
  const whole = { seq, type: 'beacon.accepted', at_ms: now_ms, client_id: 'proj_demo', slot_id, data }
  return `id: ${seq}\nevent: beacon.accepted\ndata: ${JSON.stringify(whole)}\n\n`
}

/** The process of this system whose arguments hold `text`, and that is no shell or script. */
function processOf(text: string): number {
  const found = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .find((pid) => {
      const words = argumentsOf(pid)
      return words.includes(text) && words.includes('tail')
    })
  if (found === undefined) throw new Error('the tail does not run')
  return Number(found)
}

function argumentsOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    return []
  }
}

async function until(isDone: () => boolean): Promise<void> {
  while (!isDone()) await new Promise((resolve) => setTimeout(resolve, tick_ms))
}
