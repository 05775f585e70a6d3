/** Who listens on a port: a running sandbox, or the process that /proc (Linux), lsof (macOS) or netstat (Windows) shows. */

import { readdir, readFile, readlink } from 'node:fs/promises'
import { basename } from 'node:path'
import { readOutput } from '#foundation/programs.ts'
import { findEntry } from '#foundation/table-entry.ts'
import type { Locator } from '../settings/state-directory.ts'

/** Returns `another sandbox, pid 4711`, `pid 4711 (node)`, or `another program` when the system does not show it. */
export async function portHolder(port: number, platform: string, sandboxes: readonly Locator[]): Promise<string> {
  const sandbox = sandboxes.find(({ url }) => new URL(url).port === String(port))
  if (sandbox !== undefined) return `another sandbox, pid ${sandbox.pid}`
  const find = findEntry(finders, platform)
  return (await find?.(port)) ?? 'another program'
}

const finders: Readonly<Record<string, (port: number) => Promise<string | null> | string | null>> = {
  linux: fromProc,
  darwin: fromLsof,
  win32: fromNetstat,
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

function fromLsof(port: number): string | null {
  const text = readOutput(['lsof', '-nP', `-iTCP:${port}`, '-sTCP:LISTEN', '-Fpc'])
  const pid = /^p(\d+)$/m.exec(text)?.[1]
  return pid === undefined ? null : `pid ${pid} (${/^c(.+)$/m.exec(text)?.[1] ?? 'unknown'})`
}

/**
 * Columns of netstat: protocol, local and remote address, state, process id. The state is in the language of the system;
 * a socket that listens has no remote port.
 */
function fromNetstat(port: number): string | null {
  const rows = readOutput(['netstat', '-a', '-n', '-o'])
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
  const holder = rows.find(
    ([protocol, local, remote]) => protocol === 'TCP' && local?.endsWith(`:${port}`) && remote?.endsWith(':0'),
  )
  const pid = holder?.at(-1)
  if (pid === undefined || !/^[1-9]\d*$/.test(pid)) return null
  const [, program = 'unknown'] =
    /^"([^"]+)"/m.exec(readOutput(['tasklist', '/fi', `PID eq ${pid}`, '/fo', 'csv', '/nh'])) ?? []
  return `pid ${pid} (${program})`
}
