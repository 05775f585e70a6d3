/**
 * Notices when this process has used up its file descriptors. Node then accepts each connection and closes it at once,
 * without an event: nothing but an attempt to open a file shows it. It serves again as soon as descriptors return.
 */
import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'
import { type SystemError, systemErrorBehind, systemHint, systemReason } from '#foundation/system-error.ts'

export interface Descriptors {
  /** Why no connection can be accepted now; null while there are descriptors. */
  problem(): string | null
  stop(): void
}

/** A warning about this process, to be printed as a line. */
class DescriptorWarning extends Error {
  override readonly name = 'DescriptorWarning'
}

/** How often a descriptor is tried: an attempt takes a few microseconds. */
const checkIntervalMs = 500
/** Descriptors that come and go are reported once in this time. */
const repeatMs = 60_000

/** Codes of this process and of the whole computer. */
const exhausted: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE'])

/** Watches until it is stopped, and reports the first failure in a minute. `open` takes a descriptor and returns it. */
export function watchDescriptors(
  report: (warning: Error) => void,
  open: () => void = () => closeSync(openSync(devNull, 'r')),
): Descriptors {
  let problem: string | null = null
  let reported_at = Number.NEGATIVE_INFINITY
  const check = () => {
    const refusal = tryToOpen(open)
    const before = problem
    problem = refusal === null ? null : systemReason(refusal)
    if (refusal === null || before !== null || performance.now() - reported_at < repeatMs) return
    reported_at = performance.now()
    const text = `connections are closed without a response: ${problem}. The sandbox goes on when some are closed.`
    report(new DescriptorWarning(`${text} ${systemHint(refusal.code)}`))
  }
  const timer = setInterval(check, checkIntervalMs)
  timer.unref()
  return {
    problem() {
      check()
      return problem
    },
    stop: () => clearInterval(timer),
  }
}

/** Other failures than a lack of descriptors are none of its business: /dev/null may not exist. */
function tryToOpen(open: () => void): SystemError | null {
  try {
    open()
    return null
  } catch (error) {
    const refusal = systemErrorBehind(error)
    return refusal !== null && exhausted.has(refusal.code) ? refusal : null
  }
}
