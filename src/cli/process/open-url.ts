import { spawn } from 'node:child_process'
import type { Host } from '../run/host.ts'
import type { Session } from '../run/session.ts'

/** An opener that fails does so at once; one that goes on has become the browser, or waits for it. */
const failsWithin_ms = 1_000
/** Variables of which Linux needs one before anything can be shown. */
const displays = ['DISPLAY', 'WAYLAND_DISPLAY', 'WSL_DISTRO_NAME', 'BROWSER']

/** Opens a page in the person's browser; false where there is none to ask. */
export function openUrl({ env, platform }: Pick<Host, 'env' | 'platform'>, url: string): Promise<boolean> {
  const isShown = platform === 'darwin' || platform === 'win32' || displays.some((name) => env[name])
  if (!isShown) return Promise.resolve(false)
  const [command, ...args] =
    platform === 'darwin' ? ['open'] : platform === 'win32' ? ['rundll32', 'url.dll,FileProtocolHandler'] : ['xdg-open']
  return new Promise((resolve) => {
    const child = spawn(command as string, [...args, url], { env: { ...env }, stdio: 'ignore', detached: true })
    const timer = setTimeout(() => {
      child.unref()
      resolve(true)
    }, failsWithin_ms)
    const settle = (isOpen: boolean) => {
      clearTimeout(timer)
      resolve(isOpen)
    }
    child.once('error', () => settle(false))
    child.once('exit', (code) => settle(code === 0))
  })
}

/** Opens a page for a command, and tells whether it did. Without a terminal there is nobody to show it to. */
export async function openPage({ host, out }: Session, url: string): Promise<boolean> {
  const isOpen = host.stdout.is_terminal && (await openUrl(host, url))
  if (isOpen) out.note(`Opened in the browser: ${url}`)
  else out.note(`Not opened, ${host.stdout.is_terminal ? 'no browser was found' : 'this is no terminal'}: ${url}`)
  return isOpen
}
