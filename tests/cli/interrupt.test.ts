import { expect, test } from 'vitest'
import type { Host, Signal } from '../../src/cli/run/host.ts'
import { startTestCli } from './test-cli.ts'

/** A Host whose signals, clock and forced exits the test controls. */
function interruptible() {
  const handlers = new Set<(signal: Signal) => void>()
  const exits: number[] = []
  let now = 0
  const host: Partial<Host> = {
    now: () => now,
    onSignal(handler) {
      handlers.add(handler)
      return () => handlers.delete(handler)
    },
    keepHeapSmall: () => {},
    compileExpressionsOnce: () => {},
    exitNow: (code) => void exits.push(code),
  }
  const interruptAt = (instant: number, signal: Signal = 'SIGINT') => {
    now = instant
    for (const handler of handlers) handler(signal)
  }
  return { host, exits, interruptAt, handlers }
}

test('the first Ctrl-C ends a command cleanly, with 130', async () => {
  await using cli = await startTestCli()
  const { host, interruptAt, exits, handlers } = interruptible()
  const running = cli.svc('events stream', { host })
  await expect.poll(() => handlers.size).toBe(1)
  interruptAt(1000)
  expect(await running).toEqual({ code: 130, stdout: '', stderr: 'error: Interrupted by SIGINT.\n' })
  expect(exits).toEqual([])
  expect(handlers.size).toBe(0)
})

test('a second one forces the end, unless npm doubled the first', async () => {
  await using cli = await startTestCli()
  const { host, interruptAt, exits, handlers } = interruptible()
  const running = cli.svc('events stream', { host })
  await expect.poll(() => handlers.size).toBe(1)
  interruptAt(1000)
  interruptAt(1099)
  expect(exits).toEqual([])
  interruptAt(1100)
  expect(exits).toEqual([130])
  await running
})
