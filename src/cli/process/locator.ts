/**
 * Locator files, by which commands find a running sandbox without any setting: `sandboxes/<pid>.json` in the state
 * directory. Only its owner can read one, because it holds the keys of the sandbox.
 */
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { parseJson } from '../../foundation/json.ts'
import type { Host } from '../run/host.ts'

/** A project of a sandbox, with its keys. */
export const LocatorProject = z.object({
  client_id: z.string(),
  secret_key: z.string(),
  live_secret_key: z.string(),
  publishable_key: z.string(),
  allowed_origins: z.array(z.string()),
})

export type LocatorProject = z.infer<typeof LocatorProject>

/** What `svc start -o json` prints, and the time of the start. */
export const Locator = z.object({
  url: z.url(),
  inspector_url: z.string(),
  database: z.string(),
  pid: z.int().min(1),
  version: z.string(),
  projects: z.array(LocatorProject),
  /** The control plane requires it when the sandbox listens beyond loopback. */
  admin_token: z.string().optional(),
  started_at_ms: z.int(),
})
export type Locator = z.infer<typeof Locator>

/** Writes a locator beside its path and renames it, so that no reader sees half of it. */
export async function writeLocator(home: string, locator: Locator): Promise<void> {
  const path = pathOf(home, locator.pid)
  await mkdir(directoryOf(home), { recursive: true, mode: 0o700 })
  await writeFile(`${path}.new`, `${JSON.stringify(locator)}\n`, { mode: 0o600 })
  await rename(`${path}.new`, path)
}

export async function removeLocator(home: string, pid: number): Promise<void> {
  await rm(pathOf(home, pid), { force: true })
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
    const locator = Locator.safeParse(value).data ?? null
    if (value !== undefined && host.isRunning(locator?.pid ?? Number(pid))) found.push({ path, locator })
    else await rm(path, { force: true })
  }
  return found
}

function directoryOf(home: string): string {
  return join(home, 'sandboxes')
}

function pathOf(home: string, pid: number): string {
  return join(directoryOf(home), `${pid}.json`)
}
