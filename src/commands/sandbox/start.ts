/** `svc start`: runs the emulator in the foreground until a signal stops it, or in the background. */
import { dirname, join, resolve } from 'node:path'
import { inspect } from 'node:util'
import { Option } from 'commander'
import { flagValues } from '#cli/endpoint/flags.ts'
import { printable, type Style } from '#cli/output/terminal.ts'
import { alignPairs, plural, timeText } from '#cli/output/text.ts'
import { startInBackground } from '#cli/process/background.ts'
import type { Certificate } from '#cli/process/certificate.ts'
import { openPage } from '#cli/process/open-url.ts'
import type { Command, CommandContext } from '#cli/run/command.ts'
import { type Category, CliError } from '#cli/run/errors.ts'
import type { System } from '#cli/run/system.ts'
import { parseUserJson, readUserText } from '#cli/run/user-file.ts'
import { configFileName, readSettingFiles } from '#cli/settings/files.ts'
import {
  defaultPort,
  mergeStartOptions,
  type StartOptions,
  startEnvironment,
  startFlags,
  startWords,
} from '#cli/settings/start-options.ts'
import {
  createStateDirectory,
  type Locator,
  ownProcess,
  removeLocator,
  runningSandboxes,
  stateDirectory,
  stateProblem,
  writeLocator,
} from '#cli/settings/state-directory.ts'
import { parseDuration } from '#foundation/duration.ts'
import { withoutUndefined } from '#foundation/json.ts'
import { redactSecrets } from '#foundation/redaction.ts'
import type { PlaybackSource, Sandbox, SandboxOptions } from '#sandbox/index.ts'
import { playbackNotes } from './playback-text.ts'

/** The number of ports to try after the default one if it is taken. */
const portsTried = 50
const flags = startFlags()

/** The exit code of each failure to start. */
export const categories: Record<SandboxFailure['code'], Category> = {
  port_in_use: 'busy',
  database_in_use: 'busy',
  database_newer: 'usage',
  database_corrupt: 'usage',
  database_unwritable: 'usage',
  database_unreachable: 'usage',
  option_invalid: 'usage',
  recording_invalid: 'usage',
  recording_old: 'usage',
}

type SandboxFailure = import('#sandbox/index.ts').SandboxError

type Ready = Omit<Locator, 'started_at_ms'> & { playback?: PlaybackSource }

export const start: Command = {
  name: 'start',
  summary: 'Start the sandbox',
  details: [
    'Prints its URL and keys when it is ready. Other commands find it without settings. Ctrl-C stops it cleanly, with exit code 0; a second Ctrl-C ends it immediately, with 130. When its terminal closes, it stops too, unless it has none: nohup svc start goes on, like other servers.',
    `Options can also be set in the sandbox section of ${configFileName}, by the same names: {"sandbox": {"port": 4010, "seed": 1, "rate_limit": "5/s"}}. A flag takes precedence, then a variable; paths are relative to the file that names them.`,
    'Phones and containers reach it with --host 0.0.0.0 --public-url http://NAME:4010, where NAME is the name they know this computer by. Requests to any other name are refused, and the control plane then requires the admin token from all clients: in the x-sandbox-token header, or as ?token= in a browser. Commands on this computer find it automatically.',
    'With --store, any number of nodes share one database: svc docs team. With --playback, it responds as a recording of the service does: svc docs recordings.',
  ].join('\n\n'),
  options: [
    ...flags.values(),
    new Option('--detach', 'run in the background; returns when it is ready'),
    new Option('--open', 'open the demo in the browser when it is ready'),
  ],
  outlivesTerminal: true,
  examples: ['start', 'start --port 0 --ephemeral --seed 1 -o json', 'start --detach --open'],
  async run(context, { options }) {
    const chosen = await startOptions(context, flagValues(flags, options))
    const isOpened = options.open === true
    return options.detach === true ? startDetached(context, chosen, isOpened) : startHere(context, chosen, isOpened)
  },
}

