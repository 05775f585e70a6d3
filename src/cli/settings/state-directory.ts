/**
 * The state directory: its path, the error when it cannot be used, and two kinds of files in it that only their owner can read.
 * By a locator, `sandboxes/<pid>.json`, commands find a running sandbox and its keys without any setting. By the last placement
 * the next command can leave its identifiers out: `svc placements create`, then `svc beacons send --event render`.
 */
import { accessSync, constants } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { ResponseMeta } from '../../client/client.ts'
import type { PlacementResponse } from '../../contract/resources/placements.ts'
import { createFolder, ownerOnly, replaceFile } from '../../foundation/file-system.ts'
import { isSameService } from '../../foundation/http.ts'
import { hasTypes, parseJson } from '../../foundation/json.ts'
import type { Output } from '../output/output.ts'
import { CliError, noSandbox, unwritable } from '../run/errors.ts'
import type { Host } from '../run/host.ts'

/** A path that never exists and cannot be created: in its place where no home directory is known. */
const nowhere = join('/dev/null', 'svc')

/** Returns the state directory: `$SVC_HOME`, else the platform's own place. Nothing is kept in the current directory. */
export function stateDirectory({ env, home, platform }: Pick<Host, 'env' | 'home' | 'platform'>): string {
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

/** Returns why the state directory cannot be written; null when it can. It is created. */
export function stateProblem(path: string): CliError | null {
  try {
    createStateDirectory(join(path, 'sandboxes'))
    return null
  } catch (error) {
    if (error instanceof CliError) return error
    throw error
  }
}

/** Returns a failure to write in the state directory as an error that you can fix; any other one unchanged. */
export function stateFailure(path: string, error: unknown, alternative = withoutState): unknown {
  const failure = unwritable(path, error, `Set SVC_HOME to a directory that you own.${alternative}`)
  if (!(failure instanceof CliError) || failure === error) return failure
  const message = path.startsWith(nowhere)
    ? 'There is no home directory, so svc has no place for its state.'
    : failure.message
  return new CliError('usage', 'state_unwritable', message, failure.hint)
}

/** What a start can do that has no state directory. */
const withoutState = ' Without one: svc start --ephemeral, or svc exec -- CMD'

/** Throws CliError, with exit code 2, when the running sandboxes cannot be listed. Without a state directory none is running. */
export async function checkReadable(home: string): Promise<void> {
  try {
    await readdir(directoryOf(home))
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return
    const hint =
      'Set SVC_HOME to a directory that you own, or correct its permissions. Or name the sandbox: --base-url URL'
    throw new CliError('usage', 'state_unreadable', `The state directory cannot be read: ${message}.`, hint)
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
  /** The control plane requires it when the sandbox listens beyond loopback. */
  admin_token?: string | undefined
  /** Of a shared store: the namespace, and how many nodes served it at the start. */
  namespace?: string | undefined
  nodes?: number | undefined
  /** The origin in frame URLs and links, where it is not the url. */
  public_url?: string | undefined
  /** The file with the certificate of a sandbox that serves https. */
  certificate?: string | undefined
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
  ...{ pid: 'number', projects: 'array', started_at_ms: 'number', nodes: 'number|undefined' },
}

/** Writes a locator. No reader sees half of it. */
export async function writeLocator(home: string, locator: Locator): Promise<void> {
  const path = locatorPath(home, locator.pid)
  try {
    replaceFile(path, `${JSON.stringify(locator)}\n`, ownerOnly)
  } catch (error) {
    throw stateFailure(path, error)
  }
}

/** Removes a locator. One that cannot be removed counts as left behind by a crash: its process has ended. */
export async function removeLocator(home: string, pid: number): Promise<void> {
  await rm(locatorPath(home, pid), { force: true }).catch(() => {})
}

/** Returns the sandboxes whose process is running, newest first. Removes locators that a crash left behind. */
export async function runningSandboxes(home: string, host: Pick<Host, 'isRunning'>): Promise<Locator[]> {
  const running = (await readLocators(home, host)).flatMap(({ locator }) => locator ?? [])
  return running.sort((a, b) => b.started_at_ms - a.started_at_ms)
}

/** Returns the paths of locators that this version or user cannot read, and whose process is running: they stay as they are. */
export async function foreignLocators(home: string, host: Pick<Host, 'isRunning'>): Promise<string[]> {
  return (await readLocators(home, host)).flatMap(({ path, locator }) => (locator === null ? path : []))
}

async function readLocators(home: string, host: Pick<Host, 'isRunning'>) {
  const names = await readdir(directoryOf(home)).catch(() => [])
  const found: { path: string; locator: Locator | null }[] = []
  for (const name of names) {
    const [, pid] = /^(\d+)\.json$/.exec(name) ?? []
    if (pid === undefined) continue
    const path = join(directoryOf(home), name)
    // One that went away meanwhile is nothing; one of another user cannot be read, and may be of a sandbox that runs.
    const text = await readFile(path, 'utf8').catch(({ code }: NodeJS.ErrnoException) =>
      code === 'ENOENT' ? '' : null,
    )
    const value = text === null ? null : parseJson(text)
    const locator = isLocator(value) ? value : null
    if (value !== undefined && host.isRunning(locator?.pid ?? Number(pid))) found.push({ path, locator })
    else await rm(path, { force: true }).catch(() => {})
  }
  return found
}

/** Whether a value read from a file has the fields of a project. */
export function isLocatorProject(value: unknown): value is LocatorProject {
  return hasTypes(value, projectTypes)
}

function isLocator(value: unknown): value is Locator {
  return (
    hasTypes(value, locatorTypes) &&
    URL.canParse(value.url as string) &&
    (value.projects as unknown[]).every(isLocatorProject)
  )
}

function directoryOf(home: string): string {
  return join(home, 'sandboxes')
}

function locatorPath(home: string, pid: number): string {
  return join(directoryOf(home), `${pid}.json`)
}

/** The identifiers of the last placement that later commands use. */
interface PlacementSession {
  host: Host
  out: Pick<Output, 'note'>
  settings: { base_url: string; source: { base_url: string } }
}

interface LastPlacement {
  base_url: string
  slot_id: string
  /** Of the last fill, which may be an earlier placement. */
  asset_token: string | null
  request_id: string | null
}

const lastTypes = { base_url: 'string', slot_id: 'string', asset_token: 'string|null', request_id: 'string|null' }

export async function savePlacement(
  { host, settings: { base_url }, out }: PlacementSession,
  { slot_id, decision }: Pick<PlacementResponse, 'slot_id' | 'decision'>,
  { request_id }: Pick<ResponseMeta, 'request_id'>,
): Promise<void> {
  const asset_token = decision?.asset_token ?? (await readSaved(host, base_url))?.asset_token ?? null
  const last: LastPlacement = { base_url, slot_id, asset_token, request_id }
  try {
    replaceFile(lastPath(host), `${JSON.stringify(last)}\n`, ownerOnly)
  } catch (error) {
    // There is a placement, so that the command has succeeded.
    out.note(`Not saved as the last placement: ${error instanceof Error ? error.message : error}`)
  }
}

/** Returns a field of the last placement of this service, and notes it. Throws CliError when there is none. */
export async function lastPlacement(
  { host, settings, out }: PlacementSession,
  field: 'slot_id' | 'asset_token' | 'request_id',
): Promise<string> {
  if (settings.source.base_url === 'default') throw noSandbox()
  const last = await readSaved(host, settings.base_url)
  const value = last?.[field] ?? null
  if (value !== null) {
    out.note(`${field} of the last ${field === 'asset_token' ? 'fill' : 'placement'}: ${value}`)
    return value
  }
  const reason = last === null ? 'there is no last placement' : 'there is no last fill'
  const hint = `Give it${sources[field]}, or get a placement first: svc placements create`
  throw new CliError('usage', 'argument_missing', `${field} is missing, and ${reason}.`, hint)
}

/** Where an identifier is found that another program received. */
const sources = {
  slot_id: ' (svc placements list shows them)',
  request_id: ' (svc requests list shows them)',
  asset_token: '',
}

/** Returns the saved placement of a service; null when there is none, or it is of another service. */
async function readSaved(host: Host, base_url: string): Promise<LastPlacement | null> {
  const saved = parseJson(await readFile(lastPath(host), 'utf8').catch(() => ''))
  if (!hasTypes(saved, lastTypes)) return null
  const last = saved as unknown as LastPlacement
  return URL.canParse(last.base_url) && isSameService(last.base_url, base_url) ? last : null
}

function lastPath(host: Host): string {
  return join(stateDirectory(host), 'last-placement.json')
}
