/**
 * All tests, by suite. The folder of a test is its suite: `npm test` runs those of every change, `npm run test:postgres` and
 * the like one of the others, and `.ci/run` all of them. A suite is chosen by `--mode`.
 */
import { availableParallelism } from 'node:os'
import { defineConfig, type TestProjectConfiguration } from 'vitest/config'
import { engines } from './src/judge/qa/browser/engines.ts'
import { imitatedComputers, missingComputers } from './tests/computers/computers.ts'
import { findContainerObstacle } from './tests/containers.ts'
import { findShimObstacle } from './tests/disk/shim.ts'
import { installedEngines } from './tests/engines/engines.ts'
import { findUngradable } from './tests/evals/languages.ts'
import { LongestFirst } from './tests/longest-first.ts'
import { patience_ms, wait_ms } from './tests/patience.ts'
import { poolerProgram } from './tests/postgres/find-pooler.ts'
import { findFilesInDepth, inDepth } from './tests/runner/depth.ts'
import { findPytest, untestableTemplates } from './tests/templates/toolchains.ts'

const processors = availableParallelism()

/** Each run has a temporary folder of its own; what is built once is built before the first test. */
const inOwnFolder = 'tests/temporary-root.ts'
const built = [inOwnFolder, 'tests/build-once.ts']

