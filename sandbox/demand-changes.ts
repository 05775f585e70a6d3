/** Takes the changes of a file of demand over while the sandbox runs: `svc start --watch`. */
import { unwatchFile, watchFile } from 'node:fs'
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

interface WatchedDemand {
  path: string
  /** The files that were read. */
  read: readonly string[]
  replace(own: OwnDemand['market']): Promise<void>
  report(error: unknown): void
}

/** Files are polled: editors replace them, and network drives and containers send no events. Milliseconds. */
const interval = 250

/** Returns a function that ends it, after the change that is being read. */
export function followDemand({ path, read, replace, report }: WatchedDemand): () => Promise<void> {
  let watched: ReadonlySet<string> = new Set()
  let work = Promise.resolve()
  const onChange = () => {
    work = work.then(takeOver)
  }
  // A file that is watched stays so: a change between two watches would be missed.
  const follow = (files: readonly string[]) => {
    const next = new Set([path, ...files])
    for (const file of watched) if (!next.has(file)) unwatchFile(file, onChange)
    for (const file of next) if (!watched.has(file)) watchFile(file, { interval, persistent: false }, onChange)
    watched = next
  }
  follow(read)
  return async () => {
    for (const file of watched) unwatchFile(file, onChange)
    watched = new Set()
    await work
  }

  async function takeOver(): Promise<void> {
    if (watched.size === 0) return
    try {
      const { openDemand } = await import('./rules/demand/open-demand.ts')
      const own = await openDemand(path)
      await replace(own.market)
      const count = own.market.campaigns.length
      report(new DemandNotice(`${path}: taken over, ${count} ${count === 1 ? 'campaign' : 'campaigns'}.`))
      if (watched.size > 0) follow(own.read)
    } catch (error) {
      const isWrong = error instanceof SandboxError
      report(isWrong ? new DemandWarning(`${error.message} The demand in force stays.`) : error)
    }
  }
}
