/** Runs one parsed command in a session: settings are resolved; signals and the end of its reader or parent interrupt it. */
import { createOutput, type OutputOptions } from '../output/output.ts'
import { configAbove, loadSettings } from '../settings/files.ts'
import { resolveSettings, type Settings } from '../settings/settings.ts'
import type { Flags } from '../settings/table.ts'
import type { Command } from './command.ts'
import { brokenResponse, sessionClient, severalSandboxesNote } from './command-client.ts'
import { exitCodes, InterruptError, noSandbox } from './errors.ts'
import { type Host, hostWith } from './host.ts'
import type { ParsedLine } from './parser.ts'
import { commandName } from './program-info.ts'
import type { Session } from './session.ts'

/** npm forwards the terminal's SIGINT a second time; two within this time count as one. */
const doubledSignalMs = 100

/** Runs a parsed command and returns its exit code. Throws every failure. */
export async function runSession(
  { command, input, common }: Extract<ParsedLine, { kind: 'command' }>,
  given: Host,
  output: OutputOptions,
): Promise<number> {
  const host = common.isInteractive ? given : hostWith(given, { stdin_is_terminal: false })
  const settings = await settingsOf(command, common.settings, host)
  output.format = settings.output
  const interrupt = new AbortController()
  let onInterrupt = (signal: string) => interrupt.abort(new InterruptError(signal))
  const { wide, columns } = input.options as { wide?: true; columns?: readonly string[] }
  if (output.view !== undefined) {
    const has_tables = (command.tables?.length ?? 0) > 1
    Object.assign(output.view, { wide: wide === true, columns: columns ?? null, has_tables })
  }
  const out = createOutput(host, output)
  await out.prepare()
  const removeHandler = handleSignals(host, (signal) => onInterrupt(signal))
  // `start` names the file itself, with what it takes from it.
  const above = command.name === 'start' ? null : await configAbove(host, common.settings)
  if (above !== null) out.note(`Settings from ${above}`)
  const onParentEnd = (pid: number) => {
    out.note(`The process that started this one (pid ${pid}) has ended.`)
    onInterrupt('SIGHUP')
  }
  const unwatch = host.env.npm_lifecycle_event === undefined ? () => {} : watchParents(host, onParentEnd)
  const command_name = commandName(host)
  let note = severalSandboxesNote(settings, command_name)
  try {
    const session: Session = {
      host,
      settings,
      flags: common.settings,
      out,
      command_name,
      signal: interrupt.signal,
      onInterrupt: (handler) => {
        onInterrupt = handler
      },
      client: ({ credential } = {}) => {
        if (settings.source.base_url === 'default') throw noSandbox()
        if (note !== null) out.note(note)
        note = null
        return sessionClient(host, settings, credential)
      },
    }
    const code = await command.run(session, input).finally(() => out.flush())
    return code
  } catch (error) {
    // What reads the output has seen enough (`svc events stream | head -1`), and nobody reads a message.
    if (error instanceof InterruptError && error.signal === 'SIGPIPE') return exitCodes.ok.exit_code
    // A command that fails on a response reports what was wrong with that response.
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error
    throw (await brokenResponse(host)) ?? error
  } finally {
    unwatch()
    removeHandler()
  }
}

/** Returns the settings of a command. A format that only this command has counts as text for everything else. */
async function settingsOf(command: Command, values: Flags, host: Host): Promise<Settings> {
  const flags = { ...values }
  if (command.formats?.includes(flags.output ?? '')) flags.output = 'text'
  return loadSettings(host, flags).catch((error) => {
    if (!command.acceptsInvalidSettings) throw error
    const { output } = flags
    return resolveSettings({
      flags: { output },
      allow_http: flags.allow_http === true,
      environment: {},
      config: {},
      profile: {},
      sandboxes: [],
    })
  })
}

/** Calls `first` for the first signal; a second one ends the process at once. Returns a function that undoes it. */
function handleSignals(host: Host, first: (signal: string) => void): () => void {
  let received_at: number | null = null
  return host.onSignal((signal) => {
    const now = host.now()
    if (received_at === null) first(signal)
    else if (now - received_at >= doubledSignalMs) host.exitNow(exitCodes.interrupted.exit_code)
    received_at ??= now
  })
}

/** The interval at which the parents are looked up, milliseconds. */
const parentInterval_ms = 500
const shells = /^-?(ba|da|z|k|a|fi)?sh$|^busybox$|^cmd\.exe$/
/** The names of package managers, and of the runtimes that run them. */
const managers = /^(npm|npx|pnpm|pnpx|yarn|bunx?|corepack|node|MainThread)\b/

interface Link {
  child: number
  parent: number
}

/**
 * Calls `onEnd` once when the package manager that runs this command has ended, with the id of the process that has ended.
 * Returns a function that ends the watch. `npm start` puts npm and often a shell between a terminal and this process: when one
 * of them is killed, nothing passes Ctrl-C on any more, and this process would never end.
 *
 * It is called only where a package manager says that it runs a script, and watches only the processes up to it: a command
 * started by a shell, a service manager or `svc start --detach` outlives what started it.
 */
function watchParents(host: Host, onEnd: (pid: number) => void): () => void {
  const links = linksToManager(host)
  if (links.length === 0) return () => {}
  const timer = setInterval(() => {
    const broken = links.find(({ child, parent }) => host.parentOf(child)?.pid !== parent)
    if (broken === undefined) return
    clearInterval(timer)
    onEnd(broken.parent)
  }, parentInterval_ms)
  timer.unref()
  return () => clearInterval(timer)
}

/** Returns the links from this process up to the package manager; none where no manager runs it. */
function linksToManager(host: Host): Link[] {
  const links: Link[] = []
  for (let child = host.pid; ; ) {
    const parent = host.parentOf(child)
    if (parent === null || parent.pid <= 1) return []
    links.push({ child, parent: parent.pid })
    if (parent.name === null || managers.test(parent.name)) return links
    if (!shells.test(parent.name)) return []
    child = parent.pid
  }
}
