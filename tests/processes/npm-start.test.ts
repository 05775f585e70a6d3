/** Ways to end `npm start`, and what outlives it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { isGone, isRunning, killed, npmStart, type Started } from '#tests/cli/npm-start.ts'
import { root, spawnSvc } from '#tests/cli/process.ts'
import { temporaryDirectory } from '#tests/temporary.ts'

describe('npm start leaves nothing behind', () => {
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
    // One that comes at once is the first, doubled by npm.
    await expect.poll(() => interrupt(started) && isRunning(started.pid)).toBe(false)
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
    const shell = findParent(started.pid)
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
  expect((await fetch(`${url}/_sandbox/readyz`)).status).toBe(200)
  process.kill(pid, 'SIGTERM')
  await expect.poll(() => isRunning(pid)).toBe(false)
  expect(readFileSync(join(home, 'err'), 'utf8')).toBe('SIGTERM: stopping\nstopped\n')
})

/** Ctrl-C; false when everything has ended. */
function interrupt({ npm }: Started): boolean {
  try {
    return process.kill(-npm, 'SIGINT')
  } catch {
    return false
  }
}

function findParent(pid: number): number {
  return Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1])
}
