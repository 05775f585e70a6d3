import { join } from 'node:path'
import type { Host } from '../run/host.ts'

/** The state directory: `$SVC_HOME`, else the platform's own place. Nothing is ever kept in the current directory. */
export function stateDirectory({ env, home, platform }: Pick<Host, 'env' | 'home' | 'platform'>): string {
  if (env.SVC_HOME) return env.SVC_HOME
  if (env.XDG_STATE_HOME) return join(env.XDG_STATE_HOME, 'svc')
  if (platform === 'win32') return join(env.LOCALAPPDATA || join(home, 'AppData', 'Local'), 'svc')
  if (platform === 'darwin') return join(home, 'Library', 'Application Support', 'svc')
  return join(home, '.local', 'state', 'svc')
}
