import { spawn } from 'node:child_process'
import type { Host } from './host.ts'

/** Opens a page in the person's browser; false where there is none to ask. */
export function openUrl({ env, platform }: Pick<Host, 'env' | 'platform'>, url: string): Promise<boolean> {
  const [command, ...args] =
    platform === 'darwin' ? ['open'] : platform === 'win32' ? ['rundll32', 'url.dll,FileProtocolHandler'] : ['xdg-open']
  return new Promise((resolve) => {
    const child = spawn(command as string, [...args, url], { env: { ...env }, stdio: 'ignore', detached: true })
    child.once('error', () => resolve(false))
    child.once('spawn', () => {
      child.unref()
      resolve(true)
    })
  })
}
