/** `svc start` as a process, under parents and limits of the computer. */
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readProcess } from '#cli/process/proc.ts'
import { spawnSvc } from '#tests/cli/process.ts'
import { openScript } from '#tests/cli/script-terminal.ts'
import { type Terminal, usualSize } from '#tests/cli/terminal.ts'
import { temporaryDirectory } from '#tests/temporary.ts'

test('svc start that nohup started goes on when its terminal closes', async () => {
  const home = temporaryDirectory()
  const sandbox = spawnSvc(['start', '--ephemeral', '--port', '0', '-o', 'json'], { SVC_HOME: home }, home, ['nohup'])
  const { url } = JSON.parse(await sandbox.firstLine) as { url: string }
  sandbox.child.kill('SIGHUP')
  sandbox.child.kill('SIGHUP')
  expect((await fetch(`${url}/_sandbox/livez`)).status).toBe(200)
  sandbox.child.kill('SIGTERM')
  expect(await sandbox.ended).toMatchObject({ code: 0, stderr: expect.stringContaining('SIGTERM: stopping') })
})

describe('on a terminal', () => {
  const args = 'start --ephemeral --port 0'
  const started = async (words: string, has_jobs: boolean, env: Record<string, string> = {}) => {
    const terminal = await openScript(
      words,
      { SVC_HOME: temporaryDirectory(), ...env },
      { ...usualSize, rows: 60, has_jobs },
    )
    onTestFinished(terminal.close)
    return terminal
  }
  const text = (terminal: Terminal) => terminal.lines().join('\n')

  test('o opens the demo; Ctrl-Z, fg and Ctrl-C do what they do elsewhere, and the terminal is as it was', async () => {
    const programs = temporaryDirectory()
    const opened = join(programs, 'opened')
    writeFileSync(join(programs, 'xdg-open'), `#!/bin/sh\necho "$1" >> "${opened}"\n`, { mode: 0o755 })
    const terminal = await started(args, true, { PATH: `${programs}:${process.env.PATH}`, BROWSER: 'one' })
    await expect.poll(() => text(terminal)).toContain('o opens the demo in your browser, Ctrl-C stops the sandbox.')
    terminal.type('xo')
    await expect.poll(() => text(terminal)).toContain('Opened in the browser.')
    expect(readFileSync(opened, 'utf8')).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/_sandbox\/demo\n$/)
    terminal.type('\u001a')
    await expect.poll(() => text(terminal)).toMatch(/stopped 14[0-9]/)
    await expect.poll(() => text(terminal)).toMatch(/ icanon/)
    terminal.type('\n')
    await expect.poll(() => readProcess(terminal.pid())?.foreground_group).toBe(readProcess(terminal.pid())?.group)
    terminal.type('o')
    await expect.poll(() => readFileSync(opened, 'utf8').split('\n')).toHaveLength(3)
    terminal.type('\u0003')
    await expect.poll(() => text(terminal)).toContain('SIGINT: stopping')
    await expect.poll(() => text(terminal)).toMatch(/code 0[\s\S]* icanon/)
  })

  test('in the background it reads no keys, so that nothing stops it', async () => {
    const terminal = await started(`${args} & jobs_pid=$!; read -r _; kill -TERM $jobs_pid; wait $jobs_pid`, false)
    await expect.poll(() => text(terminal)).toContain('Ctrl-C stops it.')
    terminal.type('o\n')
    await expect.poll(() => text(terminal)).toContain('code 0')
    expect(text(terminal)).not.toContain('browser')
  })
})

/** Sends a GET on the one connection of the agent, or on one of its own. */
function get(url: string, on?: Agent): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent: on ?? false }, async (response) => {
      let text = ''
      for await (const chunk of response) text += chunk
      resolve({ status: response.statusCode ?? 0, text })
    })
    sent.on('error', reject).end()
  })
}

const limitTest = process.platform === 'win32' ? null : test

limitTest?.(
  'with a low limit of descriptors it warns once, is not ready, and goes on when connections close',
  async () => {
    const limited = ['sh', '-c', 'ulimit -n 64; exec "$@"', 'sh']
    const words = ['start', '--ephemeral', '--port', '0', '-o', 'json']
    const sandbox = spawnSvc(words, { SVC_HOME: temporaryDirectory() }, undefined, limited)
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const sockets: Socket[] = []
    onTestFinished(async () => {
      agent.destroy()
      for (const socket of sockets) socket.destroy()
      sandbox.child.kill('SIGTERM')
      await sandbox.ended
    })
    let stderr = ''
    sandbox.child.stderr?.on('data', (chunk) => {
      stderr += chunk
    })
    const { url } = JSON.parse(await sandbox.firstLine) as { url: string }
    expect((await get(`${url}/_sandbox/readyz`, agent)).status).toBe(200)
    for (let count = 0; count < 80; count++) {
      const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {})
      sockets.push(socket)
      await once(socket, 'connect')
    }
    const warning =
      'warning: connections are closed without a response: this process has too many files and connections open'
    await expect.poll(() => stderr).toContain(warning)
    const refused = await get(`${url}/_sandbox/readyz`, agent)
    expect(refused.status).toBe(503)
    expect(JSON.parse(refused.text)).toMatchObject({ message: expect.stringContaining('cannot accept connections') })
    expect((await get(`${url}/_sandbox/info`, agent)).text).toContain('connections are closed without a response')
    for (const socket of sockets) socket.destroy()
    const readiness = () =>
      get(`${url}/_sandbox/readyz`).then(
        ({ status }) => status,
        () => 0,
      )
    await expect.poll(readiness).toBe(200)
    expect((await get(`${url}/_sandbox/info`)).text).not.toContain('connections are closed')
    expect(stderr.split('connections are closed')).toHaveLength(2)
  },
)
