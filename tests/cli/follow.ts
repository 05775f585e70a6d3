/** A command line that goes on until a signal (`start`, `exec`, `tail`), in the process of the test. */
import type { Signal, System } from '#cli/run/system.ts'
import { type Result, type RunOptions, svc } from './test-cli.ts'
import { keptStream, realProcesses } from './test-host.ts'

export interface Following extends AsyncDisposable {
  /** Resolves with the first line of stdout, or rejects when the command ends without one. */
  firstLine: Promise<string>
  stdout(): string
  stderr(): string
  /** Resolves when what was printed is enough, or when the command has ended. */
  until(isEnough: (printed: Printed) => boolean): Promise<void>
  /** Sends a signal, as to its process. */
  signal(name?: Signal): void
  ended: Promise<Result>
}

export type Printed = Pick<Result, 'stdout' | 'stderr'>

/** Runs it; a sandbox that it starts may be asked to stop. When disposed of, it gets SIGTERM and is waited for. */
export function follow(args: string, options: RunOptions = {}): Following {
  const handlers = new Set<(signal: Signal) => void>()
  const waiting = new Set<() => void>()
  const streams = [0, 1].map(() => {
    const stream = keptStream(options.isTerminal === true, options.columns)
    return Object.assign(stream, {
      write(text: string) {
        stream.text += text
        for (const look of waiting) look()
      },
    })
  })
  const [stdout, stderr] = streams as [ReturnType<typeof keptStream>, ReturnType<typeof keptStream>]
  const printed = (): Printed => ({ stdout: stdout.text, stderr: stderr.text })
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
    signal(pid, name) {
      if (pid !== (options.system?.pid ?? process.pid)) return realProcesses.signal(pid, name)
      if (name !== 0 && name !== 'SIGKILL' && name !== 'SIGTSTP') signal(name)
      return true
    },
    ...options.system,
  }
  const ended = svc(args, { ...options, system }).then(({ code }) => ({ code, ...printed() }))
  const until = async (isEnough: (printed: Printed) => boolean) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const look = () => {
      if (isEnough(printed())) resolve()
    }
    waiting.add(look)
    look()
    await Promise.race([promise, ended])
    waiting.delete(look)
  }
  const firstLine = until(({ stdout }) => stdout.includes('\n')).then(async () => {
    if (stdout.text === '') throw new Error(`ended without a line, with ${(await ended).code}: ${stderr.text}`)
    return stdout.text.split('\n')[0]!
  })
  firstLine.catch(() => {})
  return {
    firstLine,
    stdout: () => stdout.text,
    stderr: () => stderr.text,
    until,
    signal,
    ended,
    async [Symbol.asyncDispose]() {
      signal('SIGTERM')
      await ended
    },
  }
}
