import type { ChildProcess } from 'node:child_process'
import { constants } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { endTree, startProgram } from '#foundation/programs.ts'
import { systemHint, systemReason } from '#foundation/system-error.ts'
import { CliError } from '#text/cli-error.ts'
import type { Signal, System } from '../run/system.ts'

/** How long a group may take to end after a signal. */
const endTimeoutMs = 5_000
/** How long killed processes are waited for. Where /proc does not tell, one that nobody reaps looks alive forever. */
const killTimeoutMs = 1_000

/**
 * Another program in its own process group, so that it can be ended with everything it started.
 *
 * The group receives a signal once, and is killed if it has not ended in time. Anything the program leaves running is
 * ended too. When this process itself has to exit, it kills the group first.
 *
 * Windows has no process groups and no signals: there a Ctrl-C reaches every program of the console by itself, and only
 * force ends one. What a program leaves behind when it has ended stays.
 */
export interface ProcessGroup {
  /** Resolves with the program's exit code when the whole group has ended: 128 + n after signal n. */
  readonly ended: Promise<number>
  /** Asks the group to end. */
  end(signal: Signal): void
}

/** Signals that the console of Windows has already sent to the program. */
const consoleSignals: ReadonlySet<Signal | 'SIGKILL'> = new Set<Signal>(['SIGINT', 'SIGHUP'])
/** The exit code of a program of Windows that a Ctrl-C ended: STATUS_CONTROL_C_EXIT. */
const endedByConsole = 0xc000013a

/** Starts a program on this terminal. Throws CliError, or `ended` rejects with it, when it cannot be started. */
export async function startGroup(system: System, words: readonly string[], env: System['env']): Promise<ProcessGroup> {
  const [command = ''] = words
  const isGroup = system.platform !== 'win32'
  const options = { cwd: system.cwd, env, stdio: 'inherit', detached: isGroup } as const
  const child = await startProgram(words, options, system.platform).catch((error: NodeJS.ErrnoException) => {
    throw startFailure(error, command)
  })
  const { pid } = child
  const send = (signal: Signal | 'SIGKILL') => {
    if (pid === undefined) return
    if (isGroup) system.signal(-pid, signal)
    else if (child.exitCode === null && child.signalCode === null && !consoleSignals.has(signal)) endTree(pid, env)
  }
  const isLeft = () => pid !== undefined && system.isRunning(-pid)
  const removeExitHandler = system.onExit(() => send('SIGKILL'))
  let deadline: NodeJS.Timeout | undefined
  const end = (signal: Signal) => {
    send(signal)
    deadline ??= setTimeout(() => send('SIGKILL'), endTimeoutMs)
  }
  const ended = exitCode(child, command)
    .then(async (code) => {
      if (isGroup && isLeft()) {
        end('SIGTERM')
        const limit = AbortSignal.timeout(endTimeoutMs + killTimeoutMs)
        while (isLeft() && !limit.aborted) await sleep(20)
      }
      return code
    })
    .finally(() => {
      clearTimeout(deadline)
      removeExitHandler()
    })
  return { ended, end }
}

function exitCode(child: ChildProcess, command: string): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) => reject(startFailure(error, command)))
    child.once('exit', (code, signal) => {
      resolve(code === endedByConsole ? codeOfSignal('SIGINT') : (code ?? codeOfSignal(signal as NodeJS.Signals)))
    })
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
  const message = `${command} cannot be started: ${systemReason(error)}.`
  return new CliError('usage', 'program_failed', message, systemHint(String(error.code)))
}