/** The suites, by the name of their script: `test:<name>`. The one of `npm test` is called `test`, as vitest's own mode. */
const suites: Record<string, () => TestProjectConfiguration[] | Promise<TestProjectConfiguration[]>> = {
  test: () => [
    project('parallel', {
      ...part('selection'),
      include: [
        '{src,sandbox}/**/*.test.{ts,tsx}',
        'tests/{architecture,browser,cli,contract,docs,http,package,qa-report,reliability,surface}/**/*.test.{ts,tsx}',
        'tests/fuzz/corpus.test.ts',
        'tests/simulation/smoke.test.ts',
        'tests/mutation-score/verdict.test.ts',
        'tests/runner/*.test.ts',
        'tests/histories/checks.test.ts',
      ],
      globalSetup: built,
      // On every computer: each has a Chromium, starts at most one more at a time, and a handful of other processes.
      maxWorkers: 2,
      // They share nothing but what they import, which is loaded once a worker.
      isolate: false,
    }),
  ],

  /** Everything that goes through a large matrix: mutants, malformed requests by the thousand, kills, damage. */
  mutations: () => [
    project('mutations', {
      include: ['tests/{mutations,matrices}/**/*.test.ts'],
      globalSetup: built,
      // One more than processors: kills and commands that follow something are waited for.
      maxWorkers: processors + 1,
    }),
  ],

  /**
   * svc as a process, in depth: every signal, pipe, terminal and parent; and what `npm test` has one of each kind of: commands, blocks
   * of the docs, the package, kills.
   */
  processes: () => [
    project('processes', {
      include: ['tests/processes/**/*.test.ts'],
      globalSetup: built,
      // They mostly wait for the processes that they start.
      maxWorkers: processors + 1,
    }),
    project('depth', {
      ...part('depth'),
      include: findFilesInDepth(inDepth.processes),
      globalSetup: built,
      maxWorkers: processors + 1,
      isolate: false,
    }),
  ],

  /** Faults below SQLite: recorded files at every write and after power losses, and calls that the system refuses. */
  disk: () => {
    const obstacle = findShimObstacle()
    if (obstacle !== null) console.log(`The tests below the database are left out: ${obstacle}`)
    return [
      project('disk', {
        include: obstacle === null ? ['tests/disk/*.test.ts'] : [],
        globalSetup: built,
        testTimeout: 7_200_000,
        // One more than processors: what fails is waited for.
        maxWorkers: processors + 1,
      }),
    ]
  },

  /** How long the event loop is blocked while each endpoint works on a million rows. */
  pauses: () => [
    project('pauses', {
      include: ['tests/pauses/**/*.test.ts'],
      globalSetup: built,
    }),
  ],

  /** The pages of the sandbox and of svc in a real Chromium, view by view, and ads in pages of every kind; `npm test` has a selection. */
  pages: () => [
    project('pages', {
      include: ['tests/{inspector,pages}/**/*.test.ts'],
      globalSetup: built,
      // One Chromium a worker, for all of its files.
      isolate: false,
      // More pages than processors starve each other.
      maxWorkers: processors,
    }),
    project('browser', {
      ...part('depth'),
      include: findFilesInDepth(inDepth.pages),
      globalSetup: built,
      isolate: false,
      maxWorkers: processors,
    }),
  ],

  /** The HTTP suite on a PostgreSQL that the run starts, and what only several nodes and both adapters together can show. */
  postgres: () => {
    if (poolerProgram === undefined) console.log('pgbouncer is not installed: the tests behind a pooler are left out')
    return [
      project('postgres', {
        include: ['tests/{http,postgres}/**/*.test.ts'],
        // By the engine's coverage none of them reaches a function of sandbox/store/postgres that the others do not.
        exclude: [
          'tests/http/without-store/**',
          ...(poolerProgram !== undefined ? [] : ['tests/postgres/pooler.test.ts']),
        ],
        runner: 'tests/postgres/runner.ts',
        globalSetup: [...built, 'tests/postgres/global-setup.ts'],
        isolate: false,
        // They wait for the database more than for a processor.
        maxWorkers: processors + 2,
      }),
    ]
  },

  /** The renderer in each engine that is installed. `.ci/install-browsers` installs Firefox and WebKit. */
  engines: async () => {
    const installed = await installedEngines()
    for (const engine of engines) {
      if (!installed.includes(engine)) console.log(`${engine} is not installed: its tests are left out`)
    }
    return installed.map((engine) =>
      project(engine, {
        env: { SVC_ENGINE: engine },
        setupFiles: ['tests/setup.ts', 'tests/engines/interrupt.ts'],
        // `npm test` has run its pages and `svc qa` in Chromium.
        include: [engine === 'chromium' ? 'tests/engines/*.test.ts' : 'tests/engines/**/*.test.ts'],
        globalSetup: built,
        isolate: false,
        maxWorkers: 2,
      }),
    )
  },

  /** What others make of the OpenAPI document, of the tools for agents and of the recipes for CI, with tools of the registry. */
  interop: () => {
    const obstacle = findContainerObstacle()
    if (obstacle !== null) console.log(`The tests with containers are left out: ${obstacle}`)
    return [
      project('interop', {
        include: ['tests/interop/**/*.test.ts'],
        exclude: obstacle === null ? [] : ['tests/interop/containers.test.ts'],
        // The first looks for the tools in the temporary folder of the system, before a run gets one of its own.
        globalSetup: ['tests/interop/tools.ts', ...built],
        // Each file mostly waits for the processes that it starts.
        maxWorkers: 2,
      }),
    ]
  },

  /** Each template as a newcomer gets it, the package under each installer and Node, and the single binary. */
  templates: () => {
    const untestable = untestableTemplates()
    for (const { name, toolchain } of untestable)
      console.log(`${toolchain?.needs} is not installed: the tests of ${name} are left out`)
    const hasPytest = findPytest() !== null
    if (!hasPytest) console.log('pytest is not installed: the tests of its fixture are left out')
    return [
      project('templates', {
        include: ['tests/{binary,in-process,install,templates}/**/*.test.ts'],
        exclude: [
          ...untestable.map(({ name }) => `tests/templates/${name}.test.ts`),
          ...(hasPytest ? [] : ['tests/in-process/pytest.test.ts']),
        ],
        globalSetup: ['tests/install/tools.ts', inOwnFolder, 'tests/templates/installed.ts'],
        // A file has one template: it installs and builds beside others, whose pages mostly wait.
        maxWorkers: processors + 1,
      }),
    ]
  },

  /** The tasks for coding agents: that each right solution passes, and each wrong one fails for its reason; and their harness. */
  evals: () => {
    for (const [task, language] of findUngradable())
      console.log(`${language} is not installed: the solutions of ${task} are left out`)
    return [project('evals', { include: ['tests/evals/*.test.ts'], globalSetup: built, maxWorkers: 2, isolate: false })]
  },

  /** The package on computers that this one can imitate, where `.ci/other-computers` has installed what imitates them. */
  computers: () => {
    const imitated = imitatedComputers()
    for (const line of missingComputers(imitated)) console.log(line)
    return [
      project('computers', {
        include: imitated.map(({ name }) => `tests/computers/${name}.test.ts`),
        globalSetup: ['tests/computers/installed.ts', inOwnFolder],
        maxWorkers: 2,
      }),
    ]
  },

  /** Histories of the whole sandbox on virtual time, disk and network, and what they find that was put in. */
  simulation: () => [
    project('simulation', {
      include: ['tests/simulation/simulation.test.ts'],
      globalSetup: built,
      // As many histories on every machine, however slow: a guard against hanging.
      testTimeout: 3_600_000,
    }),
  ],

  /** Histories of nodes as processes that share a PostgreSQL, with faults of nodes, network and database, and their checks. */
  shared: () => [
    project('shared', {
      include: ['tests/shared-histories/**/*.test.ts'],
      globalSetup: built,
      // They mostly wait for faults to end.
      maxWorkers: processors + 1,
    }),
  ],

  /** The coverage-guided fuzzer on the parsers of files from strangers; what it has kept runs in `npm test`. */
  fuzz: () => [
    project('fuzz', {
      include: ['tests/fuzz/fuzz.test.ts'],
      globalSetup: ['tests/install/tools.ts', inOwnFolder],
    }),
  ],

  /** Minutes of mixed load with kills. */
  soak: () => [project('soak', { include: ['tests/soak/**/*.test.ts'], globalSetup: built })],
}

