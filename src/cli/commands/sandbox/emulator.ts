/** An emulator in this process: started on a free port for the commands that need one, closed, and its failures as errors. */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { inspect } from 'node:util'
import type { Certificate } from '#cli/process/certificate.ts'
import type { CommandContext } from '#cli/run/command.ts'
import type { System } from '#cli/run/system.ts'
import { parseUserJson, readUserText } from '#cli/run/user-file.ts'
import { type FolderState, folderDatabase, folderState, keepPort, readKeptPort } from '#cli/settings/sandbox-folder.ts'
import { defaultHost, defaultPort, maxPort, type StartOptions } from '#cli/settings/start-options.ts'
import {
  createStateDirectory,
  type Locator,
  removeLocator,
  runningSandboxes,
  stateDirectory,
} from '#cli/settings/state-directory.ts'
import { parseDuration } from '#foundation/duration.ts'
import { withoutUndefined } from '#foundation/json.ts'
import { redactSecrets } from '#foundation/redaction.ts'
import { isRefusedPort } from '#foundation/refused-ports.ts'
import { readMessage } from '#foundation/system-error.ts'
import type { Sandbox, SandboxOptions } from '#sandbox/index.ts'
import { type Category, CliError } from '#text/cli-error.ts'
import { printable } from '#text/terminal.ts'

/** The number of ports to try after the first one while sandboxes of other folders have them. */
const portsTried = 50

/** SQLite's own name for a database without a file. */
export const memory = ':memory:'

/** The exit code of each failure to start. */
export const categories: Record<SandboxFailure['code'], Category> = {
  port_in_use: 'busy',
  database_in_use: 'busy',
  database_newer: 'usage',
  database_corrupt: 'usage',
  database_unwritable: 'usage',
  database_unreachable: 'usage',
  option_invalid: 'usage',
  demand_invalid: 'usage',
  recording_invalid: 'usage',
  recording_old: 'usage',
}

type SandboxFailure = import('#sandbox/index.ts').SandboxError

/**
 * Starts a sandbox of the folder, on the port that the folder had last, else the usual one; while a sandbox of another folder has
 * that, on the next free one. The folder keeps it. Contract A105. Throws CliError if it cannot start.
 */
export async function startOnFreePort(
  context: CommandContext,
  options: StartOptions,
): Promise<{ sandbox: Sandbox; certificate: Certificate | null }> {
  const home = stateDirectory(context.system)
  const { store } = options
  const folder = folderState(context.system)
  const isFile = store === undefined && options.ephemeral !== true
  const own = folderDatabase(folder, options.name)
  const database = !isFile ? memory : resolve(context.system.cwd, options.db ?? own)
  if (database === own) prepareFolder(context, home, folder, own)
  const certificate = await loadCertificate(context.system, home, options)
  const files = await readStartFiles(context, options)
  const { startSandbox, SandboxError } = await import('#sandbox/index.ts')
  const report = failureReport((line) => context.system.stderr.write(`${printable(line)}\n`))
  const { host = defaultHost, port: first = readKeptPort(folder, options.name) ?? defaultPort } = options
  for (let port = first; ; port = portAfter(port)) {
    try {
      const chosen = { ...sandboxOptions(options, port, database, certificate), ...files }
      // The same end as by a signal, whatever this process does beside the sandbox.
      const stop = () => void context.system.signal(context.system.pid, 'SIGTERM')
      const sandbox = await startSandbox({ ...chosen, stop, report })
      if (port !== first) {
        const holder = await describeTaken(context, host, first)
        context.out.note(
          `Port ${first} is taken by ${holder}: using ${port}. A page names it too, where it loads render.js.`,
        )
      }
      if (options.port === undefined) keepPortOf(context, folder, port, options.name)
      return { sandbox, certificate }
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error
      const isTaken = error.code === 'port_in_use' && options.port === undefined && port < first + portsTried
      if (!isTaken || !(await isSandboxPort(context, host, port)))
        throw await startFailure(context, error, { host, port, database })
    }
  }
}

/** Returns the next port that browsers connect to. */
function portAfter(port: number): number {
  return isRefusedPort(port + 1) ? portAfter(port + 1) : port + 1
}

/** Creates the folder's part of the state directory. Says where the data of earlier versions is, which kept one for everything. */
function prepareFolder({ out }: CommandContext, home: string, { directory }: FolderState, database: string): void {
  createStateDirectory(directory)
  const earlier = join(home, 'sandbox.db')
  if (existsSync(database) || !existsSync(earlier)) return
  out.note(
    `A sandbox now belongs to a folder, and this one has none yet. The data of before: svc start --db ${earlier}`,
  )
}

/** A port that cannot be kept is looked for again by the next start. */
function keepPortOf({ out }: CommandContext, folder: FolderState, port: number, name: string | undefined): void {
  try {
    keepPort(folder, port, name)
  } catch (error) {
    out.note(`warning: The port is not kept for the next start: ${readMessage(error)}.`)
  }
}

/** Whether a sandbox has a port: one of this user, or one that responds as such. */
async function isSandboxPort(context: CommandContext, host: string, port: number): Promise<boolean> {
  const isOwn = (await running(context)).some(({ url }) => new URL(url).port === String(port))
  if (isOwn) return true
  const address = localHost(host)
  return context.system.respondsAt(`http://${address.includes(':') ? `[${address}]` : address}:${port}`)
}

