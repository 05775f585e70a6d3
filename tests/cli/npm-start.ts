/** `npm start`, as a shell with job control runs it, and what it may leave behind. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { root } from './process.ts'
import { svc, temporaryDirectory } from './test-cli.ts'

export interface Started {
  home: string
  /** The process of npm, and the head of the group that a terminal would signal. */
  npm: number
  /** The process of the sandbox. */
  pid: number
  url: string
  /** Resolves with stderr when every process that could write to it has ended. */
  ended: Promise<string>
}

/** Runs `npm start` as the leader of its own process group, like a shell with job control. */
export async function npmStart(...flags: string[]): Promise<Started> {
  const home = temporaryDirectory()
  const words = ['start', '--silent', '--', '--port', '0', '-o', 'json', ...flags]
  const npm = spawn('npm', words, {
    cwd: root,
    env: { PATH: process.env.PATH, HOME: home, SVC_HOME: home, npm_config_update_notifier: 'false' },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  let stdout = ''
  let stderr = ''
  const { promise: hasLine, resolve } = Promise.withResolvers<void>()
  npm.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString()
    if (stdout.includes('\n')) resolve()
  })
  npm.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
  })
  const closed = once(npm, 'close')
  // Before it is ready as well: what started late is ended with its group.
  onTestFinished(() => killed(-npm.pid!))
  await Promise.race([hasLine, closed])
  expect(stdout, stderr).toContain('\n')
  const { pid, url } = JSON.parse(stdout) as { pid: number; url: string }
  onTestFinished(() => killed(pid))
  return { home, npm: npm.pid!, pid, url, ended: closed.then(() => stderr) }
}

export async function isGone({ home, pid, npm, url }: Started): Promise<void> {
  await expect.poll(() => isRunning(pid) || isRunning(-npm)).toBe(false)
  expect(readdirSync(home, { recursive: true }).filter((path) => `${path}`.endsWith('sandbox.db'))).toHaveLength(1)
  const listed = await svc('sandbox ps -o json', { env: { SVC_HOME: home }, system: { isRunning } })
  expect(listed).toMatchObject({ code: 0, stdout: '[]\n' })
  expect(readdirSync(join(home, 'sandboxes'))).toEqual([])
  // Not by listening there: a connection of another test may have the port as its own end.
  const [error] = await once(connect(Number(new URL(url).port), '127.0.0.1'), 'error')
  expect(error).toMatchObject({ code: 'ECONNREFUSED' })
}

export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

export function killed(pid: number): void {
  if (isRunning(pid)) process.kill(pid, 'SIGKILL')
}
