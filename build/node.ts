/** The code that runs under Node: three entries that share chunks, so that a command loads only what it needs. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Plugin } from 'vite'
import { endpoints } from '../src/cli/endpoint/facts.ts'
import { commandTree } from '../src/cli/run/command-tree.ts'
import { commands } from '../src/commands/index.ts'

/** Output in dist, and the source it is built from. */
export const entries: Record<string, string> = {
  'svc.js': 'src/main.ts',
  'sandbox.js': 'sandbox/index.ts',
  'client.js': 'src/client/index.ts',
  'checkpoint-worker.js': 'sandbox/store/sqlite/checkpoint-worker.ts',
  'file-worker.js': 'sandbox/store/sqlite/file-worker.ts',
}

const root = join(import.meta.dirname, '..')

/**
 * Five files for what commands share, in place of forty: finding and reading a file takes longer than evaluating it. The
 * first two are all that help and a usage error need.
 */
const codeSplitting = {
  includeDependenciesRecursively: false,
  groups: [
    {
      name: 'cli',
      test: /node_modules\/commander\/|src\/(cli\/(run\/(parser|command|errors|run-command|host)|output\/printable|settings\/table))\.ts/,
    },
    {
      name: 'output',
      test: /(?<!node_modules\/[\w-]+\/)node_modules\/(string-width|get-east-asian-width)\/|src\/cli\/output\/(output|style|text)\.ts/,
    },
    {
      name: 'command',
      test: /src\/(cli\/(run\/(run-session|session|http-fetch)|endpoint\/\w+|output\/(quoting|placement-summary)|process\/(locator|open-url|parent-watch)|settings\/(files|settings|state-directory|key-destination))|client\/(client|errors|exchange|stream)|foundation\/(?!nearest-name)\w[\w-]*|contract\/(error-codes|no-fill|limits))\.ts/,
    },
    {
      name: 'schemas',
      test: /node_modules\/zod\/|src\/contract\/(endpoint|fields|ids|provenance|field-errors|errors|(control|v1)\/projects)\.ts/,
    },
    {
      name: 'contract',
      test: /src\/contract\/(compat\/\w+|(control|v1)\/(?!beacons|events|evidence)\w+|index|listing|openapi[\w-]*)\.ts/,
    },
  ],
}

/**
 * Builds into `outDir`. Output files lie flat, so `new URL('../', import.meta.url)` is the package root from any of
 * them, as it is from a source file directly under `sandbox/` or `src/`.
 */
export async function buildNode(outDir: string): Promise<void> {
  const { build } = await import('vite')
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  await build({
    root,
    configFile: false,
    logLevel: 'error',
    publicDir: false,
    define: {
      __SVC_VERSION__: JSON.stringify(version),
      // A text in a text: parsing JSON is faster than evaluating an object of this size.
      __SVC_COMMAND_TREE__: JSON.stringify(JSON.stringify(await commandTree(commands))),
      'process.env.NODE_ENV': '"production"',
    },
    plugins: [evaluatedFacts, lazyStringWidth, plainBuiltins, noCircles],
    // Else NODE_ENV, which test runners set, chooses the development form of JSX, which the production React lacks.
    oxc: { jsx: { runtime: 'automatic', development: false } },
    ssr: { target: 'node', noExternal: true, external: ['better-sqlite3', 'playwright-core'] },
    build: {
      ssr: true,
      outDir,
      emptyOutDir: false,
      target: 'node22',
      minify: false,
      reportCompressedSize: false,
      rolldownOptions: {
        input: Object.fromEntries(
          Object.entries(entries).map(([file, source]) => [file.replace(/\.js$/, ''), join(root, source)]),
        ),
        output: { format: 'esm', entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js', codeSplitting },
      },
    },
  })
}

/** Puts the facts of the endpoints in the place of the file that computes them from the contract. */
const evaluatedFacts: Plugin = {
  name: 'evaluated-facts',
  load: (id) =>
    id.endsWith('/src/cli/endpoint/facts.ts')
      ? `export const endpoints = JSON.parse(${JSON.stringify(JSON.stringify(endpoints))})`
      : null,
}

/**
 * Makes string-width a function that evaluates its module when it is first called. Its regular expressions and its
 * segmenter initialize ICU: 20 to 40 ms for every command that loads it, about as long as Node itself takes to start.
 */
const lazyStringWidth: Plugin = {
  name: 'lazy-string-width',
  transform(code, id) {
    if (!id.endsWith('/string-width/index.js')) return null
    const imports = code.match(/^import .*;$/gm)?.join('\n') ?? ''
    const body = code.replace(/^import .*;$/gm, '').replace('export default function', 'return function')
    if (/^export/m.test(body))
      throw new Error('string-width exports more than one function now: see lazy-string-width.')
    return `${imports}
let width
export default (...args) => (width ??= evaluate())(...args)
function evaluate() {
${body}
}`
  },
}

/** Functions and classes of Node that few requests need: their modules are loaded when one is first called. */
const lateFunctions: Record<string, RegExp> = {
  'node:child_process': /^spawn$/,
  'node:dns/promises': /^lookup$/,
  'node:worker_threads': /^Worker$/,
  'node:zlib': /^[a-zA-Z, ]+$/,
}

function lateImports(module: string, names: string): string {
  return names
    .split(', ')
    .map((name) => {
      const value = `globalThis.process.getBuiltinModule("${module}").${name}`
      return `const ${name} = function (...args) { return new.target === undefined ? ${value}(...args) : new (${value})(...args) }`
    })
    .join('\n')
}

/**
 * Takes the modules of Node by `process.getBuiltinModule` instead of an import. An import reads every property of the
 * module, getters too: that of `node:http` loads undici for its WebSocket (45 ms of processor time; all of `node -e 0` is
 * 25), that of `node:process` opens stdin.
 */
const plainBuiltins: Plugin = {
  name: 'plain-builtins',
  renderChunk(code, { fileName }) {
    const plain = code.replace(
      /^import (?:\* as )?(?:([\w$]+)(?:, )?)?(?:\{ ([^}]+) \})? from "(node:[\w/]+)";$/gm,
      (_, whole: string | undefined, names: string | undefined, module: string) => {
        if (names !== undefined && lateFunctions[module]?.test(names)) return lateImports(module, names)
        const targets = [whole, names && `{ ${names.replaceAll(' as ', ': ')} }`].filter(
          (target) => target !== undefined,
        )
        return targets.map((target) => `const ${target} = globalThis.process.getBuiltinModule("${module}");`).join('\n')
      },
    )
    if (/^import .*"node:/m.test(plain)) throw new Error(`${fileName} imports a module of Node: see plain-builtins.`)
    return plain
  },
}

/**
 * Refuses chunks that import each other in a circle: one of them would run before what it needs, and fail when it starts.
 * A file of the contract that no group above takes is the usual cause.
 */
const noCircles: Plugin = {
  name: 'no-circles',
  generateBundle(_options, bundle) {
    const importsOf = (name: string) => {
      const chunk = bundle[name]
      return chunk?.type === 'chunk' ? chunk.imports : []
    }
    const checked = new Set<string>()
    const check = (name: string, path: readonly string[]) => {
      if (path.includes(name)) throw new Error(`Chunks import each other: ${[...path, name].join(' -> ')}`)
      if (checked.has(name)) return
      for (const next of importsOf(name)) check(next, [...path, name])
      checked.add(name)
    }
    for (const name of Object.keys(bundle)) check(name, [])
  },
}
