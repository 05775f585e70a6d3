/** The flags of `svc observe`, and which of them belong together. */

import { checkPageUrl } from '#cli/endpoint/option-values.ts'
import type { System } from '#cli/run/system.ts'
import { shownCommand } from '#foundation/redaction.ts'
import { CliError } from '#text/cli-error.ts'
import { commandMissing } from '../exec.ts'
import type { ReportFlags } from './reports.ts'

export type ObserveFlags = {
  url?: string
  for?: number
  since?: string
  serveDir?: string[]
  steps?: string
  interactive?: true
  headed?: true
  phone?: true
  browser?: string
  browserPath?: string
  strict?: true
  acceptCurrent?: true
  force?: true
} & ReportFlags

/** Whether only files are judged: then nothing is waited for. */
export function isOfFilesOnly({ url, for: for_ms, since, serveDir }: ObserveFlags): boolean {
  return serveDir !== undefined && url === undefined && for_ms === undefined && since === undefined
}

/** Returns the flag that shows the browser, or null. */
export function headedFlag({ interactive, headed }: Pick<ObserveFlags, 'interactive' | 'headed'>): string | null {
  return interactive === true ? '--interactive' : headed === true ? '--headed' : null
}

/** Throws CliError for flags that contradict each other, before anything is started. */
export function checkFlags(
  system: System,
  { url, since, steps, ...flags }: ObserveFlags,
  words: readonly (string | undefined)[],
  command: readonly string[],
): void {
  const problem = (code: string, message: string, hint: string) => new CliError('usage', code, message, hint)
  if (words.length > 0) throw commandMissing(`svc observe -- ${shownCommand(words)}`, system)
  if (url !== undefined) checkPageUrl(url)
  const headed = headedFlag(flags)
  const ofPage = { '--steps': steps, '--browser': flags.browser, '--browser-path': flags.browserPath }
  const needsPage = headed ?? Object.entries(ofPage).find(([, value]) => value !== undefined)?.[0] ?? null
  if (needsPage !== null && url === undefined) {
    throw problem('url_missing', `${needsPage} needs a page.`, 'Name it: --url http://localhost:3000')
  }
  if (headed !== null && system.platform === 'linux' && !system.env.DISPLAY && !system.env.WAYLAND_DISPLAY) {
    const message = `${headed} opens a window, but there is no display: neither DISPLAY nor WAYLAND_DISPLAY is set.`
    const hint = 'Drive the page with a file of steps instead: --steps FILE. Or run it on a desktop.'
    throw new CliError('unreachable', 'display_missing', message, hint)
  }
  if (command.length > 0 && since !== undefined) {
    const message = 'A command runs against its own sandbox, which has no earlier requests.'
    throw problem('since_of_fresh', message, 'Leave out --since, or the command.')
  }
}
