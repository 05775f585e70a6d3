/** The code that runs under Node: three entries that share chunks, so a command loads only what it needs. */
import { accessSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants } from 'node:zlib'
import type { Plugin } from 'vite'
import { endpoints } from '#cli/endpoint/facts.ts'
import { commandTree } from '#cli/run/help.ts'
import { commands } from '#src/program.ts'
import { bundle } from './bundle.ts'
import { entries } from './entries.ts'

const root = join(import.meta.dirname, '..')

/**
 * Files of the code that commands share, each with its entry points: it holds these and all that they import, unless a
 * file before it has that already. A few files instead of forty: finding and reading a file takes longer than
 * evaluating it. `system` is all that the root help needs, `cli` all that help and usage errors need, apart from the
 * command tree.
 */
const sharedFiles: Readonly<Record<string, readonly string[]>> = {
  'captured-globals': ['build/captured-globals.ts', 'build/captured-timers.ts'],
  system: ['src/cli/run/system.ts', 'src/core/text/version.ts'],
  cli: ['src/cli/run/command-line.ts', 'src/core/text/table.ts'],
  output: ['src/cli/output/output.ts'],
  command: [
    'src/cli/run/parsed-command.ts',
    'src/cli/endpoint/input.ts',
    'src/cli/output/placement-summary.ts',
    'src/cli/process/open-url.ts',
    'src/core/contract/limits.ts',
    'src/core/foundation/json/exact-numbers.ts',
    'src/core/foundation/html.ts',
    'src/core/foundation/maybe-promise.ts',
    'src/core/foundation/personal-data/personal-kinds.ts',
    'src/core/foundation/redaction.ts',
    'src/core/foundation/server-sent-events.ts',
  ],
  'user-file': ['src/cli/run/user-file.ts'],
  schemas: ['src/core/contract/errors.ts', 'src/core/contract/ids.ts', 'src/core/contract/resources/projects.ts'],
  beacons: ['src/core/contract/resources/beacons.ts', 'src/core/contract/personal-data/personal-fields.ts'],
  contract: ['src/core/contract/index.ts', 'src/core/contract/listing.ts', 'src/core/contract/openapi/document.ts'],
  store: ['sandbox/store/sqlite/index.ts'],
}

const codeSplitting = {
  groups: Object.entries(sharedFiles).map(([name, sources], index) => {
    for (const source of sources) accessSync(join(root, source))
    return { name, priority: -index - 1, test: (id: string) => sources.some((source) => id.endsWith(`/${source}`)) }
  }),
}

/** Imports of one module in place of the globals of the same names. */
function globalsFrom(module: string, ...names: string[]): Record<string, [string, string]> {
  return Object.fromEntries(names.map((name) => [name, [module, name]]))
}

/**
 * Globals that fake timers and DOM environments replace, also in the libraries that are bundled: the sandbox runs in the
 * process of a test.
 */
const captured = join(import.meta.dirname, 'captured-globals.ts')
const platformGlobals = {
  ...globalsFrom(captured, 'setTimeout', 'setInterval', 'setImmediate'),
  ...globalsFrom(captured, 'clearTimeout', 'clearInterval', 'clearImmediate'),
  ...globalsFrom(captured, 'queueMicrotask'),
  'AbortSignal.timeout': [captured, 'timeoutSignal'] satisfies [string, string],
  'process.nextTick': [captured, 'nextTick'] satisfies [string, string],
  'performance.now': [captured, 'performanceNow'] satisfies [string, string],
  'Date.now': [captured, 'dateNow'] satisfies [string, string],
  ...globalsFrom('node:url', 'URL', 'URLSearchParams'),
  ...globalsFrom('node:util', 'TextDecoder', 'TextEncoder'),
}

/**
 * Builds into `outDir`. Output files lie flat, so `new URL('../', import.meta.url)` is the package root from any of
 * them, as it is from a source file directly under `sandbox/` or `src/`.
 */
export async function buildNode(outDir: string): Promise<void> {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  await bundle({
    root,
    logLevel: 'error',
    define: {
      __SVC_VERSION__: JSON.stringify(version),
      // A string inside a string: parsing JSON is faster than evaluating an object of this size.
      __SVC_COMMAND_TREE__: JSON.stringify(JSON.stringify(await commandTree(commands))),
      'process.env.NODE_ENV': '"production"',
    },
    plugins: [
      capturedTimers,
      evaluatedFacts,
      noElicitation,
      lazyStringWidth,
      lazyChildProcess,
      linearJq,
      builtinRequire,
      plainBuiltins,
      noCircles,
      noForwarding,
      nodeVersionFirst,
    ],
    // Otherwise NODE_ENV, which test runners set, selects the development form of JSX, which production React does not
    // have.
    oxc: { jsx: { runtime: 'automatic', development: false } },
    ssr: {
      target: 'node',
      noExternal: true,
      external: ['better-sqlite3', 'pg', 'playwright-core', 'vitest', '@playwright/test', 'testcontainers'],
    },
    build: {
      ssr: true,
      outDir,
      emptyOutDir: false,
      target: 'node22',
      minify: false,
      reportCompressedSize: false,
      rolldownOptions: {
        transform: { inject: platformGlobals },
        input: Object.fromEntries(
          Object.entries(entries).map(([file, source]) => [file.replace(/\.js$/, ''), join(root, source)]),
        ),
        output: {
          format: 'esm',
          entryFileNames: '[name].js',
          chunkFileNames: '[name]-[hash].js',
          codeSplitting,
          // Stack traces stay readable: only comments are left out, a tenth of the code.
          comments: false,
        },
      },
    },
  })
}