async function startHere(context: CommandContext, options: StartOptions, isOpened: boolean): Promise<number> {
  const stopped = new Promise<string>((resolve) => context.onInterrupt(resolve))
  const home = stateDirectory(context.system)
  const unwritable = stateProblem(home)
  // In memory or on a server it needs no file; commands can then find it by its URL.
  if (unwritable !== null && options.ephemeral !== true && options.store === undefined) throw unwritable
  // Loading the emulator would double the young generation once more. Code cached under other flags is not used.
  context.system.keepHeapSmall()
  context.system.optimizeSooner()
  const { sandbox, certificate } = await startOnFreePort(context, options)
  const pid_scope = context.system.pid_scope ?? undefined
  let drain_ms = 0
  const { shared } = sandbox
  const ready = describeReady(sandbox, certificate)
  try {
    if (unwritable === null) await writeOwnLocator(context, home, sandbox, ready)
    else context.out.note(`warning: ${unwritable.message} Other commands need --base-url ${ready.url} and the keys.`)
    noteStart(context, sandbox, options)
    printReady(context, ready, { chosen: options })
    if (isOpened) await openPage(context, demoUrl(ready))
    const signal = await stopped
    context.out.note(`${signal}: stopping`)
    for (const note of playbackNotes(sandbox.playback())) context.out.note(note)
    // Ctrl-C comes from a user who waits for the end.
    if (shared !== null && signal === 'SIGTERM') drain_ms = options.drain ?? defaultDrainMs
  } finally {
    await close(sandbox, { home, pid_scope, drain_ms })
  }
  context.out.note('stopped')
  return 0
}

async function writeOwnLocator(
  { system }: CommandContext,
  home: string,
  { shared, first_token, admin_token }: Sandbox,
  { playback: _, ...ready }: Ready,
): Promise<void> {
  const own = shared === null ? ready : { ...ready, admin_token: first_token ?? admin_token }
  await writeLocator(home, { ...own, ...(await ownProcess(system)), started_at_ms: system.now() })
}

function noteStart(
  { out }: CommandContext,
  { shared, first_token, warnings }: Sandbox,
  { strict }: StartOptions,
): void {
  if (strict === true) out.note('Strict: only the API document, without the routes of old clients.')
  for (const warning of warnings) out.note(`warning: ${warning}`)
  if (shared !== null && first_token === null) out.note(tokenNote)
}

/** Returns what a start prints and other commands find. */
function describeReady(sandbox: Sandbox, certificate: Certificate | null): Ready {
  const { url, public_url, inspector_url, database, pid, version, projects, shared, first_token } = sandbox
  // With a shared store, the token that every node knows. The one from this start would not work behind a balancer.
  const isNeeded = shared === null ? sandbox.is_public : public_url === url
  const admin_token = first_token ?? (isNeeded ? sandbox.admin_token : null)
  return {
    ...{ url, inspector_url, database, pid, version, projects },
    ...(public_url === url ? {} : { public_url }),
    ...(admin_token === null ? {} : { admin_token }),
    ...(shared ?? {}),
    ...describePlayback(sandbox.playback()),
    ...(certificate === null ? {} : { certificate: certificate.path }),
  }
}

function describePlayback(playback: ReturnType<Sandbox['playback']>): Pick<Ready, 'playback'> {
  if (playback === null) return {}
  const { file, creator, recorded_at_ms, exchanges, sessions, fallback } = playback
  return { playback: { file, creator, recorded_at_ms, exchanges, sessions, fallback } }
}

const tokenNote =
  'The control plane of this store already has tokens; the token of this start works on this node only. An admin can create another: svc tokens create. If the admin token is lost: svc tokens reset-admin'

/** How long a node of a shared store serves after SIGTERM: a balancer asks readyz every second or two. */
const defaultDrainMs = 3_000

