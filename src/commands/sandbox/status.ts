import { alignPairs, formatTime } from '../../cli/output/text.ts'
import type { Command } from '../../cli/run/command.ts'
import { CliError, exitCodes } from '../../cli/run/errors.ts'
import { type Source, settingsTable } from '../../cli/settings/settings.ts'
import { isReady, stateText, upTime } from './sandbox-state.ts'

export const status: Command = {
  name: 'status',
  summary: 'Show the sandbox that commands use',
  details:
    'Where it is, and why this one. Exit code 7 when none runs, or it does not answer. svc sandbox ps lists all.',
  examples: ['sandbox status', 'sandbox status -o json'],
  async run({ settings, host, out, command_name }) {
    const { sandbox, base_url, source, running } = settings
    if (sandbox === null) {
      throw source.base_url === 'default'
        ? new CliError('unreachable', 'sandbox_missing', 'No sandbox runs.', 'Start one: svc start')
        : new CliError(
            'unreachable',
            'sandbox_missing',
            `No sandbox of this machine runs at ${base_url} (${whence(source.base_url)}).`,
            'See those that run: svc sandbox ps',
          )
    }
    const { url, inspector_url, database, pid, version, started_at_ms, projects } = sandbox
    const ready = await isReady(sandbox)
    const names = projects.map(({ client_id }) => client_id)
    const reported = { url, inspector_url, database, pid, version, started_at_ms, ready, source: source.base_url }
    out.data({ ...reported, projects: names }, (style) =>
      alignPairs(
        [
          ['state', stateText(ready, style)],
          ['URL', style.cyan(url)],
          ['chosen by', source.base_url === 'sandbox' && running > 1 ? 'the newest' : whence(source.base_url)],
          ['inspector', style.cyan(inspector_url)],
          ['database', database === ':memory:' ? 'in memory, gone at the end' : database],
          ['started', `${formatTime(started_at_ms)}, ${upTime(host.now() - started_at_ms)} ago`],
          ['pid', String(pid)],
          ['version', version],
          ['projects', names.join('  ')],
        ],
        style,
      ),
    )
    if (running > 1) out.note(`${running} sandboxes run. All of them: ${command_name} sandbox ps`)
    return ready ? 0 : exitCodes.unreachable.exit_code
  },
}

/** Where the address comes from, in words. */
function whence(source: Source): string {
  if (source === 'flag') return '--base-url'
  if (source === 'environment') return settingsTable.base_url.env
  return source === 'sandbox' ? 'the only one' : source
}
