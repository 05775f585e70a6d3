/**
 * A test runner for Stryker, and its plugin: it loads the tests of all areas once, and runs those that reach a mutant in
 * the same process. Stryker's own runner for vitest starts a run of vitest for each mutant, which costs most of a second.
 */
import { registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import { areas, areasVariable } from './areas.ts'
import { type CollectedTest, collectTests } from './test-functions.ts'

/** What the instrumented code reads and counts: Stryker's, in its global variable. */
interface Instrumentation {
  activeMutant?: string | undefined
  currentTestId?: string | undefined
  hitCount?: number | undefined
  hitLimit?: number | undefined
  mutantCoverage?: object
}

interface MutantRun {
  activeMutant: { id: string }
  mutantActivation: 'runtime' | 'static'
  testFilter?: readonly string[]
  hitLimit?: number
  /** The file of the mutant. */
  sandboxFileName: string
}

const global = globalThis as { __stryker__?: Instrumentation }
global.__stryker__ ??= {}
const instrumentation = global.__stryker__

const functions = new URL('test-functions.ts', import.meta.url).href
const root = pathToFileURL(`${process.cwd()}/`).href

/**
 * What is loaded again, with a query in its URL, for a mutant of what runs when modules are loaded. All other modules are
 * shared.
 */
const changed = new Set(areas.flatMap(({ files, tests }) => [...files, ...tests]).map((file) => root + file))
let generation = 0
const about = process.env[areasVariable]?.split(',')
const testFiles = areas.filter(({ name }) => about?.includes(name) !== false).flatMap(({ tests }) => tests)

/** The modules that each module imports, by URL. */
const imported = new Map<string, string[]>()

registerHooks({
  resolve(specifier, context, nextResolve) {
    if (specifier === 'vitest' && context.parentURL !== functions) return { url: functions, shortCircuit: true }
    const resolved = nextResolve(specifier, context)
    const { search, href } = new URL(context.parentURL ?? root)
    if (search === '') imported.set(href, [...(imported.get(href) ?? []), resolved.url])
    const isOwn = search !== '' && changed.has(resolved.url)
    return isOwn ? { ...resolved, url: resolved.url + search } : resolved
  },
})

// The same examples in each run: a mutant is killed by all runs or by none.
fc.configureGlobal({ seed: 1, endOnFailure: true })

function createRunner() {
  let unchanged: Promise<CollectedTest[]> | null = null

  return {
    capabilities: () => ({ reloadEnvironment: true }),

    async dryRun() {
      unchanged = loadTests()
      const tests = []
      for (const { id, file, run } of await unchanged) {
        const from = performance.now()
        const failure = await runTest(id, run)
        const result = { id, name: id, fileName: file, timeSpentMs: performance.now() - from }
        tests.push(failure === null ? { ...result, status: 0 } : { ...result, status: 1, failureMessage: failure })
      }
      return { status: 'complete', tests, mutantCoverage: instrumentation.mutantCoverage }
    },

    async mutantRun(mutant: MutantRun): Promise<MutantResult> {
      unchanged ??= loadTests()
      const tests = await unchanged
      const { activeMutant, hitLimit } = mutant
      Object.assign(instrumentation, { activeMutant: activeMutant.id, hitCount: 0, hitLimit })
      const result = await runMutant(mutant, tests)
      Object.assign(instrumentation, { activeMutant: undefined, hitCount: undefined, hitLimit: undefined })
      const killer = tests.find(({ id }) => result.killedBy?.includes(id))
      if (killer === undefined || (await runTest(killer.id, killer.run)) === null) return result
      return { status: 'error', errorMessage: `${killer.id} fails without the mutant too` }
    },
  }
}

/** What Stryker expects of a mutant. */
interface MutantResult {
  status: 'killed' | 'survived' | 'timeout' | 'error'
  killedBy?: readonly string[]
  failureMessage?: string
  nrOfTests?: number
  reason?: string
  errorMessage?: string
}

/** Runs the tests that reach a mutant, which is active. `tests`: as they were loaded without it. */
async function runMutant(
  { mutantActivation, testFilter, sandboxFileName }: MutantRun,
  tests: readonly CollectedTest[],
): Promise<MutantResult> {
  if (mutantActivation === 'runtime') return findKiller(tests.filter(({ id }) => testFilter?.includes(id)))
  const file = pathToFileURL(sandboxFileName).href
  const reaching = testFiles.filter((each) => reaches(root + each, file))
  generation++
  try {
    return await findKiller(await loadTests(reaching, `?generation=${generation}`))
  } catch (error) {
    // It cannot be loaded at all, which no test can miss.
    return { status: 'killed', killedBy: [], failureMessage: String(error), nrOfTests: 0 }
  }
}

async function findKiller(tests: readonly CollectedTest[]): Promise<MutantResult> {
  let count = 0
  for (const { id, run } of tests) {
    count++
    const failureMessage = await runTest(id, run)
    if ((instrumentation.hitCount ?? 0) > (instrumentation.hitLimit ?? Number.POSITIVE_INFINITY)) {
      return { status: 'timeout', reason: 'It runs without an end.' }
    }
    if (failureMessage !== null) return { status: 'killed', killedBy: [id], failureMessage, nrOfTests: count }
  }
  return { status: 'survived', nrOfTests: count }
}

/** Runs a test, and returns why it failed; null when it passed. */
async function runTest(id: string, run: () => unknown): Promise<string | null> {
  instrumentation.currentTestId = id
  try {
    await run()
    return null
  } catch (error) {
    return String(error)
  } finally {
    instrumentation.currentTestId = undefined
  }
}

/** Loads tests. Modules of another query are other modules. */
async function loadTests(files: readonly string[] = testFiles, query = ''): Promise<CollectedTest[]> {
  const tests: CollectedTest[] = []
  for (const file of files) tests.push(...(await collectTests(`${root}${file}${query}`, file)))
  return tests
}

/** Whether a module imports another one, directly or over others. */
function reaches(from: string, to: string): boolean {
  const found = new Set([from])
  // Grows while it is read.
  for (const url of found) for (const each of imported.get(url) ?? []) found.add(each)
  return found.has(to)
}

export const strykerPlugins = [{ kind: 'TestRunner', name: 'rules', factory: createRunner }]