/** Runs `svc start -o json` in the background, with the same options. */
async function startDetached(context: CommandContext, options: StartOptions, isOpened: boolean): Promise<number> {
  const { system, out, flags, signal } = context
  const config = flags.config === undefined ? [] : [`--config=${flags.config}`]
  const { words, variables } = startWords(options)
  const starting = startInBackground(system, ['start', ...words, ...config, '-o', 'json'], {
    home: stateDirectory(system),
    signal,
    variables,
  })
  const { line, notes, log_file } = await out.progress('waiting until the sandbox is ready', starting)
  for (const note of notes) out.note(note)
  const ready = JSON.parse(line) as Ready
  const isOnly = (await running(context)).length === 1
  printReady(context, ready, { log_file, stop_options: isOnly ? '' : ` --base-url ${ready.url}`, chosen: options })
  if (isOpened) await openPage(context, demoUrl(ready))
  return 0
}

function printReady({ system, out, command_name }: CommandContext, ready: Ready, details: StartDetails): void {
  const { log_file = null } = details
  out.item(log_file === null ? ready : { ...ready, log_file }, (style) =>
    startBlock(ready, { command_name, home: system.home, ...details }, style),
  )
}

/**
 * Returns the address of a page of the sandbox; beyond loopback, with the admin token, which a browser cannot send as a
 * header.
 */
function pageUrl({ url, public_url = url, admin_token }: Ready, path: string): string {
  return `${public_url}${path}${admin_token === undefined ? '' : `?token=${admin_token}`}`
}

function demoUrl(ready: Ready): string {
  return pageUrl(ready, '/_sandbox/demo')
}

/** Adds options of the environment and of the section `sandbox` of the config file; flags win. Notes which ones. */
async function startOptions(
  { system, out, flags: settings }: CommandContext,
  flags: StartOptions,
): Promise<StartOptions> {
  const given = inMemory(mergeStartOptions(flags, startEnvironment(system.env)))
  const { config } = await readSettingFiles(system, settings)
  if (config?.values.sandbox === undefined) return given
  const section = { ...config.values.sandbox }
  for (const name of ['db', 'playback', 'overrides', 'tls_cert', 'tls_key'] as const) {
    if (section[name] !== undefined && section[name] !== memory)
      section[name] = resolve(dirname(config.path), section[name])
  }
  const merged = inMemory(mergeStartOptions(given, section))
  const used = Object.keys(merged).filter((name) => !(name in given))
  if (used.length > 0) out.note(`From ${config.path}: ${used.join(', ')}.`)
  return merged
}

/** SQLite's own name for a database without a file. */
const memory = ':memory:'

function inMemory(options: StartOptions): StartOptions {
  if (options.db !== memory) return options
  const { db: _, ...rest } = options
  return { ...rest, ephemeral: true }
}

/** Starts a sandbox, on the next free port if the default one is taken. Throws CliError if it cannot start. */
export async function startOnFreePort(
  context: CommandContext,
  options: StartOptions,
): Promise<{ sandbox: Sandbox; certificate: Certificate | null }> {
  const home = stateDirectory(context.system)
  const { store } = options
  const isFile = store === undefined && options.ephemeral !== true
  const database = !isFile ? memory : resolve(context.system.cwd, options.db ?? join(home, 'sandbox.db'))
  if (isFile && options.db === undefined) createStateDirectory(home)
  const certificate = await loadCertificate(context.system, home, options)
  const files = await readStartFiles(context, options)
  const { startSandbox, SandboxError } = await import('#sandbox/index.ts')
  const report = failureReport((line) => context.system.stderr.write(`${printable(line)}\n`))
  const first = options.port ?? defaultPort
  for (let port = first; ; port++) {
    try {
      const chosen = { ...sandboxOptions(options, port, database, certificate), ...files }
      // The same end as by a signal, whatever this process does beside the sandbox.
      const stop = () => void context.system.signal(context.system.pid, 'SIGTERM')
      const sandbox = await startSandbox({ ...chosen, stop, report })
      if (port !== first) context.out.note(`Port ${first} is taken by ${await holder(context, first)}: using ${port}.`)
      return { sandbox, certificate }
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error
      const isNextTried = error.code === 'port_in_use' && options.port === undefined && port < first + portsTried
      if (!isNextTried) throw await startFailure(context, error, port, database)
    }
  }
}

