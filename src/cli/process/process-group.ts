/**
 * Another program in a process group of its own, so that it can be ended with everything it started.
 *
 * The group receives a signal once, and is killed when it has not ended in time. What the program leaves running is ended
 * too. When this process itself has to exit, it kills the group first. On Windows, which has no process groups, all of
 * this applies to the program only.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { constants } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { CliError } from '../run/errors.ts'
import type { Host, Signal } from '../run/host.ts'

/** How long a group may take to end after a signal. */
const endTimeout_ms = 5_000

export interface ProcessGroup {
  /** Resolves with the program's exit code when the whole group has ended: 128 + n after signal n. */
  readonly ended: Promise<number>
  /** Asks the group to end. */
  end(signal: Signal): void
}

/** Starts a program on this terminal. Throws CliError, or `ended` rejects with it, when it cannot be started. */
export function startGroup(host: Host, [command = '', ...args]: readonly string[], env: Host['env']): ProcessGroup {
  const isGroup = host.platform !== 'win32'
  const child = spawnOrThrow(
    () => spawn(command, args, { cwd: host.cwd, env, stdio: 'inherit', detached: isGroup }),
    command,
  )
  const id = child.pid === undefined ? null : isGroup ? -child.pid : child.pid
  const send = (signal: Signal | 'SIGKILL' | 0) => id !== null && host.signal(id, signal)
  const removeExitHandler = host.onExit(() => send('SIGKILL'))
  let deadline: NodeJS.Timeout | undefined
  const end = (signal: Signal) => {
    send(signal)
    deadline ??= setTimeout(() => send('SIGKILL'), endTimeout_ms)
  }
  const ended = exitCode(child, command)
    .then(async (code) => {
      if (isGroup && send(0)) {
        end('SIGTERM')
        while (send(0)) await sleep(20)
      }
      return code
    })
    .finally(() => {
      clearTimeout(deadline)
      removeExitHandler()
    })
  return { ended, end }
}

/** Some obstacles are thrown at once; a missing program is an event later. */
function spawnOrThrow(start: () => ChildProcess, command: string): ChildProcess {
  try {
    return start()
  } catch (error) {
    throw startFailure(error as NodeJS.ErrnoException, command)
  }
}

function exitCode(child: ChildProcess, command: string): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) => reject(startFailure(error, command)))
    child.once('exit', (code, signal) => resolve(code ?? codeOfSignal(signal as NodeJS.Signals)))
  })
}

/** Returns the exit code of a program that signal n ended, as shells do: 128 + n. */
export function codeOfSignal(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal]
}

function startFailure(error: NodeJS.ErrnoException, command: string): CliError {
  if (error.code === 'ENOENT')
    return new CliError(
      'usage',
      'program_missing',
      `There is no program ${command}.`,
      'Is it installed, and on the PATH?',
    )
  if (error.code === 'EACCES')
    return new CliError('usage', 'program_not_executable', `${command} is not executable.`, `Try: chmod +x ${command}`)
  return new CliError('unexpected', 'program_failed', `${command} cannot be started: ${error.message}.`)
}
