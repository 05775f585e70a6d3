/** Commands that go on until a signal, such as `svc start`, when they are ready. */
import type { Signal } from '#cli/run/system.ts'
import { follow, type Printed } from './follow.ts'
import type { Result, RunOptions } from './test-cli.ts'

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

/** Runs a command line, and resolves when it is ready: by default with a line on stdout; or when it has ended. Disposing of it ends it. */
export async function runInProcess(
  args: string,
  options: RunOptions = {},
  isReady = ({ stdout }: Printed) => stdout.includes('\n'),
): Promise<InProcess> {
  const following = follow(args, options)
  const { ended, stdout, stderr, signal } = following
  await following.until(isReady)
  const [firstLine = ''] = stdout().split('\n')
  const end = (name: Signal = 'SIGTERM') => {
    signal(name)
    return ended
  }
  const printed = () => ({ stdout: stdout(), stderr: stderr() })
  return { firstLine, printed, ended, end, [Symbol.asyncDispose]: async () => void (await end()) }
}

/** Starts a sandbox in memory by `svc start`, on any free port, and resolves when it is ready. */
export function startInProcess(args = '', options: RunOptions = {}): Promise<InProcess> {
  return runInProcess(`start --port 0 --ephemeral ${args}`, options)
}
