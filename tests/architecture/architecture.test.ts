import { existsSync, globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { applyEdit, edits } from '#tests/mutations/edits.ts'
import { browserFiles, importTable, impureFiles } from './import-table.ts'
import { limitlessReaders, staleJsonReaders } from './json-readers.ts'
import { findSlowInput, listPatterns, listPieces, ownTexts } from './linear.ts'
import { unguardedLookups } from './lookups.ts'
import { heavyRoutines } from './routines.ts'
import {
  addressesAsPaths,
  anys,
  badNames,
  climbingImports,
  crowdedFolders,
  forbiddenImports,
  importCircles,
  impurities,
  leftovers,
  ownLimits,
  plainModes,
  plainRenames,
  platformReadings,
  proxiedFetches,
  silencedTests,
  staleReaders,
  unexplainedLength,
  unguardedWrites,
  unpermittedSenders,
  unquotedIdentifiers,
  unresolvedPrograms,
  unreviewedPatterns,
  unreviewedReaders,
  untestedPlatforms,
  unusedExports,
} from './rules.ts'
import { countSizes } from './sizes.ts'
import { parse, readSources } from './source.ts'
import { bareFiles, compoundFiles } from './subjects.ts'

const projectRoot = fileURLToPath(new URL('../..', import.meta.url))
const product = readSources('src', 'sandbox')
const everything = [...product, ...readSources('tests')]
const tools = readSources('bench', 'build')

test('there is something to judge', () => {
  expect(product.length).toBeGreaterThan(20)
})

describe('imports', () => {
  test('every file imports only what its folder may', () => {
    expect(product.flatMap(forbiddenImports)).toEqual([])
  })

  test('a file of another room is imported by its name, not by its distance', () => {
    expect(product.flatMap(climbingImports)).toEqual([])
    const climbing = parse(
      'sandbox/store/sqlite/a.ts',
      "import { b } from '../../domain/b.ts'; import { c } from '../c.ts'",
    )
    expect(climbingImports(climbing).length).toBe(1)
  })

  test.each([
    ['src/core/contract/a.ts', "import { x } from '../client/x.ts'"],
    ['src/core/contract/a.ts', "import { readFile } from 'node:fs'"],
    ['src/core/client/a.ts', "const x = await import('../cli/x.ts')"],
    ['src/core/client/a.ts', "export * from '../cli/x.ts'"],
    ['src/cli/commands/placements/index.ts', "import { startSandbox } from '#sandbox/index.ts'"],
    ['src/cli/commands/sandbox/emulator.ts', "import { decide } from '#domain/decisions.ts'"],
    ['sandbox/rules/domain/a.ts', "import { randomUUID } from 'node:crypto'"],
    ['sandbox/rules/domain/a.ts', "import type { Store } from '../store/store.ts'"],
    ['sandbox/rules/operations/a.ts', "import { openStore } from '../store/sqlite/index.ts'"],
    ['sandbox/rules/operations/a.ts', "import { openStore } from '#store/sqlite/index.ts'"],
    ['sandbox/pages/renderer/a.ts', "import { limits } from '#contract/limits.ts'"],
    ['sandbox/pages/renderer/a.ts', 'const x = await import(somewhere)'],
    ['sandbox/store/a.ts', "type Decide = typeof import('../operations/decisions.ts').decide"],
    ['sandbox/rules/platform/a.ts', "import { readFile } from 'node:fs'"],
    ['src/core/contract/a.ts', "import { z } from 'zodiac'"],
    ['src/elsewhere/a.ts', ''],
  ])('%s may not: %s', (path, text) => {
    expect(forbiddenImports(parse(path, text))).toHaveLength(1)
  })

  test.each([
    ['src/core/contract/resources/a.ts', "import { z } from 'zod'; import { x } from '../fields.ts'"],
    ['src/cli/commands/sandbox/emulator.ts', "const { startSandbox } = await import('../../../../sandbox/index.ts')"],
    [
      'sandbox/rules/operations/a.ts',
      "import type { Store } from '../../store/store.ts'; import { d } from '../domain/d.ts'",
    ],
    ['sandbox/server/pipeline/a.ts', "import { z } from 'zod'; import 'node:fs'"],
    [
      'sandbox/pages/renderer/host/a.ts',
      "import type { Placement } from '../../../../src/core/contract/resources/placements.ts'",
    ],
    ['src/cli/tail/A.tsx', "import { useState } from 'react'"],
    ['sandbox/rules/domain/a.test.ts', "import { test } from 'vitest'"],
    ['sandbox/index.ts', "import { x } from './store/sqlite/index.ts'"],
  ])('%s may: %s', (path, text) => {
    expect(forbiddenImports(parse(path, text))).toEqual([])
  })
})

describe('clock, dice and environment', () => {
  test('only the platform and the real host have them', () => {
    expect(product.flatMap(impurities)).toEqual([])
  })

  test.each([
    'Date.now()',
    'globalThis.Date.now()',
    'new Date()',
    'Date()',
    'Math.random()',
    'crypto.randomUUID()',
    "import { randomUUID } from 'node:crypto'",
    'process.env.HOME',
    "process['env']",
  ])('%s is found', (text) => {
    expect(impurities(parse('sandbox/rules/operations/a.ts', text)).length).toBeGreaterThan(0)
    expect(impurities(parse('sandbox/rules/platform/a.ts', text))).toEqual([])
  })

  test('a conversion is not a reading, and a browser has a clock but no process', () => {
    expect(impurities(parse('src/cli/a.ts', 'new Date(epoch_ms).toISOString(); Date.parse(text)'))).toEqual([])
    expect(impurities(parse('sandbox/pages/renderer/a.ts', 'Date.now(); performance.now()'))).toEqual([])
    expect(impurities(parse('sandbox/pages/renderer/a.ts', 'process.env.HOME'))).toHaveLength(1)
  })
})

test('everything is printed through the guarded streams of the host', () => {
  expect(product.flatMap(unguardedWrites)).toEqual([])
  for (const text of ['console.log(x)', 'process.stdout.write(x)', "import { render } from 'ink'"])
    expect(unguardedWrites(parse('src/cli/commands/a.ts', text)), text).toHaveLength(1)
})

test('keys are sent by clients that take permitted ones only', () => {
  expect(product.flatMap(unpermittedSenders)).toEqual([])
  for (const text of [
    'await fetch(url, { headers })',
    "import { createClient } from '../client/index.ts'",
    "import { request } from 'node:https'",
    'const key = settings.secret_key as PermittedKey',
    'const key = settings.secret_key as unknown as PermittedKey',
  ])
    expect(unpermittedSenders(parse('src/cli/commands/a.ts', text)).length, text).toBeGreaterThan(0)
})

test('programs are started by startProgram only', () => {
  expect(product.flatMap(unresolvedPrograms)).toEqual([])
  for (const text of [
    "import { spawn } from 'node:child_process'",
    "import * as programs from 'child_process'",
    "const { spawn } = await import('node:child_process')",
    "process.getBuiltinModule('node:child_process').spawn('npm')",
    "import spawn from 'cross-spawn'",
    "import { startShellLine } from '../foundation/programs.ts'",
  ])
    expect(unresolvedPrograms(parse('src/cli/commands/a.ts', text)).length, text).toBeGreaterThan(0)
  expect(
    unresolvedPrograms(parse('src/cli/commands/a.ts', "import type { ChildProcess } from 'node:child_process'")),
  ).toEqual([])
})

test('a file is replaced by a rename that is tried again', () => {
  expect(product.flatMap(plainRenames)).toEqual([])
  for (const text of ["import { renameSync } from 'node:fs'", "import { rename as move } from 'node:fs/promises'"])
    expect(plainRenames(parse('src/cli/commands/a.ts', text)), text).toHaveLength(1)
})

test('a file for its owner alone is created where Windows restricts it too', () => {
  expect(product.flatMap(plainModes)).toEqual([])
  for (const text of ['writeFileSync(path, key, { mode: 0o600 })', 'mkdirSync(path, 0o700)'])
    expect(plainModes(parse('src/cli/commands/a.ts', text)), text).toHaveLength(1)
})

test('the platform is a parameter, and each file that is for Windows too has a test that names it', () => {
  expect(product.flatMap(platformReadings)).toEqual([])
  expect(untestedPlatforms(product, everything)).toEqual([])
  const text = "const isWindows = process.platform === 'win32'"
  expect(platformReadings(parse('src/cli/commands/a.ts', text))).toHaveLength(1)
  expect(untestedPlatforms([parse('src/cli/commands/a.ts', text)], everything)).toHaveLength(1)
})

test('the path of an address never passes through node:path', () => {
  const served = product.filter(({ path }) => path.startsWith('sandbox/server/pipeline/'))
  const templates = globSync('templates/**/*.{js,mjs,ts,tsx}', { cwd: projectRoot, exclude: ['**/node_modules/**'] })
  expect(templates).toContain('templates/browser-chat/server.js')
  const files = [...served, ...templates.map((path) => parse(path.replaceAll('\\', '/'), read(path)))]
  expect(files.flatMap(addressesAsPaths)).toEqual([])
  const text = "import { normalize } from 'node:path'\nconst path = normalize(new URL(url, base).pathname)"
  expect(addressesAsPaths(parse('templates/a/server.js', text))).toHaveLength(1)
})

test('a regular expression that a user wrote runs where it can be ended', () => {
  expect(product.flatMap(unreviewedPatterns)).toEqual([])
  for (const text of ["new RegExp(text, 'u')", 'RegExp(text)'])
    expect(unreviewedPatterns(parse('src/cli/commands/a.ts', text)), text).toHaveLength(1)
})

test('no pattern over a text from outside takes time with the square of its length', () => {
  const isSlow = (pattern: RegExp) => findSlowInput((text) => text.replace(pattern, ''), listPieces(pattern)) !== null
  const judged = product.filter(({ path }) => !/\.test\.tsx?$/.test(path) && !Object.hasOwn(ownTexts, path))
  const alike = Map.groupBy(judged.flatMap(listPatterns), ({ pattern }) => String(pattern))
  expect(alike.size).toBeGreaterThan(250)
  const slow = [...alike.values()].flatMap((found) => (isSlow(found[0]!.pattern) ? found : []))
  expect(slow.map(({ place, pattern }) => `${place} ${pattern}`)).toEqual([])
  for (const pattern of [/"((?:[^"\\]|\\.)*)"\s*:/g, /(?:at|bt)_(?=[a-z._]*[0-9])[a-z0-9._]{16,512}/g, /^(?:a+)+b/g]) {
    // A busy computer can hide it once.
    expect(
      [1, 2, 3, 4, 5].some(() => isSlow(pattern)),
      String(pattern),
    ).toBe(true)
  }
})

