/**
 * What the built bundles that run in the process of a user's test take from the platform: nothing that fake timers or a DOM
 * environment replace. The build injects what was taken when the first chunk loaded (`build/captured-globals.ts`), also into
 * bundled libraries; what it would still inject here has been forgotten there.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { transformWithOxc } from 'vite'
import { expect, test } from 'vitest'
import { checkout } from './unpack.ts'

const dist = join(checkout, 'dist')
const entries = ['sandbox.js', 'client.js', 'contract.js', 'vitest.js', 'playwright.js']

const timers = ['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval', 'clearImmediate']
/** What Vitest, Jest, node:test and sinon replace by fake timers, and jsdom and happy-dom by those of a window. */
const replaceable = [
  ...timers,
  ...['queueMicrotask', 'process.nextTick', 'process.hrtime', 'performance', 'Date.now', 'AbortSignal.timeout'],
  ...['requestAnimationFrame', 'cancelAnimationFrame', 'requestIdleCallback', 'cancelIdleCallback'],
  ...['fetch', 'URL', 'URLSearchParams', 'TextDecoder', 'TextEncoder'],
]
const timerModules =
  /getBuiltinModule\("(?:node:)?(?:timers(?:\/promises)?|perf_hooks)"\)|from "(?:node:)?(?:timers|perf_hooks)/
const pastInjection = new RegExp(
  `globalThis\\.(?:${timers.join('|')}|queueMicrotask|performance|Date|fetch)\\b|= globalThis;`,
)

/** Chunks that take one of these all the same. */
const permitted: Readonly<Record<string, readonly string[]>> = {
  // A test that replaces fetch means the requests of its app too; src/core/client/node-fetch.ts sees to DOM environments.
  command: ['fetch', 'globalThis.fetch'],
  // Only where it runs in a page.
  jq: ['fetch'],
  // The use of the event loop, for metrics: fake timers do not replace it.
  sandbox: ['getBuiltinModule("node:perf_hooks")'],
  // The text of a function that runs in the frame of a sheet.
  stage: ['requestAnimationFrame'],
  // OpenTelemetry takes the clock when it is loaded, which is for --otlp alone.
  tracing: ['performance'],
}

test('they are what the build has taken', async () => {
  const found: string[] = []
  const chunks = reachableFrom(entries)
  expect(chunks.length).toBeGreaterThan(entries.length + 20)
  for (const file of chunks) {
    const [name = ''] = file.split(/-[\w-]{8}\.js$/)
    if (name === 'captured-globals') continue
    for (const taken of await takenBy(readFileSync(join(dist, file), 'utf8')))
      if (!permitted[name]?.includes(taken)) found.push(`${file}: ${taken}`)
  }
  expect(found).toEqual([])
})

test.each(replaceable)('%s is found, unless the code declares it itself', async (name) => {
  expect(await takenBy(`export const x = () => ${name}(1)`)).toEqual([name])
  const [own = ''] = name.split('.')
  expect(await takenBy(`export const x = (${own}) => ${name}(1)`)).toEqual([])
})

test.each([
  'const { setTimeout: wait } = globalThis.process.getBuiltinModule("node:timers/promises");',
  'import timers from "node:timers"',
  'var { setTimeout: startTimer } = globalThis;',
  'globalThis.queueMicrotask(later)',
])('%s is found', async (code) => {
  expect(await takenBy(code)).toHaveLength(1)
})

/** Returns what a chunk takes: names that it declares nowhere, and ways past them. */
async function takenBy(code: string): Promise<string[]> {
  const inject = Object.fromEntries(replaceable.map((name) => [name, [`taken:${name}`, 'value'] as [string, string]]))
  const { code: injected } = await transformWithOxc(code, 'chunk.js', { inject, target: 'esnext' })
  const free = [...injected.matchAll(/"taken:([\w.]+)"/g)].map(([, name]) => name!)
  const past = [timerModules, pastInjection].flatMap((pattern) => pattern.exec(code)?.[0] ?? [])
  return [...free, ...past]
}

/** Returns the files that an entry loads, at once or later. */
function reachableFrom(files: readonly string[]): string[] {
  const reached = new Set<string>()
  const pending = [...files]
  for (const file of pending) {
    if (reached.has(file)) continue
    reached.add(file)
    const imports = readFileSync(join(dist, file), 'utf8').matchAll(/(?:from|import) ?\(?"\.\/([^"]+)"/g)
    for (const [, next = ''] of imports) pending.push(next)
  }
  return [...reached]
}
