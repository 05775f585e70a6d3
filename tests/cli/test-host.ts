/** A Host with a fixed clock, for commands that run in the process of a test. */

import { isGroupRunning, readPidScope, readProcess } from '#cli/process/proc.ts'
import type { Signal, System } from '#cli/run/system.ts'
import type { SystemStream } from '#text/terminal.ts'

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
    readKeys: async () => null,
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

/** The other processes of this computer, for commands that start or end some. */
export const realProcesses: Pick<System, 'isRunning' | 'signal' | 'terminate'> = {
  isRunning(pid) {
    if (!sendSignal(pid, 0)) return false
    return pid < 0 ? isGroupRunning(-pid, process.pid) !== false : readProcess(pid)?.is_zombie !== true
  },
  signal: sendSignal,
  terminate: (pid) => sendSignal(pid, 'SIGTERM'),
}

function sendSignal(pid: number, name: NodeJS.Signals | 0): boolean {
  if (pid === process.pid && name !== 0) throw new Error('The process of the tests must not get a signal.')
  try {
    return process.kill(pid, name)
  } catch {
    return false
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
