/** The engines that the tests of this folder run in, each in a project of its own: those that are installed. */
import { type Engine, engines } from '#qa/browser/engines.ts'
import { findEngine } from '#qa/browser/find.ts'
import { type BrowserHost, openBrowserHost } from '#qa/browser/launch.ts'
import { computer } from '#tests/computer.ts'

/** Returns the engines that this computer has. */
export async function installedEngines(): Promise<Engine[]> {
  const found = await Promise.all(engines.map((engine) => findEngine(engine, computer)))
  return engines.filter((_, index) => found[index] !== null)
}

let shared: Promise<BrowserHost> | undefined

/** Returns the browser of this project, which a file closes when its tests are done. */
export function engineUnderTest(): Promise<BrowserHost> {
  const engine = process.env.SVC_ENGINE as Engine
  shared ??= findEngine(engine, computer).then(async (found) =>
    openBrowserHost({ engine, path: await found!.program(), computer: computer, reachable: [] }),
  )
  return shared
}

/** Firefox outlives the process that started it, unless it is closed. */
export async function closeEngine(): Promise<void> {
  const open = shared
  shared = undefined
  await (await open)?.close()
}
