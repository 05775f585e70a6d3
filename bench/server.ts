/** Starts and stops a server to be measured. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Starts the sandbox that is measured, with a database of its own. */
export const sandboxCommand = [
  'bin/svc.js',
  'start',
  '-o',
  'json',
  '-q',
  '--port',
  '0',
  '--db',
  '{db}',
  '--rate-limit',
  'off',
]

export interface MeasuredServer {
  url: string
  pid: number
  /** Its state directory, removed at the end. */
  home: string
  /** Milliseconds from spawn to the ready line. */
  ready_ms: number
  /** Resident memory, MB. */
  memory(): number
  /** Processor time used so far, milliseconds. */
  cpu(): number
  /** Processor time of the main thread so far, milliseconds with nanosecond resolution. */
  mainThread(): number
  stop(): Promise<void>
}

/** Spawns `script` with a fresh database and waits for its line of JSON with a url. */
export async function startServer(command: readonly string[]): Promise<MeasuredServer> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'))
  const started = performance.now()
  const args = command.map((word) => word.replace('{db}', join(folder, 'sandbox.db')))
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, SVC_HOME: folder },
  })
  const line = await firstLine(child)
  const ready_ms = performance.now() - started
  const { url } = JSON.parse(line) as { url: string }
  return {
    url,
    pid: child.pid!,
    home: folder,
    ready_ms,
    memory: () => residentMemory(child.pid!),
    cpu: () => processorTime(child.pid!),
    mainThread: () =>
      Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6,
    async stop() {
      child.kill('SIGTERM')
      await new Promise((resolve) => child.once('exit', resolve))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    child.once('exit', (code) => reject(new Error(`the server ended with ${code} before it was ready`)))
    child.stdout!.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8')
      if (text.includes('\n')) resolve(text.split('\n')[0]!)
    })
  })
}

/** Resident memory of a process, MB. */
export function residentMemory(pid: number): number {
  const match = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  if (match === null) throw new Error('this system does not report resident memory under /proc')
  return Number(match[1]) / 1024
}

/** User and system time, milliseconds; from /proc, in clock ticks of 10 ms. */
export function processorTime(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}