test('JSON of others is read with a limit of depth', () => {
  expect(product.flatMap(limitlessReaders)).toEqual([])
  expect(staleJsonReaders(product)).toEqual([])
  for (const text of [
    "import { parseAnyJson } from '#foundation/json.ts'",
    'JSON.parse(text)',
    'texts.map(JSON.parse)',
  ])
    expect(limitlessReaders(parse('src/cli/commands/a.ts', text)), text).toHaveLength(1)
})

test('the files of users are read in one place, which knows encodings', () => {
  expect(product.flatMap(unreviewedReaders)).toEqual([])
  expect(staleReaders(product)).toEqual([])
  for (const text of [
    "import { readFile } from 'node:fs/promises'",
    "import { readFileSync as read } from 'node:fs'",
    "import { readStdin } from '../cli/run/system.ts'",
    "import * as fs from 'node:fs'\nfs.readFileSync('a')",
    "process.getBuiltinModule('node:fs').createReadStream('a')",
  ])
    expect(unreviewedReaders(parse('src/cli/commands/a.ts', text)), text).toHaveLength(1)
})

test('a table is not read by a name from outside that it may lack', () => {
  expect(unguardedLookups(product.filter(({ path }) => !/\.test\.tsx?$/.test(path)))).toEqual([])
  const table = parse(
    'src/cli/a.ts',
    'export const open: Record<string, number> = { a: 1 }\nexport const closed = { a: 1 }',
  )
  const found = (text: string) =>
    unguardedLookups([table, parse('src/cli/b.ts', `import { closed, open } from './a.ts'\n${text}`)]).length
  for (const text of ['open[name]', 'name in open', 'name in closed', 'closed[name as keyof typeof closed]'])
    expect(found(text), text).toBe(1)
  for (const text of ["open['a']", 'open.a', 'closed[name]', "'a' in closed", 'findEntry(open, name)', 'other[name]'])
    expect(found(text), text).toBe(0)
})

