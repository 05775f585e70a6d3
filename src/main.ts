/** The real Host. The only file in src/ that touches `process`. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { isSea } from 'node:sea'
import { setFlagsFromString } from 'node:v8'
import type { Host, HostStream, Signal } from './cli/run/host.ts'
import { run } from './program.ts'

const signals: Signal[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

const host: Host = {
  env: process.env,
  cwd: process.cwd(),
  home: homedir(),
  platform: process.platform,
  pid: process.pid,
  // A program in one file, with its runtime inside, has no script.
  program: isSea() ? [process.execPath] : [process.execPath, ...process.argv.slice(1, 2)],
  node_version: process.versions.node,
  stdin: process.stdin,
  closeInput: () => void process.stdin.destroy(),
  stdout: hostStream(process.stdout),
  stderr: hostStream(process.stderr),
  stdin_is_terminal: process.stdin.isTTY === true,
  now: () => Date.now(),
  randomText: (length) =>
    Array.from(randomBytes(length), (byte) => 'abcdefghijklmnopqrstuvwxyz234567'[byte & 31]).join(''),
  onSignal(handler) {
    for (const signal of signals) process.on(signal, handler)
    return () => {
      for (const signal of signals) process.off(signal, handler)
    }
  },
  keepHeapSmall() {
    // Without these the heap grows to several times what is alive before it is collected: 270 MB instead of 165 under load.
    setFlagsFromString('--semi-space-growth-factor=1')
    setFlagsFromString('--heap-growing-percent=80')
  },
  exitNow: (code) => process.exit(code),
  isRunning: (pid) => signalled(pid, 0),
  parentOf,
  terminate: (pid) => signalled(pid, 'SIGTERM'),
  signal: signalled,
  onExit(handler) {
    process.on('exit', handler)
    return () => process.off('exit', handler)
  },
}

process.exitCode = await run(process.argv.slice(2), host)

/** A reader that goes away (`svc ... | head -1`) or a closed terminal is no error of ours. */
function hostStream(stream: NodeJS.WriteStream): HostStream {
  stream.on('error', () => {})
  return {
    write: (text) => void stream.write(text),
    is_terminal: stream.isTTY === true,
    get columns() {
      return stream.columns
    },
    get rows() {
      return stream.rows
    },
  }
}

/** Sends a signal; 0 only asks. A process of another user counts as running. */
function signalled(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** The parent of another process, and any name, only where the system shows them as files. */
function parentOf(pid: number): { pid: number; name: string | null } | null {
  const parent = pid === process.pid ? process.ppid : statusOf(pid)?.parent
  if (parent === undefined) return null
  const status = statusOf(parent)
  if (status !== null) return { pid: parent, name: status.name }
  // On Windows the parent keeps its number when it is gone.
  return signalled(parent, 0) ? { pid: parent, name: null } : null
}

/** `/proc/<pid>/stat` is `pid (name) state parent ...`; the name may hold anything. */
function statusOf(pid: number): { name: string; parent: number } | null {
  try {
    const [, name, parent] = /^\d+ \((.*)\) \S (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? []
    return name === undefined || parent === undefined ? null : { name, parent: Number(parent) }
  } catch {
    return null
  }
}