type Options = NonNullable<Extract<TestProjectConfiguration, { test?: unknown }>['test']>

/** What only installs from the registry is not needed to see how a run of a suite ends. */
const installers = /^tests\/(install|interop)\/tools\.ts$|\/installed\.ts$/

/** Runs one of each kind of the tests of files, or the others. A file that vitest itself is started with has all. */
function part(name: 'selection' | 'depth'): Options {
  if (name === 'selection' && process.env.SVC_SUITE === undefined) return {}
  return { runner: 'tests/runner/part.ts', env: { SVC_TESTS_PART: name } }
}

/** With `SVC_FAILING_TEST=1` a suite has one test, which fails: its script then ends with a code that is not 0. */
function withOneFailingTest(options: Options): Options {
  const setups = [options.globalSetup ?? []].flat().filter((file) => !installers.test(file))
  return { ...options, include: ['tests/runner/failing.ts'], exclude: [], globalSetup: setups }
}

function project(name: string, given: Options): TestProjectConfiguration {
  const options = process.env.SVC_FAILING_TEST === '1' ? withOneFailingTest(given) : given
  return {
    test: {
      name,
      setupFiles: 'tests/setup.ts',
      tags: [{ name: 'depth', description: 'Left to a suite in depth: npm test has one of the kind.' }],
      testTimeout: patience_ms,
      hookTimeout: patience_ms,
      // No limit of its own: it ends just before that of the test, so that the failure has what was read last.
      expect: { poll: { timeout: wait_ms } },
      ...options,
    },
  }
}

export default defineConfig(async ({ mode }) => {
  const suite = suites[mode]
  if (suite === undefined) throw new Error(`There is no suite ${mode}. There are: ${Object.keys(suites).join(', ')}.`)
  const projects = await suite()
  // Of the computers, none may be there to imitate; and only Linux has what goes below the database.
  const mayBeEmpty = mode === 'computers' || mode === 'disk'
  return { test: { projects, sequence: { sequencer: LongestFirst }, passWithNoTests: mayBeEmpty } }
})
