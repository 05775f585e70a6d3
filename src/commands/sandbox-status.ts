import type { Command } from '../cli/command.ts'
import { exitCodes } from '../cli/exit-codes.ts'
import { type Locator, runningSandboxes } from '../cli/locator.ts'
import { stateDirectory } from '../cli/state.ts'
import { alignTable, formatTime } from '../cli/text.ts'
import { createClient } from '../client/index.ts'

/** A sandbox on this machine answers at once or not at all. */
const answerWithinMs = 2_000

export const status: Command = {
  name: 'status',
  summary: 'Show the running sandboxes',
  details: 'Exit code 7 when none runs.',
  examples: ['sandbox status', 'sandbox status -o json'],
  async run({ host, out, command_name }) {
    const running = await runningSandboxes(stateDirectory(host), host)
    const rows = await Promise.all(
      running.map(async (sandbox) => {
        const { url, inspector_url, database, pid, version, started_at_ms } = sandbox
        return { url, inspector_url, database, pid, version, started_at_ms, ready: await isReady(sandbox) }
      }),
    )
    if (rows.length === 0) out.note(`No sandbox runs. Start one: ${command_name} start`)
    out.data(rows, (style) =>
      rows.length === 0
        ? []
        : alignTable(
            ['url', 'pid', 'state', 'version', 'started', 'database'],
            rows.map((row) => [
              row.url,
              row.pid,
              row.ready ? 'ready' : 'no answer',
              row.version,
              formatTime(row.started_at_ms),
              row.database,
            ]),
            style,
            { state: (cell) => (cell === 'ready' ? style.green(cell) : style.red(cell)) },
          ),
    )
    return rows.length === 0 ? exitCodes.unreachable.exit_code : 0
  },
}

async function isReady({ url }: Locator): Promise<boolean> {
  const client = createClient({ base_url: url, timeout_ms: answerWithinMs })
  return client.health.ready().then(
    () => true,
    () => false,
  )
}
