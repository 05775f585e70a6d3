/** Opens pages in your browser. */
import type { SpawnOptions } from 'node:child_process'
import { startProgram } from '#foundation/programs.ts'
import type { CommandContext } from '../run/command.ts'
import type { System } from '../run/system.ts'

/** A failing opener ends immediately; one that keeps running has become the browser, or is waiting for it. */
const failureTimeoutMs = 1_000
/** Linux needs one of these variables to show anything. */
const displays = ['DISPLAY', 'WAYLAND_DISPLAY', 'WSL_DISTRO_NAME', 'BROWSER']

/** Opens a page in the browser. Resolves to false when there is none. */
export async function openUrl({ env, platform }: Pick<System, 'env' | 'platform'>, url: string): Promise<boolean> {
  const hasDisplay = platform === 'darwin' || platform === 'win32' || displays.some((name) => env[name])
  if (!hasDisplay) return false
  const opener =
    platform === 'darwin' ? ['open'] : platform === 'win32' ? ['rundll32', 'url.dll,FileProtocolHandler'] : ['xdg-open']
  const options: SpawnOptions = { env: { ...env }, stdio: 'ignore', detached: true }
  const child = await startProgram([...opener, url], options, platform).catch(() => null)
  if (child === null) return false
  return new Promise((resolve) => {
    const finish = (isOpen: boolean) => {
      clearTimeout(timer)
      resolve(isOpen)
    }
    const timer = setTimeout(() => {
      child.unref()
      finish(true)
    }, failureTimeoutMs)
    child.once('error', () => finish(false))
    child.once('exit', (code) => finish(code === 0))
  })
}

/** Opens a page for a command that prints its URL, and notes whether it did. Without a terminal nothing is opened. */
export async function openPage({ system, out }: CommandContext, url: string): Promise<boolean> {
  const isOpen = system.stdout.is_terminal && (await openUrl(system, url))
  // In text format the command itself prints the URL.
  const where = out.format === 'text' ? '.' : `: ${url}`
  if (isOpen) out.note(`Opened in the browser${where}`)
  else out.note(`Not opened, ${system.stdout.is_terminal ? 'no browser was found' : 'this is not a terminal'}${where}`)
  return isOpen
}