/** Replaces the promises of timers with those that were taken at the start. */
const capturedTimers: Plugin = {
  name: 'captured-timers',
  enforce: 'pre',
  resolveId: (id, importer) =>
    /^(node:)?timers\/promises$/.test(id) && importer !== capturedPromises ? capturedPromises : null,
}
const capturedPromises = join(import.meta.dirname, 'captured-timers.ts')

/** Replaces the file that computes the facts of the endpoints from the contract with the facts themselves. */
const evaluatedFacts: Plugin = {
  name: 'evaluated-facts',
  load: (id) =>
    id.endsWith('/src/cli/endpoint/facts.ts')
      ? `export const endpoints = JSON.parse(${JSON.stringify(JSON.stringify(endpoints))})`
      : null,
}

/**
 * Leaves out the validator for user input that a server requests through an agent: this server never does, and it is a
 * third of the protocol's code.
 */
const noElicitation: Plugin = {
  name: 'no-elicitation',
  load: (id) =>
    id.endsWith('/sdk/dist/esm/validation/ajv-provider.js')
      ? `export class AjvJsonSchemaValidator { getValidator() { throw new Error('This server asks for no input.') } }`
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

/**
 * Makes jq read its input by an index, and collect its output in an array that grows by doubling. As published, it
 * copies the whole rest for each byte: 150 kB took five seconds. Its program of 0.9 MB is kept compressed, which makes
 * the package smaller by 0.2 MB.
 */
const linearJq: Plugin = {
  name: 'linear-jq',
  transform(code, id) {
    if (!id.endsWith('/jq-wasm/dist/build/jq.js')) return null
    const replaced = (text: string, from: RegExp, to: string) => {
      if (!from.test(text)) throw new Error(`jq-wasm is another one now: see linear-jq, ${from.source}`)
      return text.replace(from, () => to)
    }
    const grown = (name: string) => `{ if (${name}Length === ${name}Buffer.length) {
        const grown = new Uint8Array(Math.max(1024, ${name}Buffer.length * 2)); grown.set(${name}Buffer); ${name}Buffer = grown;
      } ${name}Buffer[${name}Length++] = charCode; }`
    const append = (name: string) =>
      new RegExp(`\\{\\s*const tmp = new Uint8Array\\(${name}Buffer\\.length \\+ 1\\);[^}]*${name}Buffer = tmp;\\s*\\}`)
    let text = replaced(
      code,
      /if \(stdinBuffer\.length > 0\) \{\s*const byte = stdinBuffer\[0\];\s*stdinBuffer = stdinBuffer\.slice\(1\);\s*return byte;\s*\}/,
      'if (stdinAt < stdinBuffer.length) return stdinBuffer[stdinAt++];',
    )
    text = replaced(
      text,
      /stdinBuffer = toByteArray\(stdinString\);/,
      'stdinBuffer = toByteArray(stdinString); stdinAt = 0; stdoutLength = 0; stderrLength = 0;',
    )
    text = replaced(
      text,
      /let stdinBuffer = new Uint8Array\(0\);/,
      'let stdinBuffer = new Uint8Array(0); let stdinAt = 0; let stdoutLength = 0; let stderrLength = 0;',
    )
    for (const name of ['stdout', 'stderr']) {
      text = replaced(text, append(name), grown(name))
      text = replaced(text, new RegExp(`if \\(${name}Buffer\\.length > 0\\)`), `if (${name}Length > 0)`)
      text = replaced(
        text,
        new RegExp(`fromByteArray\\(${name}Buffer\\)`),
        `fromByteArray(${name}Buffer.subarray(0, ${name}Length))`,
      )
    }
    text = text.replace(/"data:application\/octet-stream;base64,([A-Za-z0-9+/=]{100000,})"/, (_, program: string) => {
      const small = brotliCompressSync(Buffer.from(program, 'base64'), {
        params: { [constants.BROTLI_PARAM_QUALITY]: 9 },
      })
      const unpack = `process.getBuiltinModule('node:zlib').brotliDecompressSync(Buffer.from('${small.toString('base64')}', 'base64'))`
      return `'data:application/octet-stream;base64,' + ${unpack}.toString('base64')`
    })
    // It would look next to itself for what is inside it.
    return `var __dirname = '', __filename = ''\n${text}`
  },
}

/** Functions and classes of Node that few requests need: their modules are loaded when one is first called. */
const lateFunctions: Record<string, RegExp> = {
  'node:child_process': /^(spawn(Sync)?(, |$))+$/,
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
 * Gets Node's modules with `process.getBuiltinModule` instead of an import. An import reads every property of the
 * module, including getters: importing `node:http` loads undici for its WebSocket (45 ms of processor time; all of
 * `node -e 0` is 25), and importing `node:process` opens stdin.
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
 * Lets bundled CommonJS modules require modules of Node without `createRequire(import.meta.url)`. Every entry evaluates
 * it, the client too, and a bundler that writes CommonJS replaces `import.meta.url` with undefined.
 */
const builtinRequire: Plugin = {
  name: 'builtin-require',
  renderChunk(code) {
    if (!code.includes('var __require =')) return null
    const plain = code
      .replace(/^import \{ createRequire \} from "node:module";$/m, '')
      .replace(/^var __require = .*;$/m, 'var __require = (id) => globalThis.process.getBuiltinModule(id);')
    if (plain.includes('createRequire'))
      throw new Error('The runtime of the bundler requires in another way: see builtin-require.')
    return plain
  },
}

/** Commander needs child_process for commands that are separate programs, and there are none: its module takes 2 ms. */
const lazyChildProcess: Plugin = {
  name: 'lazy-child-process',
  transform(code, id) {
    if (!id.endsWith('/commander/lib/command.js')) return null
    const lazy = code.replace(
      /^import childProcess from 'node:child_process';$/m,
      "const childProcess = { spawn: (...args) => process.getBuiltinModule('node:child_process').spawn(...args) };",
    )
    if (lazy === code) throw new Error('commander imports child_process in another way: see lazy-child-process.')
    return lazy
  },
}

/**
 * Imports re-exports from their origin: `import()` of a module that shares its chunk with others gets a separate file
 * with one line, and finding and reading a file takes half a millisecond of a start.
 */
const noForwarding: Plugin = {
  name: 'no-forwarding',
  generateBundle(_options, bundle) {
    const chunks = Object.values(bundle).filter((file) => file.type === 'chunk')
    for (const { fileName, code, isEntry } of chunks) {
      const [, names, target] = /^export \{ ([^}]+) \} from "(\.\/[^"]+)";\s*$/.exec(code) ?? []
      if (isEntry || names === undefined) continue
      const fields = names.split(', ').map((name) => {
        const [inner, outer = inner] = name.split(' as ')
        return `${outer}: chunk.${inner}`
      })
      const forwarded = `import("${target}").then((chunk) => ({ ${fields.join(', ')} }))`
      for (const chunk of chunks) chunk.code = chunk.code.replaceAll(`import("./${fileName}")`, () => forwarded)
      if (chunks.some((chunk) => chunk.code.includes(`"./${fileName}"`)))
        throw new Error(`${fileName} is still imported`)
      delete bundle[fileName]
    }
  },
}

