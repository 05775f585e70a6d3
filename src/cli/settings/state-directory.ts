/** The state directory: its path, and the error when it cannot be used. */
import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import { createFolder } from '../../foundation/folder.ts'
import { CliError } from '../run/errors.ts'
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
    createFolder(path, 0o700)
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
export function stateFailure(path: string, error: unknown): unknown {
  if (error instanceof CliError || !(error instanceof Error) || !('syscall' in error)) return error
  const message = path.startsWith(nowhere)
    ? 'There is no home directory, so svc has no place for its state.'
    : `The state directory cannot be written: ${error.message}.`
  const hint = 'Set SVC_HOME to a directory of yours. Without one: svc start --ephemeral, or svc exec -- CMD'
  return new CliError('usage', 'state_unwritable', message, hint)
}
