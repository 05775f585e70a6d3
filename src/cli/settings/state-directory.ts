/**
 * The state directory: its path, the error when it cannot be used, and the locators in it, `sandboxes/<pid>.json`,
 * which only their owner can read. They let commands find a running sandbox and its keys without any setting.
 */

import { accessSync, constants } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createFolder, replaceFile } from '#foundation/file-system.ts'
import { hasTypes, parseJson } from '#foundation/json.ts'
import { ownerOnly } from '#foundation/permissions.ts'
import { readErrorCode, readMessage } from '#foundation/system-error.ts'
import { CliError } from '#text/cli-error.ts'
import { unwritable } from '../run/file-errors.ts'
import type { System } from '../run/system.ts'

/** A path that never exists and cannot be created, used when no home directory is known. */
const nowhere = join('/dev/null', 'svc')

/** Returns why no state can be kept at a path in no home directory; null for any other path. */
export function describeNoHome(path: string): string | null {
  return path.startsWith(nowhere) ? 'There is no home directory, so svc has nowhere to keep its state.' : null
}

/** Returns the state directory: `$SVC_HOME`, else the platform's default. Nothing is kept in the current directory. */
export function stateDirectory({ env, home, platform }: Pick<System, 'env' | 'home' | 'platform'>): string {
  if (env.SVC_HOME) return env.SVC_HOME
  if (env.XDG_STATE_HOME) return join(env.XDG_STATE_HOME, 'svc')
  if (platform === 'win32' && env.LOCALAPPDATA) return join(env.LOCALAPPDATA, 'svc')
  if (home === '') return nowhere
  if (platform === 'win32') return join(home, 'AppData', 'Local', 'svc')
  if (platform === 'darwin') return join(home, 'Library', 'Application Support', 'svc')
  return join(home, '.local', 'state', 'svc')
}

/** Creates the state directory, or one in it. Throws CliError, with exit code 2, when it cannot be written. */
export function createStateDirectory(path: string): void {
  try {
    createFolder(path, ownerOnly.folder)
    accessSync(path, constants.W_OK)
  } catch (error) {
    throw stateFailure(path, error)
  }
}

/** Creates the state directory. Returns why it cannot be written, or null when it can. */
export function stateProblem(path: string): CliError | null {
  try {
    createStateDirectory(join(path, 'sandboxes'))
    return null
  } catch (error) {
    if (error instanceof CliError) return error
    throw error
  }
}

/** Returns a failure to write in the state directory as an error with a fix; any other error unchanged. */
export function stateFailure(path: string, error: unknown, alternative = withoutState): unknown {
  const failure = unwritable(path, error, `Set SVC_HOME to a directory that you own.${alternative}`)
  if (!(failure instanceof CliError) || failure === error) return failure
  return new CliError('usage', 'state_unwritable', describeNoHome(path) ?? failure.message, failure.hint)
}

/** What you can start without a state directory. */
const withoutState = ' Without one: svc start --ephemeral, or svc exec -- CMD'

/**
 * Throws CliError, with exit code 2, when the running sandboxes cannot be listed. If there is no state directory, none
 * is running.
 */
export async function checkReadable(home: string): Promise<void> {
  try {
    await readdir(sandboxesDirectory(home))
  } catch (error) {
    const code = readErrorCode(error)
    const message = readMessage(error)
    if (code === 'ENOENT') return
    const hint =
      'Set SVC_HOME to a directory that you own, or correct its permissions. Or name the sandbox: --base-url URL'
    const what = describeNoHome(home) ?? `The state directory cannot be read: ${message}.`
    throw new CliError('usage', 'state_unreadable', what, hint)
  }
}

/** What `svc start -o json` prints, and the time of the start. */
export interface Locator {
  url: string
  inspector_url: string
  database: string
  pid: number
  version: string
  projects: LocatorProject[]
  /** Required by the control plane when the sandbox listens beyond loopback. */
  admin_token?: string | undefined
  /** For a shared store: the namespace, and how many nodes served it at the start. */
  namespace?: string | undefined
  nodes?: number | undefined
  /** The origin in frame URLs and links, if it is not the url. */
  public_url?: string | undefined
  /** The file with the certificate of a sandbox that serves https. */
  certificate?: string | undefined
  /** The command that a sandbox of `svc exec` or `svc observe` was started for: both end together. */
  command?: string | undefined
  /** The working directory of its start. */
  folder?: string | undefined
  /** Of a second sandbox of that folder. */
  name?: string | undefined
  /** Where its pid is valid; none where the system shows no namespaces. */
  pid_scope?: string | undefined
  /** When its process started, as the system writes it: a later process with the same pid has another start. */
  process_start?: string | undefined
  started_at_ms: number
}

/** A project of a sandbox, with its keys. */
export interface LocatorProject {
  client_id: string
  secret_key: string
  live_secret_key: string
  publishable_key: string
  allowed_origins: string[]
}

const text = 'string'
const projectTypes = {
  client_id: text,
  secret_key: text,
  live_secret_key: text,
  publishable_key: text,
  allowed_origins: 'array',
}
const locatorTypes = {
  ...{ url: text, inspector_url: text, database: text, version: text, admin_token: 'string|undefined' },
  ...{ public_url: 'string|undefined', certificate: 'string|undefined', namespace: 'string|undefined' },
  ...{ command: 'string|undefined', pid_scope: 'string|undefined', process_start: 'string|undefined' },
  ...{ folder: 'string|undefined', name: 'string|undefined' },
  ...{ pid: 'number', projects: 'array', started_at_ms: 'number', nodes: 'number|undefined' },
}

