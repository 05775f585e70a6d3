/** The folder of a task: its bases, its own files, the packages of this checkout, and the patch of a solution. */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Task } from './task.ts'

export const checkout = join(import.meta.dirname, '../..')
const taskFolder = ({ name }: Pick<Task, 'name'>) => join(import.meta.dirname, 'tasks', name)

/** What a project may import without an install: links to what this checkout has. */
const packages = ['react', 'react-dom', 'vite', 'vitest']

export interface Project extends Disposable {
  directory: string
}

/** Copies a project of a task to a temporary folder. */
export function copyProject(task: Pick<Task, 'name' | 'bases'>): Project {
  const { bases = [] } = task
  const folders = [...bases.map((base) => join(import.meta.dirname, 'bases', base)), join(taskFolder(task), 'project')]
  return copyFolders(folders.filter(existsSync))
}

/** Copies what an agent has left, so that its grading changes nothing of it. */
export function copyFolders(folders: readonly string[]): Project {
  const root = mkdtempSync(join(tmpdir(), 'evals-'))
  const directory = join(root, 'project')
  mkdirSync(directory)
  for (const folder of folders)
    cpSync(folder, directory, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (path) => !/\/(node_modules|\.git)$/.test(path),
    })
  linkPackages(directory)
  return {
    directory,
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }),
  }
}

function linkPackages(directory: string): void {
  const modules = join(directory, 'node_modules')
  mkdirSync(join(modules, '.bin'), { recursive: true })
  symlinkSync(checkout, join(modules, 'svc-sandbox'))
  symlinkSync(join(checkout, 'bin/svc.js'), join(modules, '.bin/svc'))
  for (const name of packages) symlinkSync(join(checkout, 'node_modules', name), join(modules, name))
}

/** Returns the names of a task's solutions: `right`, those that begin with `wrong-`, and an attack. */
export function listSolutions(task: Pick<Task, 'name'>): string[] {
  const files = readdirSync(join(taskFolder(task), 'solutions'))
  return files.filter((name) => name.endsWith('.patch')).map((name) => name.slice(0, -'.patch'.length))
}

/** Returns the patches that make a solution of the bare project. */
export function listPatches(task: Pick<Task, 'name'>, solution: string): string[] {
  const names = /^wrong-|-after-right$/.test(solution) ? ['right', solution] : [solution]
  return names.map((name) => join(taskFolder(task), 'solutions', `${name}.patch`))
}

/** @throws Error when a patch does not fit */
export function applyPatches(directory: string, patches: readonly string[]): void {
  for (const patch of patches) {
    // A copy lies in no repository: git must not look for one above it.
    const env = { ...process.env, GIT_DIR: join(directory, 'no-repository') }
    const { status, stderr } = spawnSync('git', ['apply', '--whitespace=nowarn', patch], {
      cwd: directory,
      env,
      encoding: 'utf8',
    })
    if (status !== 0) throw new Error(`${patch} does not fit: ${stderr}`)
  }
}