describe('files', () => {
  test('no file imports itself by way of others, not even for a type', () => {
    expect(importCircles(product)).toEqual([])
    const circle = [
      parse('src/cli/a.ts', "import { b } from './b.ts'"),
      parse('src/cli/b.ts', "import type { C } from './c.ts'"),
      parse('src/cli/c.ts', "import { b } from './b.ts'"),
    ]
    expect(importCircles(circle)).toEqual(['src/cli/b.ts -> src/cli/c.ts -> src/cli/b.ts'])
  })

  test('a folder has at most twenty files beside each other', () => {
    expect(crowdedFolders(product.map(({ path }) => path))).toEqual([])
    expect(crowdedFolders(Array.from({ length: 21 }, (_, index) => `src/cli/file-${index}.ts`))).toEqual([
      'src/cli: 21 files beside each other',
    ])
  })

  test('over 400 lines, the first comment says why', () => {
    expect(product.flatMap(unexplainedLength)).toEqual([])
    const long = 'run()\n'.repeat(401)
    expect(unexplainedLength(parse('src/cli/a.ts', long))).toHaveLength(1)
    expect(unexplainedLength(parse('src/cli/a.ts', `/** Why. */\n${long}`))).toEqual([])
    expect(unexplainedLength(parse('src/cli/a.test.ts', long))).toEqual([])
  })

  test('names are kebab-case, components PascalCase, and say something', () => {
    expect(everything.flatMap(badNames)).toEqual([])
    expect(everything.flatMap(unquotedIdentifiers)).toEqual([])
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the source of a template
    const quoted = 'const sql = `SELECT 1 FROM "${name}".node`'
    expect(unquotedIdentifiers(parse('sandbox/store/postgres/a.ts', quoted))).toHaveLength(1)
    for (const path of ['src/cli/Flags.ts', 'src/cli/exitCodes.ts', 'src/cli/utils.ts', 'src/helpers/a.ts']) {
      expect(badNames(parse(path, '')), path).toHaveLength(1)
    }
    for (const path of [
      'src/cli/exit-codes.test.ts',
      'src/cli/tail/TailScreen.tsx',
      'sandbox/pages/demo/vite.config.ts',
    ]) {
      expect(badNames(parse(path, '')), path).toEqual([])
    }
  })
})

