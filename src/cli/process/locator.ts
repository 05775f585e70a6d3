/**
 * Locator files, by which commands find a running sandbox without any setting: `sandboxes/<pid>.json` in the state
 * directory. Only its owner can read one, because it holds the keys of the sandbox.
 */
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createFolder } from '../../foundation/folder.ts'
import { hasTypes, parseJson } from '../../foundation/json.ts'
import type { Host } from '../run/host.ts'
import { stateFailure } from '../settings/state-directory.ts'

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

/** Writes a locator beside its path and renames it, so that no reader sees half of it. */
export async function writeLocator(home: string, locator: Locator): Promise<void> {
  const path = pathOf(home, locator.pid)
  try {
    createFolder(directoryOf(home), 0o700)
    await writeFile(`${path}.new`, `${JSON.stringify(locator)}\n`, { mode: 0o600 })
    await rename(`${path}.new`, path)
  } catch (error) {
    throw stateFailure(path, error)
  }
}

/** Removes a locator. One that cannot be removed counts as left behind by a crash: its process has ended. */
export async function removeLocator(home: string, pid: number): Promise<void> {
  await rm(pathOf(home, pid), { force: true }).catch(() => {})
}

/** Returns the sandboxes whose process is running, newest first. Removes locators that a crash left behind. */
export async function runningSandboxes(home: string, host: Pick<Host, 'isRunning'>): Promise<Locator[]> {
  const running = (await readLocators(home, host)).flatMap(({ locator }) => locator ?? [])
  return running.sort((a, b) => b.started_at_ms - a.started_at_ms)
}

/** Returns the paths of locators that this version cannot read, and whose process is running: they stay as they are. */
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
    const text = await readFile(path, 'utf8').catch(() => '')
    const value = parseJson(text)
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

function pathOf(home: string, pid: number): string {
  return join(directoryOf(home), `${pid}.json`)
}
