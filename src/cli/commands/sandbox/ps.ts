/** `svc sandbox ps`. */

import type { Command, CommandContext } from '#cli/run/command.ts'
import { commandClient } from '#cli/run/command-client.ts'
import { noOwnSandbox, noSandbox } from '#cli/run/errors.ts'
import type { System } from '#cli/run/system.ts'
import { permittedControlToken } from '#cli/settings/settings.ts'
import {
  checkReadable,
  foreignLocators,
  type Locator,
  runningSandboxes,
  stateDirectory,
} from '#cli/settings/state-directory.ts'
import { withoutUndefined } from '#foundation/json.ts'
import { type Column, tableLines } from '#text/table.ts'
import type { Style } from '#text/terminal.ts'
import { plural, shortenPath, timeText } from '#text/text.ts'
import { readiness, responseTimeoutMs, type State, stateText, upTime } from './status.ts'

const psColumns: readonly Column[] = [
  { name: ' ', field: 'mark' },
  { name: 'url', kind: 'id' },
  { name: 'pid', kind: 'id' },
  { name: 'state', paint: (cell, style) => stateText(cell as State, style) },
  { name: 'up' },
  { name: 'folder', least: 12 },
  { name: 'database', least: 16 },
]

export const ps: Command = {
  name: 'ps',
  summary: 'List the running sandboxes',
  details:
    'A * marks the one that commands use here: the one named by --base-url, the environment or a setting, else that of this folder, else the only one that runs. For its details: svc sandbox status',
  examples: ['sandbox ps', 'sandbox ps -o json'],
  tables: [psColumns],
  hasRows: true,
  async run({ system, out, settings, command_name }) {
    await checkReadable(stateDirectory(system))
    const running = await runningSandboxes(stateDirectory(system), system)
    const rows = await Promise.all(
      running.map(async (sandbox) => {
        const { url, inspector_url, database, pid, version, started_at_ms, command, name } = sandbox
        const used = pid === settings.sandbox?.pid
        const [state, shared] = await Promise.all([readiness(system, sandbox), sharedFields(system, sandbox)])
        const ready = state === 'ready'
        const folder = { folder: sandbox.folder ?? null, ...withoutUndefined({ name, command }) }
        return { state, url, inspector_url, database, pid, version, started_at_ms, ...folder, ...shared, ready, used }
      }),
    )
    if (rows.length === 0) {
      const isOther = settings.source.base_url === 'default' && (await system.respondsAt(settings.base_url))
      const { message, hint } = isOther
        ? noOwnSandbox(settings.base_url)
        : noSandbox(`Start one: ${command_name} start`)
      const server = settings.source.base_url === 'default' ? await system.describeServer(settings.base_url) : null
      const taken = server === null ? '' : ` Port ${new URL(settings.base_url).port} is taken by ${server}.`
      out.note(`${message}${taken} ${hint}`)
    }
    await noteForeignLocators({ system, out })
    const listed = rows.map(({ state: _, ...row }) => row)
    const text = (style: Style) => {
      const shown = rows.map((row) => ({
        ...row,
        mark: row.used ? '*' : ' ',
        folder: folderText(row, system.home),
        database: databaseText(row),
        up:
          style.view.time === null
            ? upTime(system.now() - row.started_at_ms)
            : timeText(row.started_at_ms, style, true),
      }))
      return rows.length === 0 ? [] : tableLines(psColumns, shown, style)
    }
    out.data(listed, text, listed)
    return 0
  },
}

/** Notes running sandboxes of another svc version or another user, which this one cannot use. */
export async function noteForeignLocators({ system, out }: Pick<CommandContext, 'system' | 'out'>): Promise<void> {
  for (const path of await foreignLocators(stateDirectory(system), system))
    out.note(`Left alone, because another version of svc or another user wrote it: ${path}`)
}

interface SharedFields {
  namespace: string
  /** Nodes that serve it now; null if this one does not report them. */
  nodes: number | null
}

/** Resolves to the namespace of a shared store and its number of nodes; null for a database file, without a request. */
async function sharedFields(system: System, sandbox: Locator): Promise<SharedFields | null> {
  const { url: base_url, namespace } = sandbox
  if (namespace === undefined) return null
  const count = async () => {
    const admin_token = permittedControlToken({ base_url, allow_http: false, sandbox })
    const client = commandClient(system, { base_url, timeout_ms: responseTimeoutMs, validate: false, admin_token })
    return (await client.sandbox.info()).nodes?.length ?? null
  }
  return { namespace, nodes: await count().catch(() => null) }
}

/** The folder in which it was started, with the name of a second sandbox: `~/shop (review)`. */
function folderText({ folder, name }: Pick<Locator, 'name'> & { folder: string | null }, home: string): string {
  const place = folder === null ? '' : shortenPath(folder, home)
  return name === undefined ? place : `${place} (${name})`
}

function databaseText({ database, namespace, nodes, command }: Listed & Partial<SharedFields>): string {
  if (command !== undefined) return `exec: ${command}`
  if (namespace === undefined) return database
  const count = nodes == null ? '' : `, ${plural(nodes, 'node')}`
  return `${namespace}${count} on ${database}`
}

type Listed = Pick<Locator, 'database' | 'command'>
