/**
 * Which sandboxes are running, and whether they respond: `svc sandbox ps` and `stop`, and `svc health`. A
 * process gets a signal only if it is certain to be the sandbox that wrote the locator.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Option } from 'commander'
import { endpointCommand } from '#cli/endpoint/endpoint-command.ts'
import { type Column, tableLines } from '#cli/output/table.ts'
import type { Style } from '#cli/output/terminal.ts'
import { plural, timeText } from '#cli/output/text.ts'
import { portHolder } from '#cli/process/port-holder.ts'
import type { Command, CommandContext, Noun } from '#cli/run/command.ts'
import { CliError, noOwnSandbox, noSandbox } from '#cli/run/errors.ts'
import { type System, version } from '#cli/run/host.ts'
import { commandClient } from '#cli/run/session.ts'
import { permittedControlToken, type Source } from '#cli/settings/settings.ts'
import {
  checkReadable,
  foreignLocators,
  isSandboxProcess,
  type Locator,
  removeLocator,
  runningSandboxes,
  stateDirectory,
} from '#cli/settings/state-directory.ts'
import { settingsTable } from '#cli/settings/table.ts'
import { ServiceError, UnreachableError } from '#client/errors.ts'
import { formatDuration } from '#foundation/duration.ts'
import { isSameService } from '#foundation/http.ts'
import { asEarlierName } from './earlier-name.ts'

/** A sandbox on this computer responds immediately or not at all. */
export const responseTimeout_ms = 2_000

const psColumns: readonly Column[] = [
  { name: ' ', field: 'mark' },
  { name: 'url', kind: 'id' },
  { name: 'pid', kind: 'id' },
  { name: 'state', paint: (cell, style) => stateText(cell as State, style) },
  { name: 'up' },
  { name: 'database', least: 16 },
]

export const ps: Command = {
  name: 'ps',
  summary: 'List the running sandboxes',
  details:
    'A * marks the one that commands use here: the one named by --base-url, the environment or a setting, else the newest that svc start started, else the one of svc exec if there is only one (exec: COMMAND). For its details: svc sandbox status',
  examples: ['sandbox ps', 'sandbox ps -o json'],
  tables: [psColumns],
  async run({ host, out, settings, command_name }) {
    await checkReadable(stateDirectory(host))
    const running = await runningSandboxes(stateDirectory(host), host)
    const rows = await Promise.all(
      running.map(async (sandbox) => {
        const { url, inspector_url, database, pid, version, started_at_ms, command } = sandbox
        const used = pid === settings.sandbox?.pid
        const [state, shared] = await Promise.all([readiness(host, sandbox), sharedFields(host, sandbox)])
        const ready = state === 'ready'
        const ofExec = command === undefined ? {} : { command }
        return { state, url, inspector_url, database, pid, version, started_at_ms, ...shared, ...ofExec, ready, used }
      }),
    )
    if (rows.length === 0) {
      const isOther = settings.source.base_url === 'default' && (await host.respondsAt(settings.base_url))
      const { message, hint } = isOther
        ? noOwnSandbox(settings.base_url)
        : noSandbox(`Start one: ${command_name} start`)
      out.note(`${message} ${hint}`)
    }
    await noteForeignLocators({ host, out })
    const listed = rows.map(({ state: _, ...row }) => row)
    out.data(listed, (style) =>
      rows.length === 0
        ? []
        : tableLines(
            psColumns,
            rows.map((row) => ({
              ...row,
              mark: row.used ? '*' : ' ',
              database: databaseText(row),
              up:
                style.view.time === null
                  ? upTime(host.now() - row.started_at_ms)
                  : timeText(row.started_at_ms, style, true),
            })),
            style,
          ),
    )
    return 0
  },
}

/** Prints what it always did, for scripts and probes that call it. */
export const health: Noun = {
  summary: 'Earlier name of svc sandbox status',
  commands: [
    asEarlierName(
      'sandbox status',
      endpointCommand('health.live', { examples: ['health live', 'health live -o none'] }),
    ),
    asEarlierName(
      'sandbox status',
      endpointCommand('health.ready', { examples: ['health ready', 'health ready -o none'] }),
    ),
  ],
}

