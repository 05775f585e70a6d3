/**
 * Checks beacons that an agent sends on a thread: the sandbox keeps serving requests, and a text
 * that takes too long is given up.
 */

import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Times } from '#diagnosis/facts/beacon-file.ts'
import type { LintReport } from '#diagnosis/lint.ts'
import { readErrorCode } from '#foundation/system-error.ts'
import { CliError } from '#text/cli-error.ts'

export interface LintWork {
  text: string
  times: Times
}

/** The report of a text, with its first findings. */
export interface CheckedBeacons extends LintReport {
  /** How many more findings there are. */
  left_off?: number
}

/** Far more than the largest text takes, which is a second. Processor time: a busy computer takes longer. */
const maxLintMs = 20_000
/** Time between two looks at it. */
const lookEveryMs = 200
const maxHeapMb = 512

/** A path: the single binary finds its own files by path only. */
const workerPath = join(import.meta.dirname, import.meta.url.endsWith('.ts') ? 'lint-worker.ts' : 'lint-worker.js')

/** The calls of a batch wait for each other: together they would take every processor. */
let last: Promise<unknown> = Promise.resolve()

/** Returns the report of a text of beacons. Rejects with CliError when it takes too long, and when `signal` is aborted. */
export function lintOnThread(work: LintWork, signal: AbortSignal, limit_ms = maxLintMs): Promise<CheckedBeacons> {
  const report = last.then(() => run(work, signal, limit_ms))
  last = report.catch(() => {})
  return report
}

async function run(workerData: LintWork, caller: AbortSignal, limit_ms: number): Promise<CheckedBeacons> {
  const limit = new AbortController()
  const signal = AbortSignal.any([caller, limit.signal])
  const before = process.cpuUsage()
  // That of the whole process, since a thread that does not end has no time to report its own.
  const look = setInterval(() => {
    const { user, system } = process.cpuUsage(before)
    if (user + system > limit_ms * 1_000) limit.abort()
  }, lookEveryMs)
  const thread = new Worker(workerPath, {
    workerData,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
  })
  const stop = () => void thread.terminate()
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  try {
    return await new Promise<CheckedBeacons>((resolve, reject) => {
      thread.once('message', resolve)
      thread.once('error', reject)
      thread.once('exit', () => reject(new Error('the thread ended before its work was done')))
    })
  } catch (error) {
    if (!signal.aborted && readErrorCode(error) !== 'ERR_WORKER_OUT_OF_MEMORY') throw error
    throw new CliError('usage', 'lint_too_long', 'This text takes too long to check.', 'Give fewer beacons.')
  } finally {
    clearInterval(look)
    signal.removeEventListener('abort', stop)
  }
}
