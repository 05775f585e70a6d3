/**
 * This program in the background: `svc start --detach` runs `svc start -o json` with its stderr in a log file, and waits
 * for its one line. A process that is not ready in time is ended. The error that it logs is thrown here.
 */

import type { ChildProcess, SpawnOptions } from 'node:child_process'
import { appendFileSync, closeSync, openSync, readFileSync, rmSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createPrivate } from '#foundation/file-system.ts'
import { hasTypes, parseJsonObject } from '#foundation/json.ts'
import { startProgram } from '#foundation/programs.ts'
import type { Failure } from '#text/cli-error.ts'
import { CliError } from '#text/cli-error.ts'
import { formatTime } from '#text/text.ts'
import type { System } from '../run/system.ts'
import { createStateDirectory, stateFailure } from '../settings/state-directory.ts'

/** Starting takes well under a second; migrating a large database takes longer. */
const readyTimeoutMs = 60_000
/** The sandbox itself takes at most 5 s to finish open requests. */
const endTimeoutMs = 6_000
const logsKept = 10

interface Background {
  /** The first line on stdout. */
  line: string
  /** The lines on stderr up to then. */
  notes: string[]
  log_file: string
}

/**
 * Starts `svc WORDS`. Throws CliError with the error that the process itself reported, or because it was not ready in
 * time.
 */
export async function startInBackground(
  system: System,
  words: readonly string[],
  { directory, signal, variables = {} }: { directory: string; signal: AbortSignal; variables?: Record<string, string> },
): Promise<Background> {
  const log_file = await newLogFile(system, directory)
  createPrivate(log_file)
  const log = openSync(log_file, 'a')
  const options: SpawnOptions = {
    cwd: system.cwd,
    // It outlives npm, so it must not watch npm as a script does.
    env: { ...system.env, ...variables, npm_lifecycle_event: undefined },
    stdio: ['ignore', 'pipe', log],
    detached: true,
    windowsHide: true,
  }
  const child = await startProgram([...system.program, ...words], options, system.platform).finally(() =>
    closeSync(log),
  )
  const removeExitHandler = system.onExit(() => child.kill('SIGKILL'))
  try {
    const line = await firstLine(child, AbortSignal.any([signal, AbortSignal.timeout(readyTimeoutMs)]))
    child.stdout?.destroy()
    child.unref()
    return { line, notes: readLines(log_file), log_file }
  } catch (error) {
    await end(child)
    signal.throwIfAborted()
    throw explainFailure(error, log_file)
  } finally {
    removeExitHandler()
  }
}

class Ended extends Error {}

function firstLine(child: ChildProcess, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      if (text.includes('\n')) resolve(text.slice(0, text.indexOf('\n')))
    })
    child.once('error', reject)
    child.once('close', (code, by) => reject(new Ended(by === null ? `exit code ${code}` : by)))
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

/** Ends a process, by force if it does not end in time. */
async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), endTimeoutMs)
  await ended
  clearTimeout(timer)
}

/**
 * Returns the failure that the process logged. A log file without a failure stays, unless it is empty: then the process
 * logged nothing, or the disk was full.
 */
function explainFailure(error: unknown, log_file: string): unknown {
  if (!(error instanceof Ended)) {
    return error instanceof Error && error.name === 'TimeoutError'
      ? new CliError(
          'unreachable',
          'start_timeout',
          `The sandbox was not ready within ${readyTimeoutMs / 1000} s, so it was ended.`,
          `See ${log_file}.`,
        )
      : error
  }
  const lines = readLines(log_file)
  for (const line of lines.toReversed()) {
    const reported = parseJsonObject(line)?.error
    const types = { category: 'string', code: 'string', message: 'string', hint: 'string|null' }
    if (!hasTypes<Pick<Failure, 'category' | 'code' | 'message' | 'hint'>>(reported, types)) continue
    rmSync(log_file, { force: true })
    return new CliError(reported.category, reported.code, reported.message, reported.hint)
  }
  const message = `The sandbox ended before it was ready: ${error.message}.`
  if (lines.length > 0) return new CliError('unexpected', 'start_failed', message, `See ${log_file}.`)
  try {
    appendFileSync(log_file, `${message}\n`)
  } catch (problem) {
    return stateFailure(log_file, problem)
  } finally {
    rmSync(log_file, { force: true })
  }
  const hint = 'It logged nothing. The same command without --detach may show more.'
  return new CliError('unexpected', 'start_failed', message, hint)
}

function readLines(log_file: string): string[] {
  return readFileSync(log_file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
}

/** Returns `logs/2026-01-31T12-00-00-000Z-4711.log` in a folder of the state directory, and removes the oldest logs there. */
async function newLogFile(system: System, parent: string): Promise<string> {
  const directory = join(parent, 'logs')
  createStateDirectory(directory)
  const logs = (await readdir(directory)).filter((name) => name.endsWith('.log')).toSorted()
  for (const name of logs.slice(0, Math.max(0, logs.length - logsKept + 1)))
    rmSync(join(directory, name), { force: true })
  return join(directory, `${formatTime(system.now()).replace(/[:.]/g, '-')}-${system.pid}.log`)
}
