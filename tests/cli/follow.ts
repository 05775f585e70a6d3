/** A command line that goes on until a signal (`start`, `exec`, `tail`), in the process of the test. */
import type { Signal, System } from '#cli/run/system.ts'
import { type Result, type RunOptions, svc } from './test-cli.ts'
import { keptStream, realProcesses } from './test-host.ts'

export interface Following extends AsyncDisposable {
  /** Resolves with the first line of stdout, or rejects when the command ends without one. */
  firstLine: Promise<string>
  stdout(): string
  stderr(): string
  /** Sends a signal, as to its process. */
  signal(name?: Signal): void
  ended: Promise<Result>
}

/** Runs it; a sandbox that it starts may be asked to stop. When disposed of, it gets SIGTERM and is waited for. */
export function follow(args: string, options: RunOptions = {}): Following {
  const handlers = new Set<(signal: Signal) => void>()
  const stdout = keptStream(options.isTerminal === true, options.columns)
  const stderr = keptStream(options.isTerminal === true, options.columns)
  const firstLine = Promise.withResolvers<string>()
  firstLine.promise.catch(() => {})
  stdout.write = (text) => {
    stdout.text += text
    if (stdout.text.includes('\n')) firstLine.resolve(stdout.text.split('\n')[0]!)
  }
  const signal = (name: Signal = 'SIGINT') => {
    for (const handler of handlers) handler(name)
  }
  const system: Partial<System> = {
    stdout,
    stderr,
    onSignal(handler) {
      handlers.add(handler)
      return () => handlers.delete(handler)
    },
    signal: (pid, name) => {
      if (pid !== process.pid) return realProcesses.signal(pid, name)
      if (name !== 0 && name !== 'SIGKILL' && name !== 'SIGTSTP') signal(name)
      return true
    },
    ...options.system,
  }
  const ended = svc(args, { ...options, system }).then(({ code }) => {
    const result = { code, stdout: stdout.text, stderr: stderr.text }
    firstLine.reject(new Error(`ended without a line, with ${code}: ${stderr.text}`))
    return result
  })
  return {
    firstLine: firstLine.promise,
    stdout: () => stdout.text,
    stderr: () => stderr.text,
    signal,
    ended,
    async [Symbol.asyncDispose]() {
      signal('SIGTERM')
      await ended
    },
  }
}
