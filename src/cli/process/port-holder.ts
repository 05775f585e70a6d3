/** Who listens on a port: a running sandbox, or the process that /proc (Linux) or lsof (macOS) shows. */
import { execFile } from 'node:child_process'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { basename } from 'node:path'
import { promisify } from 'node:util'
import type { Locator } from '../settings/state-directory.ts'

/** Returns `another sandbox, pid 4711`, `pid 4711 (node)`, or `another program` when the system does not show it. */
export async function portHolder(port: number, platform: string, sandboxes: readonly Locator[]): Promise<string> {
  const sandbox = sandboxes.find(({ url }) => new URL(url).port === String(port))
  if (sandbox !== undefined) return `another sandbox, pid ${sandbox.pid}`
  const holder = platform === 'linux' ? await fromProc(port) : platform === 'darwin' ? await fromLsof(port) : null
  return holder ?? 'another program'
}

async function fromProc(port: number): Promise<string | null> {
  const inodes = (
    await Promise.all(['/proc/net/tcp', '/proc/net/tcp6'].map((path) => listeningInodes(path, port)))
  ).flat()
  if (inodes.length === 0) return null
  const sockets = new Set(inodes.map((inode) => `socket:[${inode}]`))
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  for (const pid of pids) {
    const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => [])
    const targets = await Promise.all(descriptors.map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')))
    if (!targets.some((target) => sockets.has(target))) continue
    // The name of the executable: `comm` is the name of the main thread, which current versions of Node call
    // node-MainThread.
    const program = await readlink(`/proc/${pid}/exe`).catch(() => 'unknown')
    return `pid ${pid} (${basename(program.replace(/ \(deleted\)$/, ''))})`
  }
  return null
}

/** Returns the inodes of the sockets that listen on a port. Columns: number, local and remote address, state, ..., inode. */
async function listeningInodes(path: string, port: number): Promise<string[]> {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const lines = (await readFile(path, 'utf8').catch(() => '')).split('\n').slice(1)
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter((columns) => columns[1]?.endsWith(suffix) && columns[3] === '0A')
    .flatMap((columns) => columns[9] ?? [])
}

async function fromLsof(port: number): Promise<string | null> {
  const { stdout } = await promisify(execFile)('lsof', ['-nP', `-iTCP:${port}`, '-sTCP:LISTEN', '-Fpc'], {
    timeout: 2000,
  }).catch(() => ({ stdout: '' }))
  const pid = /^p(\d+)$/m.exec(stdout)?.[1]
  return pid === undefined ? null : `pid ${pid} (${/^c(.+)$/m.exec(stdout)?.[1] ?? 'unknown'})`
}
