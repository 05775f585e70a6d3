/** `svc start`: runs the emulator in the foreground until a signal stops it, or in the background. */
import { dirname, resolve } from 'node:path'
import { Option } from 'commander'
import { flagValues } from '#cli/endpoint/flags.ts'
import { startInBackground } from '#cli/process/background.ts'
import type { Certificate } from '#cli/process/certificate.ts'
import { openPage } from '#cli/process/open-url.ts'
import { type Command, type CommandContext, hasScreen } from '#cli/run/command.ts'
import { readSettingFiles } from '#cli/settings/files.ts'
import { chooseSandbox, findRoot, folderState } from '#cli/settings/sandbox-folder.ts'
import type { ConfigFile } from '#cli/settings/schemas.ts'
import {
  mergeStartOptions,
  type StartOptions,
  startEnvironment,
  startFlags,
  startWords,
} from '#cli/settings/start-options.ts'
import { ownProcess, stateDirectory, stateProblem, writeLocator } from '#cli/settings/state-directory.ts'
import { configFileName } from '#cli/settings/table.ts'
import type { Sandbox } from '#sandbox/index.ts'
import { closeEmulator, memory, running, startOnFreePort } from './emulator.ts'
import { playbackNotes } from './playback-text.ts'
import { demoUrl, type Ready, type StartDetails, startBlock } from './start-block.ts'

const flags = startFlags()

