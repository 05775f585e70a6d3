/** What `svc start` prints when it is ready, for people. */

import type { Style } from '../../cli/output/style.ts'
import { alignPairs } from '../../cli/output/text.ts'
import type { Locator } from '../../cli/process/locator.ts'

export function startBlock(
  sandbox: Omit<Locator, 'started_at_ms'>,
  { command_name, home, log_file = null }: { command_name: string; home: string; log_file?: string | null },
  style: Style,
): string[] {
  const [project] = sandbox.projects
  const others = sandbox.projects.slice(1).map(({ client_id }) => client_id)
  return [
    `${style.bold('svc')} ${sandbox.version}: ${style.green('the sandbox is ready')}`,
    '',
    ...indent(
      alignPairs(
        [
          ['URL', style.cyan(sandbox.url)],
          ['demo', style.cyan(`${sandbox.url}/_sandbox/demo`)],
          ['inspector', style.cyan(sandbox.inspector_url)],
          [
            'database',
            sandbox.database === ':memory:' ? 'in memory, gone at the end' : shorten(sandbox.database, home),
          ],
          ['project', project?.client_id ?? null],
          ['secret key', project?.secret_key ?? null],
          ['live key', project?.live_secret_key ?? null],
          ['publishable key', project?.publishable_key ?? null],
          ['allowed origins', project?.allowed_origins.join('  ') ?? null],
          ['admin token', sandbox.admin_token ?? null],
          ['more projects', others.length === 0 ? null : others.join('  ')],
          ['log', log_file === null ? null : shorten(log_file, home)],
        ],
        style,
      ),
    ),
    '',
    log_file === null ? 'Try, in another terminal' : 'Try',
    ...indent([
      `${command_name} placements create --format banner --topic coffee`,
      `${command_name} placements list`,
      `${command_name} requests list`,
    ]),
    '',
    style.dim(
      log_file === null ? 'Ctrl-C stops it.' : `It runs in the background: ${command_name} sandbox stop ends it.`,
    ),
  ]
}

function indent(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`)
}

/** `~/...` for a path under the home directory. */
function shorten(path: string, home: string): string {
  return home !== '' && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}
