/**
 * Runs one parsed command in a session: settings are resolved; signals, and the end of its reader or parent, interrupt
 * it. Its client sends the keys that the settings permit, and notes differences from the contract.
 */
import { type Client, type ClientOptions, clientOf } from '#client/client.ts'
import { ContractError } from '#client/errors.ts'
import { type Fetch, globalFetch, type RawResponse, streaming } from '#client/exchange.ts'
import { isLoopbackUrl, sendDirectly } from '#client/node-fetch.ts'
import type { EndpointId } from '#contract/index.ts'
import { parseJson } from '#foundation/json.ts'
import { endpoints } from '../endpoint/facts.ts'
import { createOutput, type OutputOptions } from '../output/output.ts'
import { configAbove, loadSettings } from '../settings/files.ts'
import {
  type PermittedKey,
  permittedControlToken,
  permittedSecretKey,
  resolveSettings,
  type Settings,
} from '../settings/settings.ts'
import type { Flags } from '../settings/table.ts'
import type { Command, CommandContext, CommandInput } from './command.ts'
import { exitCodes, InterruptError, NoSandboxError, noOwnSandbox, noSandboxFor } from './errors.ts'
import { commandLineAgent, commandName, type System, version, withReplaced } from './host.ts'

/** npm forwards the terminal's SIGINT a second time; two signals within this time count as one. */
const maxDoubledSignalMs = 100

interface ParsedCommand {
  command: Command
  input: CommandInput
  common: { settings: Flags; isInteractive: boolean }
}

/** Runs a parsed command and returns its exit code. Throws every failure. */
export async function runSession(
  { command, input, common }: ParsedCommand,
  given: System,
  output: OutputOptions,
): Promise<number> {
  const host = common.isInteractive ? given : withReplaced(given, { stdin_is_terminal: false })
  const settings = await loadCommandSettings(command, common.settings, host)
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
  const outlives = command.outlivesTerminal === true && !hasTerminal(given)
  const removeHandler = handleSignals(host, outlives, (signal) => onInterrupt(signal))
  // `start` names the file itself, along with the options taken from it.
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
    const session: CommandContext = {
      host,
      settings,
      flags: common.settings,
      out,
      command_name,
      signal: interrupt.signal,
      onInterrupt: (handler) => {
        onInterrupt = handler
        // It arrived while the command was being loaded.
        if (interrupt.signal.aborted) handler((interrupt.signal.reason as InterruptError).signal)
      },
      client: ({ credential } = {}) => {
        if (settings.source.base_url === 'default') throw noSandboxFor(settings)
        if (note !== null) out.note(note)
        note = null
        return sessionClient(host, settings, credential)
      },
    }
    const code = await command.run(session, input).finally(() => out.flush())
    return code
  } catch (error) {
    // The reader of the output has seen enough (`svc events stream | head -1`), and nobody would read a message.
    if (error instanceof InterruptError && error.signal === 'SIGPIPE') return exitCodes.ok.exit_code
    if (error instanceof NoSandboxError && (await host.respondsAt(settings.base_url)))
      throw noOwnSandbox(settings.base_url)
    // A command that fails on a response reports what is wrong with that response.
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error
    throw (await brokenResponse(host)) ?? error
  } finally {
    unwatch()
    removeHandler()
  }
}

