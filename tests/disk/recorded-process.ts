/** Starts a sandbox under the shim, and ends it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { SandboxOptions } from '#sandbox/index.ts'
import type { ProcessMessage, ProcessOptions } from './process.ts'
import { type ShimOptions, shimEnvironment } from './shim.ts'

export interface RecordedProcess {
  readonly url: string
  readonly warnings: string[]
  readonly reports: string[]
  /** Resolves with the exit code, or the signal that has ended it. */
  readonly ended: Promise<number | string>
  kill(): Promise<void>
  /** Stops the sandbox in order. */
  close(): Promise<void>
}

/** @throws Error when the sandbox cannot start */
export async function startRecorded(
  options: SandboxOptions,
  shim: ShimOptions,
  mutation: string | null = null,
): Promise<RecordedProcess> {
  const terms: ProcessOptions = { options, mutation }
  const child = spawn(process.execPath, [join(import.meta.dirname, 'process.ts'), JSON.stringify(terms)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, ...shimEnvironment(shim) },
  })
  const ended = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string)
  const reports: string[] = []
  const started = new Promise<Exclude<ProcessMessage, { kind: 'report' }>>((resolve) => {
    child.on('message', (message: ProcessMessage) => {
      if (message.kind === 'report') reports.push(message.text)
      else resolve(message)
    })
  })
  const first = await Promise.race([started, ended])
  if (typeof first !== 'object') throw new Error(`The sandbox ended with ${first} before it was ready.`)
  if (first.kind === 'failed') throw new Error(first.text)
  return {
    url: first.url,
    warnings: first.warnings,
    reports,
    ended,
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
    async close() {
      child.send('close')
      await ended
    },
  }
}
