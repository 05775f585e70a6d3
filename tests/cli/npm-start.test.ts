/** `npm start` and every way to end it: no process is left, the locator is removed, the port is free. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { root, spawnSvc } from './process.ts'
import { temporaryDirectory } from './test-cli.ts'

interface Started {
  home: string
  /** The process of npm, and the head of the group that a terminal would signal. */
  npm: number
  /** The process of the sandbox. */
  pid: number
  url: string
  /** Resolves with stderr when every process that could write to it has ended. */
  ended: Promise<string>
}

describe('npm start leaves nothing behind', () => {
  test('after Ctrl-C, which a terminal sends to npm and to the sandbox alike', async () => {
    const started = await npmStart()
    process.kill(-started.npm, 'SIGINT')
    expect(await started.ended).toBe('SIGINT: stopping\nstopped\n')
    await isGone(started)
  })

  test('after Ctrl-C twice', async () => {
    const started = await npmStart()
    const { hostname, port } = new URL(started.url)
    // A request that never ends delays the clean stop, so that the second Ctrl-C arrives during it.
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    await once(socket, 'connect')
    const headers = `Host: ${hostname}:${port}\r\nContent-Length: 9\r\nExpect: 100-continue\r\n`
    socket.write(`POST /v1/placements HTTP/1.1\r\n${headers}\r\n`)
    expect(String(await once(socket, 'data'))).toContain('100 Continue')
    process.kill(-started.npm, 'SIGINT')
    await expect.poll(() => fetch(started.url).catch(() => null)).toBeNull()
    await new Promise((resolve) => setTimeout(resolve, 150))
    process.kill(-started.npm, 'SIGINT')
    expect(await started.ended).toBe('SIGINT: stopping\n')
    await isGone(started)
  })

  test.each(['SIGTERM', 'SIGKILL', 'SIGHUP'] as const)('after %s of npm only', async (signal) => {
    const started = await npmStart()
    process.kill(started.npm, signal)
    expect(await started.ended).toMatch(/: stopping\nstopped\n$/)
    await isGone(started)
  })

  test('after the shell between npm and the sandbox was killed', async () => {
    const started = await npmStart()
    const shell = parentOf(started.pid)
    expect(shell).not.toBe(started.npm)
    process.kill(shell, 'SIGKILL')
    expect(await started.ended).toContain(
      `The process that started this one (pid ${shell}) has ended.\nSIGHUP: stopping\n`,
    )
    await isGone(started)
  })
})

test('a sandbox that npm starts with --detach outlives npm, and svc sandbox stop ends it', async () => {
  const started = await npmStart('--detach')
  // On a busy machine it prints that it waits.
  expect((await started.ended).replace(/^waiting .*\n/m, '')).toBe('')
  expect(isRunning(started.npm)).toBe(false)
  // Longer than the watch takes to notice that npm has ended.
  await new Promise((resolve) => setTimeout(resolve, 1_200))
  expect((await fetch(`${started.url}/_sandbox/readyz`)).status).toBe(200)
  expect(await spawnSvc(['sandbox', 'stop', '-q'], { SVC_HOME: started.home }).ended).toMatchObject({ code: 0 })
  await isGone(started)
})

test('a sandbox that a shell started outlives that shell, npm or not', async () => {
  const home = temporaryDirectory()
  const words = `"${process.execPath}" "${join(root, 'bin/svc.js')}" start --port 0 -o json > "${home}/out" 2> "${home}/err" &`
  await once(spawn('sh', ['-c', words], { env: { PATH: process.env.PATH, SVC_HOME: home }, stdio: 'ignore' }), 'exit')
  await expect.poll(() => readFileSync(join(home, 'out'), 'utf8')).toContain('\n')
  const { pid, url } = JSON.parse(readFileSync(join(home, 'out'), 'utf8')) as { pid: number; url: string }
  onTestFinished(() => killed(pid))
  await new Promise((resolve) => setTimeout(resolve, 1_200))
  expect((await fetch(`${url}/_sandbox/readyz`)).status).toBe(200)
  process.kill(pid, 'SIGTERM')
  await expect.poll(() => isRunning(pid)).toBe(false)
  expect(readFileSync(join(home, 'err'), 'utf8')).toBe('SIGTERM: stopping\nstopped\n')
})

/** Runs `npm start` as the leader of its own process group, like a shell with job control. */
async function npmStart(...flags: string[]): Promise<Started> {
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
  npm.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString()
  })
  npm.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
  })
  const closed = once(npm, 'close')
  // Before it is ready as well: what started late is ended with its group.
  onTestFinished(() => killed(-npm.pid!))
  // Npm, the check of the build and the start: 30 seconds are not enough for them beside twenty other processes.
  await expect.poll(() => stdout, { timeout: 90_000, message: stderr }).toContain('\n')
  const { pid, url } = JSON.parse(stdout) as { pid: number; url: string }
  onTestFinished(() => killed(pid))
  return { home, npm: npm.pid!, pid, url, ended: closed.then(() => stderr) }
}

async function isGone({ home, pid, npm, url }: Started): Promise<void> {
  await expect.poll(() => isRunning(pid) || isRunning(-npm)).toBe(false)
  expect(existsSync(join(home, 'sandbox.db'))).toBe(true)
  const listed = await spawnSvc(['sandbox', 'ps', '-o', 'json'], { SVC_HOME: home }).ended
  expect(listed).toMatchObject({ code: 0, stdout: '[]\n' })
  expect(readdirSync(join(home, 'sandboxes'))).toEqual([])
  // Not by listening there: a connection of another test may have the port as its own end.
  const [error] = await once(connect(Number(new URL(url).port), '127.0.0.1'), 'error')
  expect(error).toMatchObject({ code: 'ECONNREFUSED' })
}

function parentOf(pid: number): number {
  return Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1])
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

function killed(pid: number): void {
  if (isRunning(pid)) process.kill(pid, 'SIGKILL')
}