/** Returns the settings of a command. A format specific to this command counts as text for everything else. */
async function loadCommandSettings(command: Command, values: Flags, host: System): Promise<Settings> {
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

/**
 * Whether a terminal is on the other side of this process. nohup leaves none to its command, and its SIGHUP that is
 * ignored is lost: Node restores the default of each signal when it starts. On macOS nohup leaves the input.
 */
function hasTerminal({ stdin_is_terminal, stdout, stderr, platform }: System): boolean {
  return stdout.is_terminal || stderr.is_terminal || (stdin_is_terminal && platform !== 'darwin')
}

/**
 * Calls `first` for the first signal; a second one ends the process immediately. With `outlives` the end of a terminal is
 * no signal. Returns a function that undoes it.
 */
function handleSignals(host: System, outlives: boolean, first: (signal: string) => void): () => void {
  let received_at: number | null = null
  return host.onSignal((signal) => {
    if (outlives && signal === 'SIGHUP') return
    const now = host.now()
    if (received_at === null) first(signal)
    else if (now - received_at >= maxDoubledSignalMs) host.exitNow(exitCodes.interrupted.exit_code)
    received_at ??= now
  })
}

/** The interval between checks of the parents, milliseconds. */
const parentIntervalMs = 500
const shells = /^-?(ba|da|z|k|a|fi)?sh$|^busybox$|^cmd\.exe$/
/** The names of package managers, and of the runtimes that run them. */
const managers = /^(npm|npx|pnpm|pnpx|yarn|bunx?|corepack|node|MainThread)\b/

interface ParentLink {
  child: number
  parent: number
}

/**
 * Calls `onEnd` once when the package manager that runs this command has ended, with the id of the process that has
 * ended. Returns a function that ends the watch. `npm start` puts npm and often a shell between a terminal and this
 * process: when one of them is killed, nothing forwards Ctrl-C any more, and this process would never end.
 *
 * It is called only when a package manager says that it runs a script, and watches only the processes up to it: a
 * command started by a shell, a service manager or `svc start --detach` outlives its starter.
 */
function watchParents(host: System, onEnd: (pid: number) => void): () => void {
  const links = linksToManager(host)
  if (links.length === 0) return () => {}
  const timer = setInterval(() => {
    const broken = links.find(({ child, parent }) => host.findParent(child)?.pid !== parent)
    if (broken === undefined) return
    clearInterval(timer)
    onEnd(broken.parent)
  }, parentIntervalMs)
  timer.unref()
  return () => clearInterval(timer)
}

/** Returns the links from this process up to the package manager; none when no manager runs it. */
function linksToManager(host: System): ParentLink[] {
  const links: ParentLink[] = []
  for (let child = host.pid; ; ) {
    const parent = host.findParent(child)
    if (parent === null || parent.pid <= 1) return []
    links.push({ child, parent: parent.pid })
    if (parent.name === null || managers.test(parent.name)) return links
    if (!shells.test(parent.name)) return []
    child = parent.pid
  }
}

/**
 * Returns the client of a service with its settings. It compares responses with the contract, except from a sandbox of
 * this very version if no fault rule has changed them: the tests cover that, and loading the schemas takes longer than
 * the call.
 */
export function sessionClient(host: System, settings: Settings, credential?: PermittedKey): Client {
  const { sandbox } = settings
  return commandClient(host, {
    base_url: settings.base_url,
    // Resolved by the first request that needs a credential: others work without one.
    credential: () => credential ?? permittedSecretKey(settings) ?? undefined,
    origin: settings.origin ?? undefined,
    admin_token: permittedControlToken(settings),
    validate: (response, endpoint) => {
      keepReceived(host, { endpoint, response })
      return sandbox?.version === version && response.headers.get('x-sandbox-fault') === null ? false : 'report'
    },
  })
}

/** Secrets that the settings permit for this service. */
interface CommandClientOptions extends Omit<ClientOptions, 'credential' | 'headers' | 'fetch'> {
  credential?: PermittedKey | (() => PermittedKey | undefined) | undefined
  admin_token?: PermittedKey | undefined
}

/** Returns a client for commands: it loads the schemas of the contract when it compares something with them. */
export function commandClient({ env }: Pick<System, 'env'>, { admin_token, ...options }: CommandClientOptions): Client {
  const headers = admin_token === undefined ? {} : { 'x-sandbox-token': admin_token }
  return clientOf(known, { fetch: httpFetch(env), headers, ...options })
}

/** A sandbox on this computer responds immediately or not at all. */
const probeTimeoutMs = 500

/** Whether a sandbox responds at a URL, even one of another user, whose locator cannot be read. Sends no key. */
export async function isSandboxAt(host: Pick<System, 'env'>, base_url: string): Promise<boolean> {
  const { health } = commandClient(host, { base_url, timeout_ms: probeTimeoutMs, validate: false })
  return health.live().then(
    ({ ok }) => ok === true,
    () => false,
  )
}

const known = { endpoints, schemas: () => import('#client/response.ts'), ...streaming }

/** A response as received, in case a command cannot work with it. */
interface Received {
  endpoint: EndpointId
  response: RawResponse
}

const maxReceived = 20

/** The last responses to a run of a command, by its host. */
const lastReceived = new WeakMap<System, Received[]>()

function keepReceived(host: System, received: Received): void {
  const kept = lastReceived.get(host) ?? []
  lastReceived.set(host, [...kept.slice(1 - maxReceived), received])
}

/** Returns the error of the first response to a run that breaks the contract, or null if none does. */
async function brokenResponse(host: System): Promise<ContractError | null> {
  const received = lastReceived.get(host) ?? []
  if (received.length === 0) return null
  const { compareResponse } = await known.schemas()
  for (const { endpoint, response } of received) {
    const { differences } = compareResponse(endpoint, parseJson(response.text) ?? null, response.status)
    if (differences.length > 0) return new ContractError(endpoint, response.status, differences, response.request_id)
  }
  return null
}

/** Returns a note that several sandboxes are running and which one is used; null when the choice is clear. */
export function severalSandboxesNote({ running, source, base_url }: Settings, command_name: string): string | null {
  if (running < 2 || source.base_url !== 'sandbox') return null
  return `${running} sandboxes are running: using ${base_url}, the newest. For another: --base-url URL; list them: ${command_name} sandbox ps`
}

/**
 * Returns a fetch over `node:http`: the global one takes 50 ms of processor time to load, twice what Node takes to
 * start. Sends plain HTTP itself, and everything to loopback. Leaves TLS and proxies of other services to the global
 * fetch. Redirects are returned as responses: no service of the contract sends one, and following it would send headers
 * and bodies to a service that nobody named.
 */
export function httpFetch(env: Readonly<Record<string, string | undefined>>): Fetch {
  return (url, init) => {
    const headers = { 'user-agent': `${commandLineAgent}${version}`, ...init.headers }
    const isDirect = isLoopbackUrl(url) || (url.startsWith('http:') && !env.NODE_USE_ENV_PROXY)
    return (isDirect ? sendDirectly : globalFetch)(url, { ...init, headers })
  }
}
