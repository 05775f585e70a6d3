/** Opens the console of the page when it is asked for: until then the page loads no byte of it. */
import type { Console, ConsoleOptions, ConsolePage, ConsoleTurn } from './console-page.ts'
import { loadConsole } from './loader.ts'
import type { Renderer } from './renderer.ts'

export type OpenConsole = (options?: ConsoleOptions) => Promise<Console | null>

interface ConsoleSource {
  version: string
  /** Null where no script element is known. */
  script_url: string | null
  turns: () => ConsoleTurn[]
}

/** Returns what loads and opens the console. It resolves with null after a line on the console of the browser that says why. */
export function createConsole(renderer: Renderer, { version, script_url, turns }: ConsoleSource): OpenConsole {
  return async (options) => {
    try {
      const url = new URL('..', script_url!)
      const page: ConsolePage = {
        version,
        base_url: url.href.slice(0, -1),
        turns,
        ads: () => renderer.ads(),
        events: renderer.events.list,
        on: (listener) => renderer.events.on('*', listener),
        now: renderer.clock.now,
      }
      return await loadConsole(script_url!, page, options)
    } catch (problem) {
      await renderer.pause(0, undefined)
      const violation = renderer.violations.find('script-src', script_url ?? '')
      const cause = violation
        ? `csp_blocked: add its origin to ${violation.directive}`
        : `no sandbox sent it: ${problem}`
      console.warn(`[sponsored placement] The console did not load from ${script_url}. ${cause}`)
      return null
    }
  }
}

/** Opens the console where the address of the page says so, and with Ctrl+Alt+Shift+S. */
export function listenForConsole(open: OpenConsole): void {
  if (/\bsvc_console=1\b/.test(location.search)) void open()
  addEventListener('keydown', (event) => {
    const { code, ctrlKey, altKey, shiftKey } = event
    // AltGr writes a letter: on Windows it is Ctrl and Alt, too.
    if (code !== 'KeyS' || !ctrlKey || !altKey || !shiftKey || event.getModifierState('AltGraph')) return
    void open({ focus: true })
  })
}
