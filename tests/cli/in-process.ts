/** Commands that go on until a signal, such as `svc start`, in the process of a test. */
import type { Signal } from '#cli/run/system.ts'
import { keptStream, type Result, type RunOptions, svc } from './test-cli.ts'

export interface InProcess extends AsyncDisposable {
  /** The first line of stdout; '' when the command ended without one. */
  firstLine: string
  /** What the command has printed. */
  printed(): Printed
  /** Resolves with the result of the command. */
  ended: Promise<Result>
  /** Sends the command a signal, and resolves with its result. */
  end(signal?: Signal): Promise<Result>
}

type Printed = Pick<Result, 'stdout' | 'stderr'>

/** Runs a command line, and resolves when it is ready: by default with a line on stdout; or when it has ended. Disposing of it ends it. */
export async function runInProcess(
  args: string,
  options: RunOptions = {},
  isReady = ({ stdout }: Printed) => stdout.includes('\n'),
): Promise<InProcess> {
  const handlers = new Set<(signal: Signal) => void>()
  const [stdout, stderr] = [keptStream(false), keptStream(false)]
  const { promise: hasLine, resolve } = Promise.withResolvers<void>()
  for (const stream of [stdout, stderr]) {
    const write = stream.write
    stream.write = (text) => {
      write.call(stream, text)
      if (isReady(printed())) resolve()
    }
  }
  const onSignal = (handler: (signal: Signal) => void) => {
    handlers.add(handler)
    return () => handlers.delete(handler)
  }
  const printed = () => ({ stdout: stdout.text, stderr: stderr.text })
  const running = svc(args, { ...options, system: { stdout, stderr, onSignal, ...options.system } })
  const ended = running.then(({ code }) => ({ code, ...printed() }))
  const end = (signal: Signal = 'SIGTERM') => {
    for (const handler of handlers) handler(signal)
    return ended
  }
  await Promise.race([hasLine, ended])
  const [firstLine = ''] = stdout.text.split('\n')
  return { firstLine, printed, ended, end, [Symbol.asyncDispose]: async () => void (await end()) }
}

/** Starts a sandbox in memory by `svc start`, on any free port, and resolves when it is ready. */
export function startInProcess(args = '', options: RunOptions = {}): Promise<InProcess> {
  return runInProcess(`start --port 0 --ephemeral ${args}`, options)
}
