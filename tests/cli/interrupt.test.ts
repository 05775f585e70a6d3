import { expect, test } from 'vitest'
import type { Signal, System } from '#cli/run/system.ts'
import { spawnSvc } from './process.ts'
import { startTestCli, temporaryDirectory } from './test-cli.ts'

/** A Host whose signals, clock and forced exits the test controls. */
function interruptible() {
  const handlers = new Set<(signal: Signal) => void>()
  const exits: number[] = []
  let now = 0
  const system: Partial<System> = {
    now: () => now,
    onSignal(handler) {
      handlers.add(handler)
      return () => handlers.delete(handler)
    },
    keepHeapSmall: () => {},
    optimizeSooner: () => {},
    exitNow: (code) => void exits.push(code),
  }
  const interruptAt = (instant: number, signal: Signal = 'SIGINT') => {
    now = instant
    for (const handler of handlers) handler(signal)
  }
  return { system, exits, interruptAt, handlers }
}

test.for(['events stream', 'callbacks listen --port 0 -q', 'requests tail', 'beacons tail', 'sandbox logs'])(
  'the first Ctrl-C ends svc %s cleanly and without a word, with 130',
  async (line) => {
    await using cli = await startTestCli()
    const { system, interruptAt, exits, handlers } = interruptible()
    const running = cli.svc(line, { system })
    await expect.poll(() => handlers.size).toBe(1)
    interruptAt(1000)
    expect(await running).toEqual({ code: 130, stdout: '', stderr: '' })
    expect(exits).toEqual([])
    expect(handlers.size).toBe(0)
  },
)

test('a second one forces the end, unless npm doubled the first', async () => {
  await using cli = await startTestCli()
  const { system, interruptAt, exits, handlers } = interruptible()
  const running = cli.svc('events stream', { system })
  await expect.poll(() => handlers.size).toBe(1)
  interruptAt(1000)
  interruptAt(1099)
  expect(exits).toEqual([])
  interruptAt(1100)
  expect(exits).toEqual([130])
  await running
})

test('a stream that the sandbox ends is reported, and is no failure', async () => {
  await using cli = await startTestCli()
  const { system, handlers } = interruptible()
  const running = cli.svc('events stream', { system })
  await expect.poll(() => handlers.size).toBe(1)
  await cli.sandbox.close()
  expect(await running).toEqual({ code: 0, stdout: '', stderr: 'The sandbox ended the stream.\n' })
})

test('a terminal shows that a command waits for events, and a pipe does not', async () => {
  await using cli = await startTestCli()
  const { system, interruptAt, handlers } = interruptible()
  const running = cli.svc('events stream', { system, isTerminal: true, env: { NO_COLOR: '1' } })
  await expect.poll(() => handlers.size).toBe(1)
  interruptAt(1000)
  expect(await running).toEqual({ code: 130, stdout: '', stderr: 'Following events. Ctrl-C ends it.\n' })
})

test.for(['start --port 0 --ephemeral', 'qa observe', 'exec -- sleep 60'])(
  'a Ctrl-C that comes while svc %s is loaded ends it too',
  async (line) => {
    await using cli = await startTestCli()
    const onSignal = (handler: (signal: Signal) => void) => {
      handler('SIGINT')
      return () => {}
    }
    const { code } = await cli.svc(line, { system: { onSignal, keepHeapSmall: () => {}, optimizeSooner: () => {} } })
    // What observed nothing has judged nothing.
    expect(code).toBe({ start: 0, qa: 5, exec: 130 }[line.split(' ')[0]!])
  },
)

test.for([
  // A terminal that closes ends what it started; a server without one goes on, like those of nohup.
  { isTerminal: true, by: 'SIGHUP' },
  { isTerminal: false, by: 'SIGTERM' },
])('svc start: $by ends it with isTerminal $isTerminal', async ({ isTerminal, by }) => {
  await using cli = await startTestCli()
  const onSignal = (handler: (signal: Signal) => void) => {
    handler('SIGHUP')
    setTimeout(() => handler('SIGTERM'), 50)
    return () => {}
  }
  const system = { onSignal, keepHeapSmall: () => {}, optimizeSooner: () => {} }
  const { code, stderr } = await cli.svc('start --port 0 --ephemeral', { system, isTerminal })
  expect([code, stderr]).toEqual([0, expect.stringContaining(`${by}: stopping`)])
})

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