/** Notes running sandboxes of another svc version or another user, which this one cannot use. */
async function noteForeignLocators({ host, out }: Pick<CommandContext, 'host' | 'out'>): Promise<void> {
  for (const path of await foreignLocators(stateDirectory(host), host))
    out.note(`Left alone, because another version of svc or another user wrote it: ${path}`)
}

/** `not ready`: it responds with a refusal, for example while it has lost its database. */
export type State = 'ready' | 'not ready' | 'no response'

/** A probe needs no admin token, wherever the sandbox listens. */
export async function readiness(host: System, { url }: Pick<Locator, 'url'>): Promise<State> {
  const client = commandClient(host, { base_url: url, timeout_ms: responseTimeout_ms, validate: false })
  return client.health.ready().then(() => 'ready', stateOf)
}

function stateOf(error: unknown): State {
  return error instanceof ServiceError ? 'not ready' : 'no response'
}

interface SharedFields {
  namespace: string
  /** Nodes that serve it now; null if this one does not report them. */
  nodes: number | null
}

/** Resolves to the namespace of a shared store and its number of nodes; null for a database file, without a request. */
async function sharedFields(host: System, sandbox: Locator): Promise<SharedFields | null> {
  const { url: base_url, namespace } = sandbox
  if (namespace === undefined) return null
  const count = async () => {
    const admin_token = permittedControlToken({ base_url, allow_http: false, sandbox })
    const client = commandClient(host, { base_url, timeout_ms: responseTimeout_ms, validate: false, admin_token })
    return (await client.sandbox.info()).nodes?.length ?? null
  }
  return { namespace, nodes: await count().catch(() => null) }
}

function databaseText({ database, namespace, nodes, command }: Listed & Partial<SharedFields>): string {
  if (command !== undefined) return `exec: ${command}`
  if (namespace === undefined) return database
  const count = nodes == null ? '' : `, ${plural(nodes, 'node')}`
  return `${namespace}${count} on ${database}`
}

type Listed = Pick<Locator, 'database' | 'command'>

export function stateText(state: State, style: Style): string {
  return state === 'ready' ? style.green(state) : style.red(state)
}

/** `3s`, `31m`, `5h`, `2d`: in the largest unit that is not zero. */
export function upTime(span_ms: number): string {
  return span_ms < 1_000 ? '0s' : formatDuration(span_ms)
}

/** Returns where the base URL comes from, by the name of its flag or variable. */
export function sourceName(source: Source): string {
  if (source === 'flag') return '--base-url'
  if (source === 'environment') return settingsTable.base_url.env
  return source === 'sandbox' ? 'the only one' : source
}

/** The sandbox itself takes at most 5 s to finish the requests in flight, with a shared store after it has drained. */
const stopTimeout_ms = 15_000

export const stop: Command = {
  name: 'stop',
  summary: 'Stop a running sandbox cleanly',
  details:
    'First checks that the process is the sandbox, since any other process is left alone, then waits until it has ended. With several sandboxes, choose one with --base-url, or stop --all. One of svc exec ends with its command; --base-url stops both.',
  options: [new Option('--all', 'stop every running sandbox')],
  examples: ['sandbox stop', 'sandbox stop --all'],
  async run(session, { options }) {
    const running = await confirmedSandboxes(session)
    await noteForeignLocators(session)
    const chosen = options.all === true ? running.filter(isStarted) : [chooseOne(session, running)]
    if (chosen.length === 0) session.out.note('No sandbox is running. Nothing to stop.')
    for (const sandbox of chosen) {
      await requestStop(session, sandbox)
      await session.out.progress(`stopping ${sandbox.url}`, untilEnded(session, sandbox))
    }
    session.out.data(
      chosen.map(({ url, pid }) => ({ url, pid, stopped: true })),
      () => chosen.map(({ url, pid }) => `stopped ${url} (pid ${pid})`),
    )
    return 0
  },
}

/** Asks the sandbox itself: a signal would end it by force on Windows. One that is too busy or too old gets the signal. */
async function requestStop({ host, flags }: CommandContext, sandbox: Locator): Promise<void> {
  try {
    await controlClient(host, sandbox, flags.allow_http === true).sandbox.stop({ body: {} })
  } catch (error) {
    if (!(error instanceof ServiceError || error instanceof UnreachableError)) throw error
    host.terminate(sandbox.pid)
  }
}

