import { alignTable } from '../../cli/output/text.ts'
import { runningSandboxes } from '../../cli/process/locator.ts'
import type { Command } from '../../cli/run/command.ts'
import { stateDirectory } from '../../cli/settings/files.ts'
import { isReady, stateText, upTime } from './sandbox-state.ts'

export const ps: Command = {
  name: 'ps',
  summary: 'List the running sandboxes',
  details:
    'A * stands before the one that commands use here: that of --base-url, the environment or a setting, else the newest. svc sandbox status shows it in detail.',
  examples: ['sandbox ps', 'sandbox ps -o json'],
  async run({ host, out, settings, command_name }) {
    const running = await runningSandboxes(stateDirectory(host), host)
    const rows = await Promise.all(
      running.map(async (sandbox) => {
        const { url, inspector_url, database, pid, version, started_at_ms } = sandbox
        const used = pid === settings.sandbox?.pid
        return { url, inspector_url, database, pid, version, started_at_ms, ready: await isReady(sandbox), used }
      }),
    )
    if (rows.length === 0) out.note(`No sandbox runs. Start one: ${command_name} start`)
    out.data(rows, (style) =>
      rows.length === 0
        ? []
        : alignTable(
            [' ', 'url', 'pid', 'state', 'up', 'database'],
            rows.map(({ used, url, pid, ready, started_at_ms, database }) => [
              used ? '*' : ' ',
              url,
              pid,
              ready ? 'ready' : 'no answer',
              upTime(host.now() - started_at_ms),
              database,
            ]),
            style,
            { state: (cell) => stateText(cell === 'ready', style) },
          ),
    )
    return 0
  },
}
