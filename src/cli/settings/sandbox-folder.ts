/**
 * The folder that a sandbox belongs to, which of the running ones a command addresses from there, and what the state directory
 * keeps for it: database, port and logs. Contract A105.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { replaceFile } from '#foundation/file-system.ts'
import { parseJsonObject } from '#foundation/json.ts'
import { ownerOnly } from '#foundation/permissions.ts'
import type { System } from '../run/system.ts'
import { type Locator, stateDirectory } from './state-directory.ts'
import { configFileName } from './table.ts'

/**
 * Returns the folder to which a sandbox started in `cwd` belongs, without links: the root of its git worktree, else the nearest
 * folder with a package.json or a configuration of svc, else `cwd` itself.
 */
export function findRoot(cwd: string): string {
  const folder = resolveLinks(cwd)
  return findAbove(folder, ['.git']) ?? findAbove(folder, ['package.json', configFileName]) ?? folder
}

function findAbove(folder: string, names: readonly string[]): string | null {
  for (let directory = folder; ; directory = dirname(directory)) {
    if (names.some((name) => existsSync(join(directory, name)))) return directory
    if (directory === dirname(directory)) return null
  }
}

/** A folder that is gone is named as it was. The native call has each name as the file system writes it, in its own case. */
function resolveLinks(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    return path
  }
}

/** What one folder has in the state directory. */
export interface FolderState {
  root: string
  /** `folders/shop-1f2e3d4c5b6a` in the state directory. */
  directory: string
}

/** Returns where the state directory keeps what belongs to the folder of a system. */
export function folderState(system: Pick<System, 'cwd' | 'env' | 'home' | 'platform'>): FolderState {
  const root = findRoot(system.cwd)
  const hash = createHash('sha256').update(root).digest('hex').slice(0, 12)
  const name = basename(root)
    .replace(/[^\w.-]/g, '_')
    .slice(0, 40)
  return { root, directory: join(stateDirectory(system), 'folders', name === '' ? hash : `${name}-${hash}`) }
}

/** Returns the database of a folder's sandbox, or of a second one with a name of its own. */
export function folderDatabase({ directory }: FolderState, name = 'sandbox'): string {
  return join(directory, `${name}.db`)
}

/** Returns the port that a folder's sandbox had last; undefined before the first one, and when it cannot be read. */
export function readKeptPort(folder: FolderState, name = 'sandbox'): number | undefined {
  const port = readPorts(folder)[name]
  return Number.isInteger(port) ? (port as number) : undefined
}

/** Keeps the port of a folder's sandbox for its next start. @throws the error of the file system */
export function keepPort(folder: FolderState, port: number, name = 'sandbox'): void {
  if (readKeptPort(folder, name) === port) return
  const kept = { root: folder.root, ports: { ...readPorts(folder), [name]: port } }
  replaceFile(keptPath(folder), `${JSON.stringify(kept)}\n`, ownerOnly)
}

function readPorts(folder: FolderState): Record<string, unknown> {
  const path = keptPath(folder)
  const ports = existsSync(path) ? parseJsonObject(readFileSync(path, 'utf8'))?.ports : undefined
  return typeof ports === 'object' && ports !== null ? { ...ports } : {}
}

function keptPath({ directory }: FolderState): string {
  return join(directory, 'folder.json')
}

/** The running sandbox that commands of a folder address when nothing names one. */
export interface SandboxChoice {
  /** Null when none is running, and when several are. */
  sandbox: Locator | null
  /** Whether it belongs to another folder, and is only taken because this one has none. */
  isOther: boolean
  /** Those between which nothing decides. */
  several: readonly Locator[]
}

/**
 * Chooses the sandbox of a folder: the one that `svc start` started there, else the one with a name, else the one of `svc exec`;
 * else the only one that runs. One that does not say where it was started counts for every folder.
 *
 * @param root see findRoot
 */
export function chooseSandbox(sandboxes: readonly Locator[], root: string): SandboxChoice {
  const isOwn = ({ folder }: Locator) => folder === undefined || findRoot(folder) === root
  const own = sandboxes.filter(isOwn)
  const others = sandboxes.filter((sandbox) => !isOwn(sandbox))
  const chosen = [...rankOwn(own), ...rankOthers(others)].find((rank) => rank.length > 0) ?? []
  const [sandbox = null] = chosen
  if (chosen.length > 1 && !areNodes(chosen)) return { sandbox: null, isOther: false, several: chosen }
  return { sandbox, isOther: sandbox !== null && others.includes(sandbox), several: [] }
}

/** Whether they are nodes of one shared store and namespace: each answers the same. */
function areNodes([first, ...others]: readonly Locator[]): boolean {
  return (
    first?.namespace !== undefined &&
    others.every(({ database, namespace }) => database === first.database && namespace === first.namespace)
  )
}

function rankOwn(sandboxes: readonly Locator[]): Locator[][] {
  const [started = [], ofExec = []] = rankOthers(sandboxes)
  return [started.filter(({ name }) => name === undefined), started.filter(({ name }) => name !== undefined), ofExec]
}

/** Of another folder, one with a name is as good as one without. */
function rankOthers(sandboxes: readonly Locator[]): Locator[][] {
  return [
    sandboxes.filter(({ command }) => command === undefined),
    sandboxes.filter(({ command }) => command !== undefined),
  ]
}
