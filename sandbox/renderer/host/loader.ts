/** Loads the other parts of the script, from where the first came from. */
import type { BrowserActivation } from './browser-activation.ts'
import type { Console, ConsoleOptions, ConsolePage } from './console-page.ts'
import type { RendererError } from './events.ts'
import type { Mounts } from './mounts/mounts.ts'
import { findObstacle, type Renderer } from './renderer.ts'

export interface Loader {
  /** Resolves with what shows ads. Rejects when it cannot be loaded; the next call tries again. */
  load(): Promise<Mounts>
  /** Activates a publishable key. Resolves with null after an error event. */
  activate(options: { publishableKey: string }): Promise<BrowserActivation | null>
  /** Returns the error of a `load` that has rejected. */
  describe(problem: unknown): RendererError
}

/** `script_url` is null where no script element is known. */
export function openLoader(renderer: Renderer, script_url: string | null): Loader {
  let mounts: Promise<Mounts> | undefined
  const describe = (problem: unknown): RendererError =>
    renderer.violations.find('script-src', script_url ?? '') ?? { code: 'script_incomplete', message: String(problem) }
  renderer.loadJudge = () => importPart(script_url, 'judge')
  return {
    load: () => {
      mounts ??= importPart<MountsPart>(script_url, 'mounts').then(({ openMounts }) => openMounts(renderer))
      mounts.catch(() => {
        mounts = undefined
      })
      return mounts
    },
    activate: async (options) => {
      const obstacle = findObstacle()
      if (obstacle) return renderer.refuse(obstacle)
      return importPart<ActivationPart>(script_url, 'activation').then(
        ({ activateBrowser }) => activateBrowser(renderer, script_url!, options),
        (problem) => renderer.refuse(describe(problem)),
      )
    },
    describe,
  }
}

/**
 * Pages whose turns get no ad never load it. Under a Content-Security-Policy an import has the nonce of the script that imports.
 */
async function importPart<Part>(script_url: string | null, name: string): Promise<Part> {
  return import(/* @vite-ignore */ new URL(`../assets/render/${name}.js`, script_url!).href)
}

type MountsPart = typeof import('./mounts/mounts.ts')
type ActivationPart = typeof import('./browser-activation.ts')

interface ConsolePart {
  openConsole(page: ConsolePage, options?: ConsoleOptions): Promise<Console>
}

/** Loads the console of the page and opens it. Only a sandbox has one: it rejects for the script of another service. */
export async function loadConsole(script_url: string, page: ConsolePage, options?: ConsoleOptions): Promise<Console> {
  const url = new URL('../_sandbox/console.js', script_url).href
  const { openConsole }: ConsolePart = await import(/* @vite-ignore */ url)
  return openConsole(page, options)
}
