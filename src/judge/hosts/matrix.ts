/** `svc qa hosts`: the page under each condition, several at a time. */
import type { Browser } from 'playwright-core'
import { type CauseRow, type Judging, judgeHost } from './causes.ts'
import { type Condition, conditions } from './conditions.ts'
import type { ExtensionBrowser } from './extension.ts'
import { type ObserveOptions, observeUnder } from './observe.ts'

export type { CauseRow } from './causes.ts'
export { conditions } from './conditions.ts'
export { openExtensionBrowser } from './extension.ts'

/** Pages that are open at a time: each waits most of the time, and measures while it does not. */
const maxPages = 4

interface MatrixOptions extends ObserveOptions, Judging {
  browser(): Promise<Browser>
  /** A browser with the extension; null where it cannot load one. */
  extension: ExtensionBrowser | null
}

/** Tries the page under the named conditions. Resolves with a row for each, in the order of `conditions`. */
export async function tryHosts(names: readonly string[], options: MatrixOptions): Promise<CauseRow[]> {
  const chosen = conditions.filter(({ name }) => names.includes(name))
  // The minute that passes in the sandbox would pass for the other pages too.
  const last = chosen.filter(({ isOffline }) => isOffline)
  const pending = chosen.filter(({ isOffline }) => !isOffline)
  const rows = new Map<string, CauseRow>()
  const tryNext = async () => {
    for (let next = pending.shift(); next !== undefined && !options.signal.aborted; next = pending.shift()) {
      rows.set(next.name, await tryOne(next, options))
    }
  }
  await Promise.all(Array.from({ length: maxPages }, tryNext))
  for (const each of last) if (!options.signal.aborted) rows.set(each.name, await tryOne(each, options))
  return chosen.flatMap(({ name }) => rows.get(name) ?? [])
}

async function tryOne(condition: Condition, options: MatrixOptions): Promise<CauseRow> {
  const { extension } = options
  if (condition.isExtension && extension !== null) {
    const { script: _script, ...real } = { ...condition, simulated: null }
    return judgeHost(real, await observeUnder(real, extension, options), options)
  }
  return judgeHost(condition, await observeUnder(condition, await options.browser(), options), options)
}