export const start: Command = {
  name: 'start',
  summary: 'Start the sandbox',
  details: [
    'Prints its URL and keys when it is ready. Other commands find it without settings. Ctrl-C stops it cleanly, with exit code 0; a second Ctrl-C ends it immediately, with 130. On a terminal, o opens the demo. When its terminal closes, it stops too, unless it has none: nohup svc start goes on, like other servers.',
    `Options can also be set in the sandbox section of ${configFileName}, by the same names: {"sandbox": {"port": 4010, "seed": 1, "rate_limit": "5/s"}}. A flag takes precedence, then a variable; paths are relative to the file that names them.`,
    'Phones and containers reach it with --host 0.0.0.0 --public-url http://NAME:4010, where NAME is the name they know this computer by. Requests to any other name are refused, and the control plane then requires the admin token from all clients: in the x-sandbox-token header, or as ?token= in a browser. Commands on this computer find it automatically.',
    'With --store, any number of nodes share one database: svc docs team. With --playback, it responds as a recording of the service does: svc docs recordings.',
  ].join('\n\n'),
  usualFlags:
    '--port --name --db --ephemeral --seed --rate-limit --scenario --host --public-url --playback --detach --open',
  options: [
    ...flags.values(),
    new Option('-d, --detach', 'run in the background; returns when it is ready'),
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
  let stopKeys: (() => void) | null = null
  const { shared } = sandbox
  const ready = describeReady(sandbox, certificate)
  try {
    if (unwritable === null) await writeOwnLocator(context, home, sandbox, { ...ready, name: options.name })
    else context.out.note(`warning: ${unwritable.message} Other commands need --base-url ${ready.url} and the keys.`)
    noteStart(context, sandbox, options)
    stopKeys = await readKeys(context, demoUrl(ready))
    printReady(context, ready, { chosen: options, has_keys: stopKeys !== null })
    if (isOpened) await openPage(context, demoUrl(ready))
    const signal = await stopped
    context.out.note(`${signal}: stopping`)
    for (const note of playbackNotes(sandbox.playback())) context.out.note(note)
    // Ctrl-C comes from a user who waits for the end.
    if (shared !== null && signal === 'SIGTERM') drain_ms = options.drain ?? defaultDrainMs
  } finally {
    stopKeys?.()
    await closeEmulator(sandbox, { home, pid: context.system.pid, pid_scope, drain_ms })
  }
  context.out.note('stopped')
  return 0
}

/** Opens the demo whenever o is typed; null where no keys are read: not on a terminal, in the background of one, in CI. */
async function readKeys(context: CommandContext, demo: string): Promise<(() => void) | null> {
  if (!hasScreen(context) || context.system.env.CI) return null
  return context.system.readKeys((key) => {
    if (key === 'o') void openPage(context, demo)
  })
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
  { strict, otlp }: StartOptions,
): void {
  if (strict === true) out.note('Strict: only the API document, without the routes of old clients.')
  if (otlp !== undefined) out.note(`Traces go to ${otlp}.`)
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
  'The control plane of this store already has tokens; the token of this start works on this node only. An admin can create another: svc team tokens create. If the admin token is lost: svc team tokens reset-admin'

/** How long a node of a shared store serves after SIGTERM: a balancer asks readyz every second or two. */
const defaultDrainMs = 3_000

/** Runs `svc start -o json` in the background, with the same options. */
async function startDetached(context: CommandContext, options: StartOptions, isOpened: boolean): Promise<number> {
  const { system, out, flags, signal } = context
  const config = flags.config === undefined ? [] : [`--config=${flags.config}`]
  const { words, variables } = startWords(options)
  const starting = startInBackground(system, ['start', ...words, ...config, '-o', 'json'], {
    directory: folderState(system).directory,
    signal,
    variables,
  })
  const { line, notes, log_file } = await out.progress('waiting until the sandbox is ready', starting)
  const ready = JSON.parse(line) as Ready
  const { sandbox } = chooseSandbox(await running(context), findRoot(system.cwd))
  printReady(context, ready, {
    log_file,
    stop_options: sandbox?.url === ready.url ? '' : ` --base-url ${ready.url}`,
    chosen: options,
  })
  // Below the block, which is as high as a small terminal.
  for (const note of notes) out.note(note)
  if (isOpened) await openPage(context, demoUrl(ready))
  return 0
}

function printReady({ system, out, command_name }: CommandContext, ready: Ready, details: StartDetails): void {
  const { log_file = null } = details
  out.item(log_file === null ? ready : { ...ready, log_file }, (style) =>
    startBlock(ready, { command_name, home: system.home, ...details }, style),
  )
}

/** Resolves to the demand of the environment and of the config file, for what starts a sandbox beside the command itself. */
export async function readDemandOptions({
  system,
  flags,
}: Pick<CommandContext, 'system' | 'flags'>): Promise<Pick<StartOptions, 'demand' | 'only'>> {
  const { config } = await readSettingFiles(system, flags)
  const section = { ...config?.values.sandbox }
  if (config !== null && section.demand !== undefined) section.demand = resolve(dirname(config.path), section.demand)
  const { demand, only } = mergeStartOptions(startEnvironment(system.env), section)
  return demand === undefined ? {} : { demand, ...(only === undefined ? {} : { only }) }
}

/** Adds options of the environment and of the section `sandbox` of the config file; flags win. Notes which ones. */
async function startOptions(
  { system, out, flags: settings }: CommandContext,
  flags: StartOptions,
): Promise<StartOptions> {
  const given = inMemory(mergeStartOptions(flags, startEnvironment(system.env)))
  const { config } = await readSettingFiles(system, settings)
  if (config?.values.sandbox === undefined) return given
  const section = notPlayed(config, given, out)
  for (const name of ['db', 'demand', 'playback', 'overrides', 'tls_cert', 'tls_key'] as const) {
    if (section[name] !== undefined && section[name] !== memory)
      section[name] = resolve(dirname(config.path), section[name])
  }
  const merged = inMemory(mergeStartOptions(given, section))
  const used = Object.keys(merged).filter((name) => !(name in given))
  if (used.length > 0) out.note(`From ${config.path}: ${used.join(', ')}.`)
  return merged
}

/**
 * Returns the section `sandbox` of a config file without its recording, unless you name one: whoever sends you a repository
 * does not choose what your sandbox responds.
 */
function notPlayed(
  { path, values }: { path: string; values: ConfigFile },
  given: StartOptions,
  out: CommandContext['out'],
): StartOptions {
  const section = { ...values.sandbox }
  if (section.playback === undefined || given.playback !== undefined) return section
  const { playback, fallback: _, max_age: __, strict_age: ___, ...others } = section
  out.note(`Not played, since only ${path} names it. To play it: --playback ${resolve(dirname(path), playback)}`)
  return others
}

function inMemory(options: StartOptions): StartOptions {
  if (options.db !== memory) return options
  const { db: _, ...rest } = options
  return { ...rest, ephemeral: true }
}