/** Writes a locator. No reader sees half of it. */
export async function writeLocator(home: string, locator: Locator): Promise<void> {
  const path = locatorPath(home, locator.pid, locator.pid_scope)
  try {
    replaceFile(path, `${JSON.stringify(locator)}\n`, ownerOnly)
  } catch (error) {
    throw stateFailure(path, error)
  }
}

/** Removes a locator. If it cannot be removed, it counts as left behind by a crash, since its process has ended. */
export async function removeLocator(
  home: string,
  { pid, pid_scope }: Pick<Locator, 'pid' | 'pid_scope'>,
): Promise<void> {
  await rm(locatorPath(home, pid, pid_scope), { force: true }).catch(() => {})
}

/** What a system knows about processes. */
type ProcessTable = Pick<System, 'isRunning' | 'readProcessStart' | 'pid_scope'>

/** Resolves to the fields of a locator that identify the process of this host, and where it was started. */
export async function ownProcess(system: Pick<System, 'pid' | 'pid_scope' | 'readProcessStart' | 'cwd'>) {
  const { pid, pid_scope, cwd: folder } = system
  const process_start = (await system.readProcessStart(pid)) ?? undefined
  return { pid, pid_scope: pid_scope ?? undefined, process_start, folder }
}

/**
 * Whether a process is the one that wrote a locator: `certain` by its start, `likely` by its pid alone, where the
 * system or an earlier version of svc has no start.
 */
export async function isSandboxProcess(
  { pid, process_start }: Pick<Locator, 'pid' | 'process_start'>,
  system: Pick<System, 'isRunning' | 'readProcessStart'>,
): Promise<'certain' | 'likely' | 'no'> {
  if (!system.isRunning(pid)) return 'no'
  const start = process_start === undefined ? null : await system.readProcessStart(pid)
  if (start === null) return 'likely'
  return start === process_start || isSameStart(Number(start), Number(process_start)) ? 'certain' : 'no'
}

/** In ticks of 10 ms, fewer than a pid takes to be given out again. */
const startToleranceTicks = 100

/** A process that QEMU translates sees its own start some ticks later than others do. Not a number: never the same. */
function isSameStart(start: number, written: number): boolean {
  return Math.abs(start - written) <= startToleranceTicks
}

/** Returns the sandboxes whose process is running, newest first. Removes locators that a crash left behind. */
export async function runningSandboxes(home: string, system: ProcessTable): Promise<Locator[]> {
  const running = (await readLocators(home, system)).flatMap(({ locator }) => locator ?? [])
  return running.sort((a, b) => b.started_at_ms - a.started_at_ms)
}

/** Returns the paths of locators of running processes that this version or user cannot read: they are left alone. */
export async function foreignLocators(home: string, system: ProcessTable): Promise<string[]> {
  return (await readLocators(home, system)).flatMap(({ path, locator }) => (locator === null ? path : []))
}

async function readLocators(home: string, system: ProcessTable) {
  const names = await readdir(sandboxesDirectory(home)).catch(() => [])
  const found: { path: string; locator: Locator | null }[] = []
  for (const name of names) {
    const [, pid, namespace] = /^(\d+)(?:-(\d+))?\.json$/.exec(name) ?? []
    if (pid === undefined) continue
    const path = join(sandboxesDirectory(home), name)
    // A locator that has disappeared is ignored; one of another user cannot be read, and may belong to a running
    // sandbox.
    const text = await readFile(path, 'utf8').catch(({ code }: NodeJS.ErrnoException) =>
      code === 'ENOENT' ? '' : null,
    )
    const value = text === null ? null : parseJson(text)
    const locator = isLocator(value) ? value : null
    // Of another container or boot: its pid says nothing here, so nobody knows here whether it is running.
    if (locator?.pid_scope !== undefined && locator.pid_scope !== system.pid_scope) continue
    if (namespace !== undefined && system.pid_scope?.endsWith(`[${namespace}]`) !== true) continue
    if (value !== undefined && (await isSandboxProcess(locator ?? { pid: Number(pid) }, system)) !== 'no')
      found.push({ path, locator })
    else await rm(path, { force: true }).catch(() => {})
  }
  return found
}

/** Whether a value read from a file has the fields of a project. */
export function isLocatorProject(value: unknown): value is LocatorProject {
  return hasTypes<LocatorProject>(value, projectTypes)
}

function isLocator(value: unknown): value is Locator {
  return hasTypes<Locator>(value, locatorTypes) && URL.canParse(value.url) && value.projects.every(isLocatorProject)
}

function sandboxesDirectory(home: string): string {
  return join(home, 'sandboxes')
}

/** Two containers may use the same pid: the number of the PID namespace keeps their files apart. */
function locatorPath(home: string, pid: number, pid_scope: string | undefined): string {
  const namespace = /\[(\d+)\]$/.exec(pid_scope ?? '')?.[1]
  return join(sandboxesDirectory(home), `${pid}${namespace === undefined ? '' : `-${namespace}`}.json`)
}
