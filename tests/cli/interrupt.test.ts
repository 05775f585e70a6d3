/** What a Ctrl-C and other signals do to each kind of command. Those of real processes are in start, exec and tests/processes. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Signal, System } from '#cli/run/system.ts'
import { follow } from './follow.ts'
import { startTestCli, type TestCli, temporaryDirectory } from './test-cli.ts'

let cli: TestCli
beforeAll(async () => {
  cli = await startTestCli()
})
afterAll(() => cli?.[Symbol.asyncDispose]())

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
    exitNow: (code) => void exits.push(code),
  }
  const interruptAt = (instant: number, signal: Signal = 'SIGINT') => {
    now = instant
    for (const handler of handlers) handler(signal)
  }
  return { system, exits, interruptAt, handlers }
}

test.for(['sandbox events', 'sandbox callbacks listen --port 0 -q', 'sandbox logs', 'beacons tail', 'sandbox logs'])(
  'the first Ctrl-C ends svc %s cleanly and without a word, with 130',
  async (line) => {
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
  const { system, interruptAt, exits, handlers } = interruptible()
  const running = cli.svc('sandbox events', { system })
  await expect.poll(() => handlers.size).toBe(1)
  interruptAt(1000)
  interruptAt(1099)
  expect(exits).toEqual([])
  interruptAt(1100)
  expect(exits).toEqual([130])
  await running
})

/** `sandbox events` in a terminal, when it has said that it waits; in a pipe it says nothing. */
async function followEvents(home: string) {
  const following = follow('sandbox events', { isTerminal: true, env: { SVC_HOME: home, NO_COLOR: '1' } })
  await expect.poll(following.stderr).toBe('Following events. Ctrl-C ends it.\n')
  return following
}

test('a terminal shows that a command waits for events', async () => {
  const following = await followEvents(cli.home)
  following.signal()
  expect(await following.ended).toMatchObject({ code: 130, stdout: '' })
})

test('a stream that the sandbox ends is reported, and is no failure', async () => {
  await using own = await startTestCli()
  const following = await followEvents(own.home)
  await own.sandbox.close()
  const stderr = expect.stringMatching(/\nThe sandbox ended the stream\.\n$/)
  expect(await following.ended).toEqual({ code: 0, stdout: '', stderr })
})

test.for(['start --port 0 --ephemeral', 'observe', 'exec -- sleep 60'])(
  'a Ctrl-C that comes while svc %s is loaded ends it too',
  async (line) => {
    const onSignal = (handler: (signal: Signal) => void) => {
      handler('SIGINT')
      return () => {}
    }
    const { code } = await cli.svc(line, { system: { onSignal } })
    // What observed nothing has judged nothing.
    expect(code).toBe({ start: 0, observe: 5, exec: 130 }[line.split(' ')[0]!])
  },
)

test.for([
  // A terminal that closes ends what it started; a server without one goes on, like those of nohup.
  { isTerminal: true, by: 'SIGHUP' },
  { isTerminal: false, by: 'SIGTERM' },
])('svc start: $by ends it with isTerminal $isTerminal', async ({ isTerminal, by }) => {
  await using sandbox = follow('start --port 0 --ephemeral', { isTerminal, env: { SVC_HOME: temporaryDirectory() } })
  await sandbox.firstLine
  sandbox.signal('SIGHUP')
  sandbox.signal('SIGTERM')
  expect(await sandbox.ended).toMatchObject({ code: 0, stderr: expect.stringContaining(`${by}: stopping`) })
})
