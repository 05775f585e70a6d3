/** `svc start`: the emulator in the foreground, until a signal stops it; or in the background. */
import { mkdir } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { Option } from 'commander'
import type { Sandbox, SandboxOptions } from '../../../sandbox/index.ts'
import { flagValues } from '../../cli/endpoint/flags.ts'
import { startInBackground } from '../../cli/process/background.ts'
import { Locator, removeLocator, runningSandboxes, writeLocator } from '../../cli/process/locator.ts'
import { openPage } from '../../cli/process/open-url.ts'
import { portHolder } from '../../cli/process/port-holder.ts'
import type { Command } from '../../cli/run/command.ts'
import type { Category } from '../../cli/run/errors.ts'
import { CliError } from '../../cli/run/errors.ts'
import type { Session } from '../../cli/run/session.ts'
import { configFileName, readSettingFiles, stateDirectory } from '../../cli/settings/files.ts'
import {
  defaultHost,
  defaultPort,
  mergeStartOptions,
  type StartOptions,
  startFlags,
  startWords,
} from '../../cli/settings/start-options.ts'
import { startBlock } from './start-block.ts'

/** How many ports after a busy default one are tried. */
const portsTried = 50
const flags = startFlags()

/** Failures of a start, and the category that each belongs to. */
const categories: Record<SandboxFailure['code'], Category> = {
  port_in_use: 'busy',
  database_in_use: 'busy',
  database_newer: 'usage',
  database_corrupt: 'usage',
  database_unwritable: 'usage',
  option_invalid: 'usage',
}

type SandboxFailure = import('../../../sandbox/index.ts').SandboxError

type Ready = Omit<Locator, 'started_at_ms'>
const Ready = Locator.omit({ started_at_ms: true })

export const start: Command = {
  name: 'start',
  summary: 'Start the sandbox',
  details: [
    'Prints its URL and keys when it is ready; other commands find it by themselves. Ctrl-C stops it cleanly, with exit code 0; a second Ctrl-C ends it at once, with 130.',
    `Options may also stand in the section sandbox of ${configFileName}, by the same names: {"sandbox": {"port": 4010, "seed": 1, "rate_limit": "5/s"}}. A flag wins; db is relative to the file.`,
  ].join('\n\n'),
  options: [
    ...flags.values(),
    new Option('--detach', 'run in the background; ends here when it is ready'),
    new Option('--open', 'open the demo in the browser when it is ready'),
  ],
  examples: ['start', 'start --port 0 --ephemeral --seed 1 -o json', 'start --detach --open'],
  async run(session, { options }) {
    const wanted = await startOptions(session, flagValues(flags, options))
    return options.detach === true
      ? startDetached(session, wanted, options.open === true)
      : startHere(session, wanted, options.open === true)
  },
}

async function startHere(session: Session, options: StartOptions, isOpened: boolean): Promise<number> {
  const stopped = new Promise<string>((resolve) => session.onInterrupt(resolve))
  const home = stateDirectory(session.host)
  const sandbox = await startOnFreePort(session, options, home)
  session.host.keepHeapSmall()
  const { url, inspector_url, database, pid, version, projects, admin_token } = sandbox
  const isPublic = !isLoopback(options.host ?? defaultHost)
  const ready = { url, inspector_url, database, pid, version, projects, ...(isPublic ? { admin_token } : {}) }
  try {
    await writeLocator(home, { ...ready, started_at_ms: session.host.now() })
    for (const warning of sandbox.warnings) session.out.note(`warning: ${warning}`)
    printReady(session, ready, null)
    if (isOpened) await openPage(session, demoOf(ready))
    const signal = await stopped
    session.out.note(`${signal}: stopping`)
  } finally {
    await sandbox.close()
    await removeLocator(home, pid)
  }
  session.out.note('stopped')
  return 0
}