/** Resolves to the content of --overrides, which the sandbox checks, and the path of --playback. Throws CliError. */
async function readStartFiles(
  { system }: CommandContext,
  { overrides: file, playback }: StartOptions,
): Promise<Pick<SandboxOptions, 'overrides' | 'playback'>> {
  const hint = 'A file of overrides is JSON: svc contract compare FILE --write-overrides FILE writes one.'
  return {
    ...(file !== undefined && { overrides: await parseUserJson(await readUserText(system, file), file, { hint }) }),
    ...(playback !== undefined && { playback: resolve(system.cwd, playback) }),
  }
}

/** Closes the sandbox. Throws CliError when the disk is full. */
async function close(
  sandbox: Sandbox,
  { home, pid_scope, drain_ms }: { home: string; pid_scope: string | undefined; drain_ms: number },
): Promise<void> {
  try {
    await sandbox.close({ drain_ms })
  } catch (error) {
    if (!(error instanceof Error && error.name === 'SandboxError')) throw error
    const { code, message, hint } = error as SandboxFailure
    throw new CliError(categories[code], code, message, hint)
  } finally {
    await removeLocator(home, { pid: sandbox.pid, pid_scope })
  }
}

/** A disk that stays full is reported again after this time, milliseconds. */
const repeatMs = 60_000

/** Returns a function that reports failures: one line for a disk that refuses writes, however many. */
export function failureReport(print: (text: string) => void): (error: unknown) => void {
  let last = ''
  let last_at = 0
  return (error) => {
    if (error instanceof Error && error.name.endsWith('Warning')) return print(`warning: ${error.message}`)
    if (!(error instanceof Error && error.name === 'StorageError')) return print(redactSecrets(inspect(error)))
    const now = performance.now()
    if (error.message === last && now - last_at < repeatMs) return
    last = error.message
    last_at = now
    print(`${error.message}. Requests that need it get a 503 until this is solved.`)
  }
}

/** Returns the certificate of --tls, or from the given files; null for http. */
async function loadCertificate(system: System, home: string, options: StartOptions): Promise<Certificate | null> {
  const { tls, tls_cert: cert, tls_key: key, public_url = '', allowed_host = [] } = options
  if (tls !== true && cert === undefined && key === undefined) return null
  const { ownCertificate, readCertificate } = await import('#cli/process/certificate.ts')
  if (cert !== undefined && key !== undefined) return readCertificate(system, { cert, key })
  if (tls === true) return ownCertificate(system, home, [...allowed_host, URL.parse(public_url)?.hostname ?? ''])
  const [given, missing] = cert === undefined ? ['--tls-key', '--tls-cert'] : ['--tls-cert', '--tls-key']
  const hint = 'Give both, or --tls for a certificate that svc makes.'
  throw new CliError('usage', 'option_missing', `${given} needs ${missing} FILE.`, hint)
}

function sandboxOptions(
  options: StartOptions,
  port: number,
  database: string,
  certificate: Certificate | null,
): SandboxOptions {
  const { store, db, ephemeral } = options
  return {
    port,
    ...(certificate === null ? {} : { tls: certificate }),
    ...(store === undefined ? { database } : { store }),
    ...withoutUndefined({
      host: options.host,
      public_url: options.public_url,
      allowed_hosts: options.allowed_host,
      namespace: db !== undefined || ephemeral === true ? undefined : options.namespace,
      seed: options.seed,
      rate_limit: options.rate_limit,
      decision_latency_ms: options.decision_latency,
      scenario: options.scenario,
      strict: options.strict,
      allow_known_keys: options.allow_known_keys,
      fallback: options.fallback,
      max_age_ms: options.max_age === undefined ? undefined : (parseDuration(options.max_age) ?? undefined),
      strict_age: options.strict_age,
      journal_limit: options.journal_limit,
    }),
  }
}

