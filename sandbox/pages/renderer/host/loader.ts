/**
 * Loads the other parts of the script, from where the first came from: those of the same build alone, whose hashes it knows.
 */
import type { BrowserActivation } from './browser-activation.ts'
import type { Console, ConsoleOptions, ConsolePage } from './console-page.ts'
import type { RendererError } from './events.ts'
import type { Mounts } from './mounts/mounts.ts'
import { findObstacle, type Renderer } from './renderer.ts'

export interface Loader {
  /**
   * Resolves with what shows ads. Rejects when it cannot be loaded; the next call tries again. `service_url` is where the service
   * has render.js, for a copy that does not know where it came from.
   */
  load(service_url?: string): Promise<Mounts>
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
  let parts_url = script_url
  renderer.loadJudge = () => importPart(parts_url, 'judge')
  return {
    load: (service_url = '') => {
      // Data of a response never decides alone what runs in the page: the browser compares the hash.
      if (!parts_url && canCompare()) parts_url = service_url
      mounts ??= importPart<MountsPart>(parts_url, 'mounts').then(({ openMounts }) => openMounts(renderer))
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

/** The hash of each part, as in an integrity attribute. */
declare const __PARTS__: Readonly<Record<string, string>>

/** A policy of the page may name the first part alone, by its nonce. */
const { nonce } = document.currentScript ?? {}

function canCompare(): boolean {
  return document.createElement('link').relList.supports('modulepreload')
}

/**
 * Pages whose turns get no ad never load it. Under a Content-Security-Policy an import has the nonce of the script that imports. Its
 * integrity is that of the link that has fetched the same module before.
 */
async function importPart<Part>(
  script_url: string | null,
  name: string,
  path = `../assets/render/${name}.js`,
): Promise<Part> {
  if (!script_url) throw new Error('nothing says where its other parts are')
  const url = new URL(path, script_url).href
  if (canCompare()) await fetchModule(url, __PARTS__[name]!)
  return import(/* @vite-ignore */ url)
}

function fetchModule(href: string, integrity: string): Promise<void> {
  const link = document.createElement('link')
  Object.assign(link, { rel: 'modulepreload', crossOrigin: 'anonymous', integrity, nonce: nonce ?? '', href })
  return new Promise<void>((resolve, reject) => {
    link.onload = () => resolve()
    // The event about what a policy has blocked follows.
    link.onerror = () => setTimeout(() => reject(new Error(`${href} did not load, or is of another version`)))
    document.documentElement.append(link)
  }).finally(() => link.remove())
}

type MountsPart = typeof import('./mounts/mounts.ts')
type ActivationPart = typeof import('./browser-activation.ts')

interface ConsolePart {
  openConsole(page: ConsolePage, options?: ConsoleOptions): Promise<Console>
}

/** Loads the console of the page and opens it. Only a sandbox has one: it rejects for the script of another service. */
export async function loadConsole(script_url: string, page: ConsolePage, options?: ConsoleOptions): Promise<Console> {
  const { openConsole } = await importPart<ConsolePart>(script_url, 'console', '../_sandbox/console.js')
  return openConsole(page, options)
}
