/** The integrator's page in a browser, for `svc qa observe --url`. */
import { CliError } from '../../cli/run/errors.ts'
import type { Session } from '../../cli/run/session.ts'
import type { PageSeen } from '../../journal/observe/page/seen.ts'
import { findBrowser, startBrowser } from './run.ts'

interface PageFlags {
  url: string
  for?: number
  headed?: true
  browserPath?: string
}

/** How long a page is watched where nobody says. */
const usual_ms = 20_000

/** @throws CliError where there is no browser, or the page does not open */
export async function openPage(
  session: Session,
  { url, for: for_ms, headed, browserPath }: PageFlags,
  base_url: string,
  signal: AbortSignal,
): Promise<PageSeen> {
  const { PageUnreachable, watchPage } = await import('../../journal/facts/page.ts')
  const is_headed = headed === true
  const path = findBrowser(session, browserPath, 'Without --url the traffic alone is judged.')
  const browser = await startBrowser(session, path, { reachable: 'anything', is_headed })
  const length_ms = for_ms ?? (is_headed ? null : usual_ms)
  session.out.note(
    `watching ${url}${length_ms === null ? ': use it; Ctrl-C, or closing its window, judges it' : ` for ${length_ms / 1_000} s; Ctrl-C judges it at once`}`,
  )
  try {
    return await watchPage(await browser.get(), { url, bases: basesOf(base_url), for_ms: length_ms, signal, is_headed })
  } catch (error) {
    if (!(error instanceof PageUnreachable)) throw error
    throw new CliError('unreachable', 'page_unreachable', error.message, 'Start the app, then look again.')
  } finally {
    await browser.close()
  }
}

/** A page may call the service of this machine by any of its names. */
function basesOf(base_url: string): string[] {
  const { hostname, port, protocol } = new URL(base_url)
  const isLocal = ['127.0.0.1', 'localhost', '[::1]'].includes(hostname)
  return isLocal ? ['127.0.0.1', 'localhost', '[::1]'].map((name) => `${protocol}//${name}:${port}`) : [base_url]
}