/** Resolves to the content of --overrides and the paths of --playback and --demand. Throws CliError. */
async function readStartFiles(
  { system }: CommandContext,
  { overrides, playback, demand, only, watch }: StartOptions,
): Promise<Pick<SandboxOptions, 'overrides' | 'playback' | 'demand' | 'only' | 'watch'>> {
  return {
    ...(demand !== undefined && { demand: resolve(system.cwd, demand) }),
    ...(only !== undefined && { only }),
    ...(watch !== undefined && { watch }),
    ...(overrides !== undefined && { overrides: await readOverridesFile(system, overrides) }),
    ...(playback !== undefined && { playback: resolve(system.cwd, playback) }),
  }
}

/** Resolves to the rules of a file, as JSON. Throws CliError with the first mistake in it. */
async function readOverridesFile(system: System, file: string): Promise<unknown> {
  const hint = 'A file of overrides is JSON: svc contract compare FILE --write-overrides FILE writes one.'
  const value = await parseUserJson(await readUserText(system, file), file, { hint })
  const { OverridesError, readOverrides } = await import('#contract/recordings/overrides.ts')
  try {
    readOverrides(value)
  } catch (error) {
    if (!(error instanceof OverridesError)) throw error
    throw new CliError('usage', 'file_invalid', `${resolve(system.cwd, file)} ${error.message}.`, hint)
  }
  return value
}

/** Closes the sandbox. Throws CliError when the disk is full. */
export async function closeEmulator(
  sandbox: Sandbox,
  { home, pid, pid_scope, drain_ms }: { home: string; drain_ms: number } & Pick<Locator, 'pid' | 'pid_scope'>,
): Promise<void> {
  try {
    await sandbox.close({ drain_ms })
  } catch (error) {
    if (!(error instanceof Error && error.name === 'SandboxError')) throw error
    const { code, message, hint } = error as SandboxFailure
    throw new CliError(categories[code], code, message, hint)
  } finally {
    await removeLocator(home, { pid, pid_scope })
  }
}

/** A disk that stays full is reported again after this time, milliseconds. */
const repeatMs = 60_000

/** Returns a function that reports failures: one line for a disk that refuses writes, however many. */
export function failureReport(print: (text: string) => void): (error: unknown) => void {
  let last = ''
  let last_at = 0
  return (error) => {
    if (error instanceof Error && error.name.endsWith('Notice')) return print(error.message)
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
      namespace: db !== undefined || ephemeral === true ? undefined : findNamespace(options),
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
      otlp: options.otlp,
    }),
  }
}

/** A second sandbox of a folder is, on a shared store, a namespace. */
function findNamespace({ store, namespace, name }: StartOptions): string | undefined {
  return namespace ?? (store === undefined ? undefined : name)
}

/** Returns the failure with the process that holds the port, or the sandbox that has the database open. */
async function startFailure(
  context: CommandContext,
  error: SandboxFailure,
  { host, port, database }: { host: string; port: number; database: string },
): Promise<CliError> {
  const failure = (message: string, hint: string | null) =>
    new CliError(categories[error.code], error.code, message, hint)
  const sandboxes = await running(context)
  if (error.code === 'port_in_use') {
    return failure(`Port ${port} is taken by ${await describeTaken(context, host, port)}.`, portHint(port, sandboxes))
  }
  const user = sandboxes.find((sandbox) => sandbox.database === database)
  if (error.code === 'database_in_use' && user !== undefined) {
    const hint = 'Use it, stop it with svc sandbox stop, or start a second one: svc start --name NAME'
    const { startedIn } = await import('#cli/process/port-holder.ts')
    const place = user.folder === context.system.cwd ? '' : startedIn(user)
    return failure(`A sandbox with this database is already running: ${user.url} (pid ${user.pid}${place}).`, hint)
  }
  return failure(error.message, error.hint)
}

/** What to do about a port that is taken, by a running sandbox or by another program. */
function portHint(port: number, sandboxes: readonly Locator[]): string {
  const other = port === maxPort ? '--port 0 for any free one' : `--port ${port + 1}, or --port 0 for any free one`
  const sandbox = sandboxes.find(({ url }) => new URL(url).port === String(port))
  if (sandbox === undefined) return `Stop it, or try: svc start ${other}.`
  return `Commands use it with --base-url ${sandbox.url}. Stop it: svc sandbox stop --base-url ${sandbox.url}. Or try: svc start ${other}.`
}

async function describeTaken(context: CommandContext, host: string, port: number): Promise<string> {
  const { describeHolder } = await import('#cli/process/port-holder.ts')
  return describeHolder(context.system, { host: localHost(host), port, sandboxes: await running(context) })
}

/** Returns the host at which this computer reaches a server that listens on a host: on all addresses, loopback. */
function localHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  return host === '::' ? '::1' : host.replace(/^\[|\]$/g, '')
}

/** Resolves to the sandboxes of this computer that run. */
export function running({ system }: CommandContext) {
  return runningSandboxes(stateDirectory(system), system)
}