describe('code', () => {
  test('no request of Node to loopback can take a proxy', () => {
    expect(product.flatMap(proxiedFetches)).toEqual([])
    expect(proxiedFetches(parse('src/judge/qa/a.ts', "await fetch('http://localhost')"))).toHaveLength(1)
  })

  test('what only its own file uses is not exported', () => {
    expect(unusedExports(product, [...everything, ...tools])).toEqual([])
    const a = parse('src/cli/a.ts', 'export const b = 1, c = 2\nexport function d() {}\nexport interface E {}')
    const unused = (text: string) => unusedExports([a], [a, parse('src/cli/run/x.ts', text)]).length
    expect(unusedExports([a], [a, parse('src/cli/x.ts', "import { b, type E } from './a.ts'")])).toEqual([
      'src/cli/a.ts:1 only this file uses c: it need not be exported',
      'src/cli/a.ts:2 only this file uses d: it need not be exported',
    ])
    expect(unused("export { b as x, c, d, type E } from '../a.ts'")).toBe(0)
    expect(unused("const { b, ...rest } = await import('../a.ts'); page(() => rest, 'd')")).toBe(2)
    expect(unused("type B = typeof import('../a.ts').b")).toBe(3)
    expect(unused("import * as a from '../a.ts'")).toBe(1)
    expect(unused("import { b, c, d, E } from '../b.ts'")).toBe(4)
  })

  test('no any', () => {
    expect(everything.flatMap(anys)).toEqual([])
    expect(anys(parse('src/cli/a.ts', 'const x = y as any; const any = 1'))).toEqual(['src/cli/a.ts:1 any'])
  })

  test('no notes to oneself', () => {
    expect(everything.flatMap(leftovers)).toEqual([])
    expect(leftovers(parse('src/cli/a.ts', "// TODO later\nconst text = 'TODO'"))).toEqual([
      'src/cli/a.ts:1 TODO later',
    ])
  })

  test('no test is skipped or kept alone', () => {
    expect(everything.flatMap(silencedTests)).toEqual([])
    const text = "test.only('a', f); describe.skip('b', f); it.concurrent.skipIf(x)('c', f); rows.only()"
    expect(silencedTests(parse('src/cli/a.test.ts', text))).toHaveLength(3)
  })

  test('no test states a limit of time of its own', () => {
    expect(everything.flatMap(ownLimits)).toEqual([])
    const wrong =
      "test('a', f, 9); test.each(rows)('b', { timeout: 9 }, f); beforeAll(f, 9); vi.waitFor(f, { timeout: 9 }); expect.poll(f, { timeout: 9 })"
    expect(ownLimits(parse('src/cli/a.test.ts', wrong))).toHaveLength(5)
    const right = "test('a', f); expect.poll(f, { timeout: wait_ms, interval: 9 }); expect(a).toBeCloseTo(1, 2)"
    expect(ownLimits(parse('src/cli/a.test.ts', right))).toEqual([])
  })
})