/** Returns the sandboxes whose locators are correct. Notes the others, and removes locators written by this version. */
async function confirmedSandboxes({ host, out, flags }: CommandContext): Promise<Locator[]> {
  const home = stateDirectory(host)
  await checkReadable(home)
  const confirmed: Locator[] = []
  for (const sandbox of await runningSandboxes(home, host)) {
    const { url, pid } = sandbox
    const state = await processState(sandbox, host, flags.allow_http === true)
    if (state === 'running') confirmed.push(sandbox)
    else if (state === 'unreachable') out.note(unreachableText(sandbox))
    else if (state === 'silent') out.note(`${url} does not respond. If pid ${pid} is its process, end it: kill ${pid}`)
    else {
      if (sandbox.version === version) await removeLocator(home, sandbox)
      out.note(`${url} has ended. Left alone: pid ${pid}, which is now another process.`)
    }
  }
  return confirmed
}

function unreachableText({ url, pid }: Locator): string {
  return `${url} cannot be reached, and its process runs. Is a firewall or a proxy between them? To end it: kill ${pid}`
}

/**
 * The process is the sandbox if it responds as such, or if it listens on the sandbox's port but is too busy to respond
 * or has lost its database. Where nothing responds, or another program, the start of the process decides whether the
 * sandbox has ended.
 */
async function processState(
  sandbox: Locator,
  host: System,
  allow_http: boolean,
): Promise<'running' | 'silent' | 'unreachable' | 'ended'> {
  const { url, pid } = sandbox
  const otherwise = (await isSandboxProcess(sandbox, host)) === 'certain' ? 'unreachable' : 'ended'
  try {
    return (await controlClient(host, sandbox, allow_http).sandbox.info()).pid === pid ? 'running' : otherwise
  } catch (error) {
    const refuses = error instanceof ServiceError && error.reason_code !== null
    if (!refuses && !(error instanceof UnreachableError && error.timed_out)) return otherwise
    const holder = await portHolder(Number(new URL(url).port), host.platform, [])
    return holder.startsWith(`pid ${pid} `) ? 'running' : 'silent'
  }
}

function controlClient(host: System, sandbox: Locator, allow_http: boolean) {
  const { url } = sandbox
  const admin_token = permittedControlToken({ base_url: url, allow_http, sandbox })
  return commandClient(host, { base_url: url, timeout_ms: responseTimeout_ms, validate: false, admin_token })
}

function chooseOne({ settings: { source, base_url } }: CommandContext, running: readonly Locator[]): Locator {
  const isNamed = source.base_url !== 'sandbox' && source.base_url !== 'default'
  const [chosen, ...others] = isNamed
    ? running.filter(({ url }) => isSameService(url, base_url))
    : running.filter(isStarted)
  const urls = running.map(({ url }) => url).join(', ')
  if (chosen === undefined) {
    const message = isNamed ? `No sandbox is running at ${base_url}.` : 'No sandbox is running.'
    const ofExec = running.find((sandbox) => !isStarted(sandbox))
    if (!isNamed && ofExec !== undefined) {
      const hint = `It ends with its command. To stop both: svc sandbox stop --base-url ${ofExec.url}`
      const message = `The sandbox at ${ofExec.url} is of svc exec -- ${ofExec.command}.`
      throw new CliError('usage', 'sandbox_of_exec', message, hint)
    }
    const hint = urls === '' ? 'Nothing to stop.' : `Running: ${urls}.`
    throw new CliError('unreachable', 'sandbox_missing', message, hint)
  }
  if (others.length === 0) return chosen
  const message = `${running.length} sandboxes are running: ${urls}.`
  const hint = `Stop one: svc sandbox stop --base-url ${chosen.url}. Or stop all: svc sandbox stop --all.`
  throw new CliError('usage', 'sandbox_ambiguous', message, hint)
}

/** Whether `svc start` started it, not `svc exec`. */
function isStarted({ command }: Locator): boolean {
  return command === undefined
}

/** Resolves when the process has ended. Throws CliError when it has not after `stopTimeout_ms`. */
async function untilEnded({ host }: CommandContext, { pid, url }: Locator): Promise<void> {
  const deadline = host.now() + stopTimeout_ms
  while (host.isRunning(pid)) {
    if (host.now() > deadline) {
      const message = `${url} (pid ${pid}) has not stopped within ${stopTimeout_ms / 1000} s.`
      throw new CliError('unreachable', 'stop_timeout', message)
    }
    await sleep(25)
  }
}
