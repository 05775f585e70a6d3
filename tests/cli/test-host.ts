/** A Host with a fixed clock, for commands that run in the process of a test. */
import { readPidScope } from '#cli/process/proc.ts'
import type { Signal, System, SystemStream } from '#cli/run/system.ts'

/** Counts the random texts, so that no two runs create the same session. */
let randomTexts = 0

/** 2026-01-31T12:00:00.000Z */
export const noon = 1_769_860_800_000

export function testHost(given: Pick<System, 'env' | 'cwd' | 'stdout' | 'stderr'> & { stdin: string }): System {
  return {
    ...given,
    home: '/home/dev',
    platform: process.platform,
    pid: process.pid,
    pid_scope: readPidScope(process.pid),
    program: ['node', 'svc.js'],
    findParent: () => null,
    respondsAt: async () => false,
    describeServer: async () => null,
    node_version: process.versions.node,
    stdin: (async function* () {
      yield new TextEncoder().encode(given.stdin)
    })(),
    closeInput: () => {},
    stdin_is_terminal: false,
    now: () => noon,
    randomText: (length) => String(++randomTexts).padStart(length, '0'),
    onSignal: (_handler: (signal: Signal) => void) => () => {},
    keepHeapSmall: () => {},
    optimizeSooner: () => {},
    exitNow: (code) => {
      throw new Error(`exited with ${code}`)
    },
    isRunning: (pid) => pid === process.pid,
    readProcessStart: async () => null,
    terminate: () => false,
    signal: () => false,
    onExit: () => () => {},
  }
}

export function keptStream(is_terminal: boolean, columns = 80): SystemStream & { text: string } {
  return {
    text: '',
    is_terminal,
    columns,
    write(text) {
      this.text += text
    },
  }
}
