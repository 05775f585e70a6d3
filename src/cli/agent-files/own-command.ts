/** How coding agents start svc from a project: a command that exists there, however `svc agent setup` was called. */
import { existsSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import type { System } from '#cli/run/system.ts'

interface OwnCommand {
  /** The program and its first arguments. */
  words: readonly string[]
  /** What the command needs of a computer, one sentence; null for one that works wherever the project is installed. */
  needs: string | null
}

/**
 * Returns the command: the runner of the project that has the package, else `svc` of the PATH, else this very program by its
 * path. `command_name` is how it was called.
 */
export function findOwnCommand(
  { cwd, env, platform, program }: Pick<System, 'cwd' | 'env' | 'platform' | 'program'>,
  command_name: string,
): OwnCommand {
  const isRunner = command_name !== 'svc'
  if (hasPackage(cwd)) {
    return { words: isRunner ? command_name.split(' ') : ['npx', '--no', 'svc-sandbox'], needs: null }
  }
  if (isOnPath(env.PATH ?? env.Path ?? '', platform)) return { words: ['svc'], needs: null }
  const at = program.at(-1)
  const needs = `It names ${at}, which is on this computer alone: svc is on no PATH, and not installed in this project. Install it, then run this again.`
  return { words: program, needs }
}

/** Whether a folder, or one above it, has the package, or is that of its sources. */
function hasPackage(cwd: string): boolean {
  for (let folder = cwd; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'node_modules/svc-sandbox')) || existsSync(join(folder, '.pnp.cjs'))) return true
    if (existsSync(join(folder, 'bin/svc.js')) && existsSync(join(folder, 'src/main.ts'))) return true
    if (folder === dirname(folder)) return false
  }
}

/** Whether a folder of the PATH has it, other than one that a runner of packages has put there. */
function isOnPath(path: string, platform: string): boolean {
  const names = platform === 'win32' ? ['svc.exe', 'svc.cmd'] : ['svc']
  const folders = path.split(delimiter).filter((folder) => folder !== '' && !/[/\\]node_modules[/\\]/.test(folder))
  return folders.some((folder) => names.some((name) => existsSync(join(folder, name))))
}
