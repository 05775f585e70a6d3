/**
 * Another program, run in a process group of its own, so that it can be ended with everything it started.
 *
 * The group is told of a signal once, and killed when it has not ended in time. What the program leaves running behind
 * it is ended too. When this process itself is made to exit, the group is killed on the way out. On Windows, which has
 * no process groups, all of this is about the program alone.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { constants } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { CliError } from '../run/errors.ts'
import type { Host, Signal } from '../run/host.ts'

/** How long a group may take to end after a signal. */
const endWithinMs = 5_000

export interface ProcessGroup {
  /** Resolves when nothing of the group runs any more, with the program's exit code: 128 + n after signal n. */
  readonly ended: Promise<number>
  /** Asks the group to end. */
  end(signal: Signal): void
}

/**
 * Starts a program on the terminal of this one. `ended` rejects with CliError when there is no such program.
 * @throws CliError when the system refuses to start one at all
 */
export function startGroup(host: Host, [command = '', ...args]: readonly string[], env: Host['env']): ProcessGroup {
  const isGroup = host.platform !== 'win32'
  const child = started(
    () => spawn(command, args, { cwd: host.cwd, env, stdio: 'inherit', detached: isGroup }),
    command,
  )
  const id = child.pid === undefined ? null : isGroup ? -child.pid : child.pid
  const send = (signal: Signal | 'SIGKILL' | 0) => id !== null && host.signal(id, signal)
  const forgetExit = host.onExit(() => send('SIGKILL'))
  let deadline: NodeJS.Timeout | undefined
  const end = (signal: Signal) => {
    send(signal)
    deadline ??= setTimeout(() => send('SIGKILL'), endWithinMs)
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
      forgetExit()
    })
  return { ended, end }
}

/** The system tells of a missing program later, of most other obstacles at once. */
function started(start: () => ChildProcess, command: string): ChildProcess {
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

/** What a shell makes of a program that signal n ended: 128 + n. */
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
    return new CliError(
      'usage',
      'program_not_executable',
      `${command} may not be executed.`,
      `Try: chmod +x ${command}`,
    )
  return new CliError('unexpected', 'program_failed', `${command} cannot be started: ${error.message}.`)
}