/** Returns the failure with the process that holds the port, or the sandbox that has the database open. */
async function startFailure(
  context: CommandContext,
  error: SandboxFailure,
  port: number,
  database: string,
): Promise<CliError> {
  const failure = (message: string, hint: string | null) =>
    new CliError(categories[error.code], error.code, message, hint)
  if (error.code === 'port_in_use') {
    const hint = `Try: svc start --port ${port + 1}, or --port 0 for any free one.`
    return failure(`Port ${port} is taken by ${await holder(context, port)}.`, hint)
  }
  const user = (await running(context)).find((sandbox) => sandbox.database === database)
  if (error.code === 'database_in_use' && user !== undefined) {
    const hint = 'Use it, stop it with svc sandbox stop, or start another: svc start --ephemeral'
    return failure(`A sandbox with this database is already running: ${user.url} (pid ${user.pid}).`, hint)
  }
  return failure(error.message, error.hint)
}

async function holder(context: CommandContext, port: number): Promise<string> {
  const { portHolder } = await import('#cli/process/port-holder.ts')
  return portHolder(port, context.system.platform, await running(context))
}

function running({ system }: CommandContext) {
  return runningSandboxes(stateDirectory(system), system)
}

/** What a start prints beside what it has started. */
interface StartDetails {
  log_file?: string | null
  /** The options with which `sandbox stop` finds it. */
  stop_options?: string
  /** What the start was given, which is repeated. */
  chosen?: StartOptions
}

/** The lines that `svc start` prints when the sandbox is ready. */
export function startBlock(
  sandbox: Ready,
  details: StartDetails & { command_name: string; home: string },
  style: Style,
): string[] {
  const { command_name, home, log_file = null, stop_options = '', chosen = {} } = details
  return [
    `${style.bold('svc')} ${sandbox.version}: ${style.green('the sandbox is ready')}`,
    '',
    ...indent(
      alignPairs(
        [
          ...placePairs(sandbox, home, style),
          ...chosenPairs(chosen),
          ...projectPairs(sandbox),
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
      log_file === null
        ? 'Ctrl-C stops it.'
        : `It runs in the background. Stop it: ${command_name} sandbox stop${stop_options}`,
    ),
  ]
}

type Pair = [string, string | null]

function placePairs(sandbox: Ready, home: string, style: Style): Pair[] {
  const { url, public_url, certificate, database, namespace, nodes } = sandbox
  return [
    ['URL', style.cyan(url)],
    ['public URL', public_url === undefined ? null : style.cyan(public_url)],
    ['demo', style.cyan(demoUrl(sandbox))],
    ['inspector', style.cyan(pageUrl(sandbox, '/_sandbox/'))],
    ['certificate', certificate === undefined ? null : shorten(certificate, home)],
    ['database', database === memory ? 'in memory, lost when it stops' : shorten(database, home)],
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
    ['plays', file === null ? contents : `${shorten(file, home)}, ${contents}`],
    ['recorded', timeText(recorded_at_ms, style)],
    ['not recorded', fallback ? 'the emulator responds' : 'refused with not_recorded, 404'],
  ]
}

function chosenPairs({ rate_limit, decision_latency, scenario, overrides }: StartOptions): Pair[] {
  return [
    ['rate limit', rate_limit ?? null],
    ['decisions take', decision_latency === undefined ? null : `${decision_latency} ms`],
    ['scenario', scenario ?? null],
    ['overrides', overrides ?? null],
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

/** Returns a path under the home directory as `~/...`. */
function shorten(path: string, home: string): string {
  return home !== '' && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}