test('every path in the lists of tests and CI is there', () => {
  const listed = [
    ...importTable.flatMap(({ path, modules = [], types = [] }) => [path, ...modules, ...types]),
    ...browserFiles,
    ...impureFiles,
  ]
  expect(listed.length).toBeGreaterThan(100)
  expect(listed.filter((path) => !existsSync(new URL(`../../${path}`, import.meta.url)))).toEqual([])
})

describe('subjects', () => {
  test('a file has one: exported groups of 40 lines or more name each other', () => {
    expect(compoundFiles(product.filter(({ path }) => !path.includes('.test.')))).toEqual([])
    const group = (name: string) => `export function ${name}() {\n${'  run()\n'.repeat(40)}}\n`
    expect(compoundFiles([parse('src/cli/a.ts', group('one') + group('two'))])).toHaveLength(1)
    const joined = group('one') + group('two').replace('  run()', '  one()')
    expect(compoundFiles([parse('src/cli/a.ts', joined)])).toEqual([])
  })

  test('a file of at most 60 lines with one importer says why it is one', () => {
    expect(bareFiles(product.filter(({ path }) => !path.includes('.test.')))).toEqual([])
  })

  test('functions are short, with few ways through them and few parameters', () => {
    const heavy = product.filter(({ path }) => !path.includes('.test.')).flatMap(heavyRoutines)
    // Those that are left, and may only become fewer: npm run house lists them.
    expect(heavy.length, heavy.join('\n')).toBeLessThanOrEqual(5)
  })
})

test('a part of the project that reached its size stays below it: a new capability takes something away', () => {
  const sizes = countSizes()
  expect(sizes.every(({ lines }) => lines > 1_000)).toBe(true)
  const over = sizes.filter(({ is_reached, lines, goal }) => is_reached && goal !== null && lines > goal)
  expect(over.map(({ what, lines, goal }) => `${what}: ${lines} lines, at most ${goal}`)).toEqual([])
})

test('each edit still finds the statement that it breaks', () => {
  const lost = edits.flatMap((edit) => {
    try {
      applyEdit(edit)
      return []
    } catch (error) {
      return [String(error)]
    }
  })
  expect(lost).toEqual([])
})

/** The content of a file, by its path in the project. */
function read(file: string): string {
  return readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')
}
