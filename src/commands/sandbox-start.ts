/** `svc start`: the emulator in the foreground, until a signal stops it. */
import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { InvalidArgumentError, Option } from 'commander'
import type { Sandbox, SandboxOptions } from '../../sandbox/index.ts'
import { CliError } from '../cli/cli-error.ts'
import type { Command } from '../cli/command.ts'
import type { Category } from '../cli/exit-codes.ts'
import { removeLocator, runningSandboxes, writeLocator } from '../cli/locator.ts'
import { portHolder } from '../cli/port-holder.ts'
import type { Session } from '../cli/session.ts'
import { startBlock } from '../cli/start-block.ts'
import { stateDirectory } from '../cli/state.ts'

const defaultPort = 4010
/** How many ports after a busy default one are tried. */
const portsTried = 50

export interface StartOptions {
  port?: number
  host: string
  db?: string
  ephemeral?: true
  seed?: number
  rateLimit?: string
  decisionLatency?: number
  scenario?: string
  journalLimit?: number
}

/** Failures of a start, and the category that each belongs to. */
const categories: Record<SandboxFailure['code'], Category> = {
  port_in_use: 'busy',
  database_in_use: 'busy',
  database_newer: 'usage',
  database_corrupt: 'usage',
  database_unwritable: 'usage',
  option_invalid: 'usage',
}

type SandboxFailure = import('../../sandbox/index.ts').SandboxError

export const start: Command = {
  name: 'start',
  summary: 'Start the sandbox in the foreground',
  details:
    'Prints its URL and keys when it is ready; other commands find it by themselves. Ctrl-C stops it cleanly, with exit code 0; a second Ctrl-C ends it at once, with 130.',
  options: [
    new Option('--port <n>', `port; 0 picks a free one; default: ${defaultPort}, or the next free one`).argParser(port),
    new Option('--host <address>', 'address to listen on').default('127.0.0.1'),
    new Option('--db <file>', 'database file; default: sandbox.db in the state directory'),
    new Option('--ephemeral', 'keep everything in memory').conflicts('db'),
    new Option('--seed <n>', 'same identifiers and decisions in every run').argParser(count),
    new Option('--rate-limit <rate>', 'per key: 5/s, 1/min or off'),
    new Option('--decision-latency <ms>', 'how long a decision takes').argParser(count),
    new Option('--scenario <name>', 'a case of the catalogue: svc sandbox scenario list'),
    new Option('--journal-limit <n>', 'most exchanges kept in the request journal; 0: none').argParser(count),
  ],
  examples: ['start', 'start --port 0 --ephemeral --seed 1 -o json'],
  async run(session, { options }) {
    const stopped = new Promise<string>((resolve) => session.onInterrupt(resolve))
    const home = stateDirectory(session.host)
    const sandbox = await startOnFreePort(session, options as unknown as StartOptions, home)
    session.host.keepHeapSmall()
    const { url, inspector_url, database, pid, version, projects, admin_token } = sandbox
    const isPublic = !isLoopback(String(options.host))
    const ready = { url, inspector_url, database, pid, version, projects, ...(isPublic ? { admin_token } : {}) }
    try {
      await writeLocator(home, { ...ready, started_at_ms: session.host.now() })
      for (const warning of sandbox.warnings) session.out.note(`warning: ${warning}`)
      session.out.item(ready, (style) =>
        startBlock(ready, { command_name: session.command_name, home: session.host.home }, style).join('\n'),
      )
      const signal = await stopped
      session.out.note(`${signal}: stopping`)
    } finally {
      await sandbox.close()
      await removeLocator(home, pid)
    }
    session.out.note('stopped')
    return 0
  },
}

/** Starts a sandbox. Throws CliError for whatever keeps it from starting. */
export async function startOnFreePort(session: Session, options: StartOptions, home: string): Promise<Sandbox> {
  const database = options.ephemeral ? ':memory:' : resolve(session.host.cwd, options.db ?? join(home, 'sandbox.db'))
  if (options.db === undefined) await mkdir(home, { recursive: true, mode: 0o700 })
  const { startSandbox, SandboxError } = await import('../../sandbox/index.ts')
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
    host: options.host,
    database,
    ...(options.seed === undefined ? {} : { seed: options.seed }),
    ...(options.rateLimit === undefined ? {} : { rate_limit: options.rateLimit }),
    ...(options.decisionLatency === undefined ? {} : { decision_latency_ms: options.decisionLatency }),
    ...(options.scenario === undefined ? {} : { scenario: options.scenario }),
    ...(options.journalLimit === undefined ? {} : { journal_limit: options.journalLimit }),
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

function count(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}

function port(text: string): number {
  const value = count(text)
  if (value > 65_535) throw new InvalidArgumentError('It must be 0 to 65535.')
  return value
}
