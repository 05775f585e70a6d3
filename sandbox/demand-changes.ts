/** Takes the changes of a file of demand over while the sandbox runs: `svc start --watch`. */
import { readStamp } from './rules/demand/own-file.ts'
import type { OwnDemand } from './rules/demand/read-demand.ts'
import { SandboxError } from './sandbox-error.ts'

/** A change that is in force. */
class DemandNotice extends Error {
  override readonly name = 'DemandNotice'
}

/** A change that is wrong: the demand before it stays. */
class DemandWarning extends Error {
  override readonly name = 'DemandWarning'
}

interface WatchedDemand extends Pick<OwnDemand, 'read'> {
  path: string
  replace(own: OwnDemand['market']): Promise<void>
  report(error: unknown): void
}

/** Files are polled: editors replace them, and network drives and containers send no events. Milliseconds. */
const interval = 250

/** Returns a function that ends it, after the change that is being read. */
export function followDemand({ path, read, replace, report }: WatchedDemand): () => Promise<void> {
  let seen = read
  let work = Promise.resolve()
  const timer = setInterval(() => {
    work = work.then(look)
  }, interval)
  timer.unref()
  return async () => {
    clearInterval(timer)
    seen = new Map()
    await work
  }

  /** Compares with what the files were before they were read, so that no change falls between a reading and a look. */
  async function look(): Promise<void> {
    const stamps = await Promise.all([...seen.keys()].map(async (file) => [file, await readStamp(file)] as const))
    const now = new Map(stamps)
    if (seen.size === 0 || [...now].every(([file, stamp]) => stamp === seen.get(file))) return
    seen = now
    await takeOver()
  }

  async function takeOver(): Promise<void> {
    try {
      const { openDemand } = await import('./rules/demand/open-demand.ts')
      const own = await openDemand(path)
      await replace(own.market)
      const count = own.market.campaigns.length
      report(new DemandNotice(`${path}: taken over, ${count} ${count === 1 ? 'campaign' : 'campaigns'}.`))
      if (seen.size > 0) seen = own.read
    } catch (error) {
      const isWrong = error instanceof SandboxError
      report(isWrong ? new DemandWarning(`${error.message} The demand in force stays.`) : error)
    }
  }
}