/** Runs `svc start -o json` in the background, with the same options. */
async function startDetached(session: Session, options: StartOptions, isOpened: boolean): Promise<number> {
  const { host, out, flags, signal } = session
  const config = flags.config === undefined ? [] : [`--config=${flags.config}`]
  const words = ['start', ...startWords(options), ...config, '-o', 'json']
  const starting = startInBackground(host, words, { home: stateDirectory(host), signal })
  const { line, notes, log_file } = await out.progress('waiting until the sandbox is ready', starting)
  for (const note of notes) out.note(note)
  const ready = Ready.parse(JSON.parse(line))
  printReady(session, ready, log_file)
  if (isOpened) await openPage(session, demoOf(ready))
  return 0
}

function printReady({ host, out, command_name }: Session, ready: Ready, log_file: string | null): void {
  out.item(log_file === null ? ready : { ...ready, log_file }, (style) =>
    startBlock(ready, { command_name, home: host.home, log_file }, style).join('\n'),
  )
}

function demoOf({ url }: Ready): string {
  return `${url}/_sandbox/demo`
}

/** Flags before the section of the config file, which says so. */
async function startOptions({ host, out, flags: settings }: Session, given: StartOptions): Promise<StartOptions> {
  const { config } = await readSettingFiles(host, settings)
  if (config?.values.sandbox === undefined) return given
  const { db, ...others } = config.values.sandbox
  const section = db === undefined ? others : { ...others, db: resolve(dirname(config.path), db) }
  const merged = mergeStartOptions(given, section)
  const used = Object.keys(merged).filter((name) => !(name in given))
  if (used.length > 0) out.note(`From ${config.path}: ${used.join(', ')}.`)
  return merged
}

/** Starts a sandbox. Throws CliError for whatever keeps it from starting. */
export async function startOnFreePort(session: Session, options: StartOptions, home: string): Promise<Sandbox> {
  const database = options.ephemeral ? ':memory:' : resolve(session.host.cwd, options.db ?? join(home, 'sandbox.db'))
  if (options.db === undefined) await mkdir(home, { recursive: true, mode: 0o700 })
  const { startSandbox, SandboxError } = await import('../../../sandbox/index.ts')
  const first = options.port ?? defaultPort
  for (let port = first; ; port++) {
    try {
      const sandbox = await startSandbox(sandboxOptions(options, port, database))
      if (port !== first) session.out.note(`Port ${first} is taken by ${await holder(session, first)}: using ${port}.`)
      return sandbox
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error
      const isNextTried = error.code === 'port_in_use' && options.port === undefined && port < first + portsTried
      if (!isNextTried) throw await startFailure(session, error, port, database)
    }
  }
}

function sandboxOptions(options: StartOptions, port: number, database: string): SandboxOptions {
  return {
    port,
    host: options.host ?? defaultHost,
    database,
    ...(options.seed === undefined ? {} : { seed: options.seed }),
    ...(options.rate_limit === undefined ? {} : { rate_limit: options.rate_limit }),
    ...(options.decision_latency === undefined ? {} : { decision_latency_ms: options.decision_latency }),
    ...(options.scenario === undefined ? {} : { scenario: options.scenario }),
    ...(options.journal_limit === undefined ? {} : { journal_limit: options.journal_limit }),
  }
}

/** The failure in words that name the holder of a port, and the sandbox that has a database open. */
async function startFailure(
  session: Session,
  error: SandboxFailure,
  port: number,
  database: string,
): Promise<CliError> {
  const category = categories[error.code]
  if (error.code === 'port_in_use') {
    const message = `Port ${port} is taken by ${await holder(session, port)}.`
    return new CliError(
      category,
      error.code,
      message,
      `Try: svc start --port ${port + 1}, or --port 0 for any free one.`,
    )
  }
  const user = (await running(session)).find((sandbox) => sandbox.database === database)
  if (error.code === 'database_in_use' && user !== undefined) {
    const message = `A sandbox with this database runs already: ${user.url} (pid ${user.pid}).`
    return new CliError(
      category,
      error.code,
      message,
      'Use it, stop it with svc sandbox stop, or start another: svc start --ephemeral',
    )
  }
  return new CliError(category, error.code, error.message, error.hint)
}

async function holder(session: Session, port: number): Promise<string> {
  return portHolder(port, session.host.platform, await running(session))
}

/** Beyond loopback the control plane demands the admin token. */
function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.')
}

function running({ host }: Session) {
  return runningSandboxes(stateDirectory(host), host)
}
