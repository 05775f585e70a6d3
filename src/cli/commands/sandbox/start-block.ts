/** The block that `svc start` prints when the sandbox is ready: where it is, with which keys, and what to try. */

import type { StartOptions } from '#cli/settings/start-options.ts'
import type { Locator } from '#cli/settings/state-directory.ts'
import type { PlaybackSource } from '#sandbox/index.ts'
import type { Style } from '#text/terminal.ts'
import { alignPairs, plural, shortenPath, timeText } from '#text/text.ts'
import { memory } from './emulator.ts'

/** What is known of a sandbox that was started, here or in the background. */
export type Ready = Omit<Locator, 'started_at_ms'> & { playback?: PlaybackSource }

/** What a start prints beside what it has started. */
export interface StartDetails {
  log_file?: string | null
  /** The options with which `sandbox stop` finds it. */
  stop_options?: string
  /** What the start was given, which is repeated. */
  chosen?: StartOptions
  /** Whether it reads keys. */
  has_keys?: boolean
}

/** The lines that `svc start` prints when the sandbox is ready. */
export function startBlock(
  sandbox: Ready,
  details: StartDetails & { command_name: string; home: string },
  style: Style,
): string[] {
  const { command_name, home, log_file = null, chosen = {} } = details
  return [
    `${style.bold('svc')} ${sandbox.version}: ${style.green('the sandbox is ready')}`,
    '',
    ...indent(
      alignPairs(
        [
          ...placePairs(sandbox, home, style),
          ...chosenPairs(chosen),
          ...projectPairs(sandbox),
          ['log', log_file === null ? null : shortenPath(log_file, home)],
        ],
        style,
      ),
    ),
    '',
    log_file === null ? 'Try, in another terminal' : 'Try',
    ...indent([
      // A playback refuses what was not recorded. Your own campaigns alone may be for other topics.
      ...(sandbox.playback?.fallback === false
        ? []
        : [`${command_name} placements create --format banner${chosen.only === true ? '' : ' --topic coffee'}`]),
      `${command_name} placements list`,
      `${command_name} requests list`,
    ]),
    '',
    nextLine(details, style),
  ]
}

function nextLine(details: StartDetails & { command_name: string }, style: Style): string {
  const { command_name, log_file = null, stop_options = '', has_keys = false } = details
  if (log_file !== null)
    return style.dim(`It runs in the background. Stop it: ${command_name} sandbox stop${stop_options}`)
  return has_keys
    ? `${style.bold('o')} ${style.dim('opens the demo in your browser,')} ${style.bold('Ctrl-C')} ${style.dim('stops the sandbox.')}`
    : style.dim('Ctrl-C stops it.')
}

type Pair = [string, string | null]

function placePairs(sandbox: Ready, home: string, style: Style): Pair[] {
  const { url, public_url, certificate, database, namespace, nodes } = sandbox
  return [
    ['URL', style.cyan(url)],
    ['public URL', public_url === undefined ? null : style.cyan(public_url)],
    ['demo', style.cyan(demoUrl(sandbox))],
    ['inspector', style.cyan(pageUrl(sandbox, '/_sandbox/'))],
    ['certificate', certificate === undefined ? null : shortenPath(certificate, home)],
    ['database', database === memory ? 'in memory, lost when it stops' : shortenPath(database, home)],
    ['namespace', namespace ?? null],
    ['nodes', nodes === undefined ? null : String(nodes)],
    ...sourcePairs(sandbox.playback ?? null, home, style),
  ]
}

function sourcePairs(source: PlaybackSource | null, home: string, style: Style): Pair[] {
  if (source === null) return []
  const { file, exchanges, sessions, recorded_at_ms, fallback } = source
  const contents = `${plural(exchanges, 'exchange')} of ${plural(sessions, 'session')}`
  return [
    ['plays', file === null ? contents : `${shortenPath(file, home)}, ${contents}`],
    ['recorded', timeText(recorded_at_ms, style)],
    ['not recorded', fallback ? 'the emulator responds' : 'refused with not_recorded, 404'],
  ]
}

function chosenPairs({ rate_limit, decision_latency, scenario, overrides, demand, only }: StartOptions): Pair[] {
  return [
    ['rate limit', rate_limit ?? null],
    ['decisions take', decision_latency === undefined ? null : `${decision_latency} ms`],
    ['scenario', scenario ?? null],
    ['overrides', overrides ?? null],
    ['demand', demand === undefined ? null : `${demand}, ${only === true ? 'alone' : 'beside the seeded campaigns'}`],
  ]
}

function projectPairs({ projects, admin_token }: Ready): Pair[] {
  const [project, ...others] = projects
  return [
    ['project', project?.client_id ?? null],
    ['secret key', project?.secret_key ?? null],
    ['live key', project?.live_secret_key ?? null],
    ['publishable key', project?.publishable_key ?? null],
    ['allowed origins', project?.allowed_origins.join('  ') ?? null],
    ['admin token', admin_token ?? null],
    ['more projects', others.length === 0 ? null : others.map(({ client_id }) => client_id).join('  ')],
  ]
}

function indent(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`)
}

/**
 * Returns the address of a page of the sandbox; beyond loopback, with the admin token, which a browser cannot send as a
 * header.
 */
function pageUrl({ url, public_url = url, admin_token }: Ready, path: string): string {
  return `${public_url}${path}${admin_token === undefined ? '' : `?token=${admin_token}`}`
}

/** Returns the address of the demo. */
export function demoUrl(ready: Ready): string {
  return pageUrl(ready, '/_sandbox/demo')
}