/**
 * Refuses chunks that import each other in a circle: one of them would run before what it needs, and fail when it
 * starts. The usual cause is a file of the contract that no group above includes.
 */
const noCircles: Plugin = {
  name: 'no-circles',
  generateBundle(_options, bundle) {
    const listImports = (name: string) => {
      const chunk = bundle[name]
      return chunk?.type === 'chunk' ? chunk.imports : []
    }
    const checked = new Set<string>()
    const check = (name: string, path: readonly string[]) => {
      if (path.includes(name)) throw new Error(`Chunks import each other: ${[...path, name].join(' -> ')}`)
      if (checked.has(name)) return
      for (const next of listImports(name)) check(next, [...path, name])
      checked.add(name)
    }
    for (const name of Object.keys(bundle)) check(name, [])
  },
}

/**
 * Entries without a check: `bin/svc.js` has done it, the client also runs on older releases, workers are started by
 * others.
 */
const unchecked = /^(svc|client|\w+-worker)$/

/**
 * Makes all other entries check the version of Node before anything else is evaluated: an older release crashes in the
 * native module of the database without saying why.
 */
const nodeVersionFirst: Plugin = {
  name: 'node-version-first',
  generateBundle(_options, bundle) {
    const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { engines: { node: string } }
    this.emitFile({ type: 'asset', fileName: 'node-version.js', source: versionCheck(engines.node.replace('>=', '')) })
    for (const chunk of Object.values(bundle)) {
      if (chunk.type !== 'chunk' || !chunk.isEntry || unchecked.test(chunk.name)) continue
      chunk.code = `import "./node-version.js";\n${chunk.code}`
    }
  },
}

/** Returns a module in syntax that an old Node can parse, which throws there. */
function versionCheck(needed: string): string {
  const [major, minor] = needed.split('.').map(Number)
  return `\
const running = process.versions.node.split('.').map(Number)
if (running[0] < ${major} || (running[0] === ${major} && running[1] < ${minor})) {
  throw new Error('svc-sandbox needs Node ${needed} or later; this is Node ' + process.versions.node + '. Install a current Node from https://nodejs.org, or with your version manager: nvm install --lts')
}
`
}
