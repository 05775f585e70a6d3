/**
 * Who listens on a port: a running sandbox, or the process that /proc (Linux), lsof (macOS) or netstat (Windows) shows, and
 * what it answers there.
 */

import { readdir, readFile, readlink } from 'node:fs/promises'
import { basename } from 'node:path'
import { isLoopback } from '#foundation/http.ts'
import { readOutput } from '#foundation/programs.ts'
import { findEntry } from '#foundation/table-entry.ts'
import { oneLine } from '#text/terminal.ts'
import type { System } from '../run/system.ts'
import type { Locator } from '../settings/state-directory.ts'
import { readAnswer } from './port-answer.ts'

/** A port of this computer, at a host name without brackets. */
interface TakenPort {
  host: string
  port: number
  /** The running sandboxes that are known. */
  sandboxes: readonly Locator[]
}

/**
 * Resolves to the holder of a port and what it answers there, for the end of a sentence: `pid 4711 (node prism in /srv/api),
 * which answers GET / with 404`. A server counts as a sandbox only when it passes the probe of one.
 */
export async function describeHolder(
  system: Pick<System, 'platform' | 'respondsAt'>,
  { host, port, sandboxes }: TakenPort,
): Promise<string> {
  if (findSandbox(port, sandboxes) !== undefined) return portHolder(port, system.platform, sandboxes)
  const hosts = host === '127.0.0.1' ? [host, '::1'] : [host]
  const holder = await portHolder(port, system.platform, [])
  for (const each of hosts) {
    const url = `http://${each.includes(':') ? `[${each}]` : each}:${port}`
    const answer = await readAnswer(each, port)
    if (answer === null) continue
    if (await system.respondsAt(url))
      return `a sandbox of another user or another SVC_HOME, or svc sandbox record before one: ${holder}`
    return `${holder}, which ${answer}`
  }
  return holder
}

/** Implements `describeServer` of a system: null for a sandbox, for other computers, and where nothing listens. */
export async function describeServer(
  system: Pick<System, 'platform' | 'respondsAt'>,
  url: string,
): Promise<string | null> {
  const { hostname, port, protocol } = new URL(url)
  if (!isLoopback(hostname) || (await system.respondsAt(url))) return null
  const host = hostname.replace(/^\[|\]$/g, '')
  const number = Number(port || (protocol === 'https:' ? 443 : 80))
  const answer = await readAnswer(host, number)
  return answer === null ? null : `${await portHolder(number, system.platform, [])}, which ${answer}`
}

/**
 * Returns `another sandbox, pid 4711, started in /srv/shop`, `pid 4711 (node server.js in /srv/api)`, or `another program` when
 * the system does not show it.
 */
export async function portHolder(port: number, platform: string, sandboxes: readonly Locator[]): Promise<string> {
  const sandbox = findSandbox(port, sandboxes)
  if (sandbox !== undefined) return `another sandbox, pid ${sandbox.pid}${startedIn(sandbox)}`
  const find = findEntry(finders, platform)
  const holder = await find?.(port)
  return holder == null ? 'another program' : oneLine(holder)
}

function findSandbox(port: number, sandboxes: readonly Locator[]): Locator | undefined {
  return sandboxes.find(({ url }) => new URL(url).port === String(port))
}

/** Returns `, started in /srv/shop`; empty for a sandbox whose version has not written it. */
export function startedIn({ folder }: Pick<Locator, 'folder'>): string {
  return folder === undefined ? '' : `, started in ${oneLine(folder)}`
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
    const path = await readlink(`/proc/${pid}/exe`).catch(() => 'unknown')
    const program = basename(path.replace(/ \(deleted\)$/, ''))
    const words = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0')
    const folder = await readlink(`/proc/${pid}/cwd`).catch(() => null)
    return `pid ${pid} (${nameProgram(program, words)}${folder === null ? '' : ` in ${folder}`})`
  }
  return null
}

/** Programs whose name says nothing about what they run. */
const interpreters = /^(node|bun|deno|python|ruby|php|perl)[\d.]*$/i

/**
 * Returns the name of a program; of an interpreter with that of its script: `node prism`. Other words of the command line are
 * left out: they may be secrets.
 */
function nameProgram(program: string, [, ...words]: readonly string[]): string {
  const script = interpreters.test(program) ? words.find((word) => word !== '' && !word.startsWith('-')) : undefined
  return script === undefined ? program : `${program} ${basename(script)}`
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
  if (pid === undefined) return null
  const program = /^c(.+)$/m.exec(text)?.[1] ?? 'unknown'
  const words = readOutput(['ps', '-o', 'args=', '-p', pid]).trim().split(' ')
  const folder = /^n(.+)$/m.exec(readOutput(['lsof', '-a', '-p', pid, '-d', 'cwd', '-Fn']))?.[1]
  return `pid ${pid} (${nameProgram(program, words)}${folder === undefined ? '' : ` in ${folder}`})`
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
