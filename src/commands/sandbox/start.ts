/** `svc start`: runs the emulator in the foreground until a signal stops it, or in the background. */
import { mkdirSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { inspect } from 'node:util'
import { Option } from 'commander'
import type { Sandbox, SandboxOptions } from '../../../sandbox/index.ts'
import { flagValues } from '../../cli/endpoint/input.ts'
import { printable } from '../../cli/output/printable.ts'
import type { Style } from '../../cli/output/style.ts'
import { alignPairs } from '../../cli/output/text.ts'
import { startInBackground } from '../../cli/process/background.ts'
import { type Locator, removeLocator, runningSandboxes, writeLocator } from '../../cli/process/locator.ts'
import { openPage } from '../../cli/process/open-url.ts'
import type { Command } from '../../cli/run/command.ts'
import { type Category, CliError } from '../../cli/run/errors.ts'
import type { Session } from '../../cli/run/session.ts'
import { configFileName, readSettingFiles, stateDirectory } from '../../cli/settings/files.ts'
import {
  defaultHost,
  defaultPort,
  mergeStartOptions,
  type StartOptions,
  startEnvironment,
  startFlags,
  startWords,
} from '../../cli/settings/start-options.ts'
import { isLoopback } from '../../foundation/loopback.ts'

/** How many ports after the default one are tried when it is taken. */
const portsTried = 50
const flags = startFlags()

/** The exit code of each failure to start. */
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

export const start: Command = {
  name: 'start',
  summary: 'Start the sandbox',
  details: [
    'Prints its URL and keys when it is ready. Other commands find it without settings. Ctrl-C stops it cleanly, with exit code 0; a second Ctrl-C ends it at once, with 130.',
    `Options may also stand in the section sandbox of ${configFileName}, by the same names: {"sandbox": {"port": 4010, "seed": 1, "rate_limit": "5/s"}}. A flag wins; db is relative to the file.`,
  ].join('\n\n'),
  options: [
    ...flags.values(),
    new Option('--detach', 'run in the background; returns when it is ready'),
    new Option('--open', 'open the demo in the browser when it is ready'),
  ],
  examples: ['start', 'start --port 0 --ephemeral --seed 1 -o json', 'start --detach --open'],
  async run(session, { options }) {
    const chosen = await startOptions(session, flagValues(flags, options))
    const isOpened = options.open === true
    return options.detach === true ? startDetached(session, chosen, isOpened) : startHere(session, chosen, isOpened)
  },
}

async function startHere(session: Session, options: StartOptions, isOpened: boolean): Promise<number> {
  const stopped = new Promise<string>((resolve) => session.onInterrupt(resolve))
  const home = stateDirectory(session.host)
  const sandbox = await startOnFreePort(session, options)
  const { url, inspector_url, database, pid, version, projects, admin_token } = sandbox
  const isPublic = !isLoopback(options.host ?? defaultHost)
  const ready = { url, inspector_url, database, pid, version, projects, ...(isPublic ? { admin_token } : {}) }
  try {
    await writeLocator(home, { ...ready, started_at_ms: session.host.now() })
    for (const warning of sandbox.warnings) session.out.note(`warning: ${warning}`)
    printReady(session, ready, null)
    session.host.keepHeapSmall()
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
  const ready = JSON.parse(line) as Ready
  printReady(session, ready, log_file)
  if (isOpened) await openPage(session, demoOf(ready))
  return 0
}

function printReady({ host, out, command_name }: Session, ready: Ready, log_file: string | null): void {
  out.item(log_file === null ? ready : { ...ready, log_file }, (style) =>
    startBlock(ready, { command_name, home: host.home, log_file }, style),
  )
}

function demoOf({ url }: Ready): string {
  return `${url}/_sandbox/demo`
}

/** Adds what the environment and the section `sandbox` of the config file say; flags win, then the environment. Notes which options come from there. */
async function startOptions({ host, out, flags: settings }: Session, flags: StartOptions): Promise<StartOptions> {
  const given = { ...startEnvironment(host.env), ...flags }
  const { config } = await readSettingFiles(host, settings)
  if (config?.values.sandbox === undefined) return given
  const { db, ...others } = config.values.sandbox
  const section = db === undefined ? others : { ...others, db: resolve(dirname(config.path), db) }
  const merged = mergeStartOptions(given, section)
  const used = Object.keys(merged).filter((name) => !(name in given))
  if (used.length > 0) out.note(`From ${config.path}: ${used.join(', ')}.`)
  return merged
}

/** Starts a sandbox, on the next free port when the default one is taken. Throws CliError when it cannot start. */
export async function startOnFreePort(session: Session, options: StartOptions): Promise<Sandbox> {
  const home = stateDirectory(session.host)
  const database = options.ephemeral ? ':memory:' : resolve(session.host.cwd, options.db ?? join(home, 'sandbox.db'))
  if (options.db === undefined) mkdirSync(home, { recursive: true, mode: 0o700 })
  const { startSandbox, SandboxError } = await import('../../../sandbox/index.ts')
  session.host.compileExpressionsOnce()
  const report = (error: unknown) => session.host.stderr.write(`${printable(inspect(error))}\n`)
  const first = options.port ?? defaultPort
  for (let port = first; ; port++) {
    try {
      const sandbox = await startSandbox({ ...sandboxOptions(options, port, database), report })
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
  const { seed, rate_limit, decision_latency, scenario, journal_limit, strict } = options
  return {
    port,
    ...(options.host === undefined ? {} : { host: options.host }),
    database,
    ...(seed === undefined ? {} : { seed }),
    ...(rate_limit === undefined ? {} : { rate_limit }),
    ...(decision_latency === undefined ? {} : { decision_latency_ms: decision_latency }),
    ...(scenario === undefined ? {} : { scenario }),
    ...(strict === undefined ? {} : { strict }),
    ...(journal_limit === undefined ? {} : { journal_limit }),
  }
}

/** Returns the failure with what holds the port, or the sandbox that has the database open. */
async function startFailure(
  session: Session,
  error: SandboxFailure,
  port: number,
  database: string,
): Promise<CliError> {
  const failure = (message: string, hint: string | null) =>
    new CliError(categories[error.code], error.code, message, hint)
  if (error.code === 'port_in_use') {
    const hint = `Try: svc start --port ${port + 1}, or --port 0 for any free one.`
    return failure(`Port ${port} is taken by ${await holder(session, port)}.`, hint)
  }
  const user = (await running(session)).find((sandbox) => sandbox.database === database)
  if (error.code === 'database_in_use' && user !== undefined) {
    const hint = 'Use it, stop it with svc sandbox stop, or start another: svc start --ephemeral'
    return failure(`A sandbox with this database runs already: ${user.url} (pid ${user.pid}).`, hint)
  }
  return failure(error.message, error.hint)
}

async function holder(session: Session, port: number): Promise<string> {
  const { portHolder } = await import('../../cli/process/port-holder.ts')
  return portHolder(port, session.host.platform, await running(session))
}

function running({ host }: Session) {
  return runningSandboxes(stateDirectory(host), host)
}

/** The lines that `svc start` prints when the sandbox is ready. */
export function startBlock(
  sandbox: Omit<Locator, 'started_at_ms'>,
  { command_name, home, log_file = null }: { command_name: string; home: string; log_file?: string | null },
  style: Style,
): string[] {
  const [project] = sandbox.projects
  const others = sandbox.projects.slice(1).map(({ client_id }) => client_id)
  return [
    `${style.bold('svc')} ${sandbox.version}: ${style.green('the sandbox is ready')}`,
    '',
    ...indent(
      alignPairs(
        [
          ['URL', style.cyan(sandbox.url)],
          ['demo', style.cyan(`${sandbox.url}/_sandbox/demo`)],
          ['inspector', style.cyan(sandbox.inspector_url)],
          [
            'database',
            sandbox.database === ':memory:' ? 'in memory, gone at the end' : shorten(sandbox.database, home),
          ],
          ['project', project?.client_id ?? null],
          ['secret key', project?.secret_key ?? null],
          ['live key', project?.live_secret_key ?? null],
          ['publishable key', project?.publishable_key ?? null],
          ['allowed origins', project?.allowed_origins.join('  ') ?? null],
          ['admin token', sandbox.admin_token ?? null],
          ['more projects', others.length === 0 ? null : others.join('  ')],
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
      log_file === null ? 'Ctrl-C stops it.' : `It runs in the background: ${command_name} sandbox stop ends it.`,
    ),
  ]
}

function indent(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`)
}

/** Returns a path under the home directory as `~/...`. */
function shorten(path: string, home: string): string {
  return home !== '' && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}
