/** The rules. Each takes one file and answers what it does against the rule, as `path:line what is wrong`. */
import { posix } from 'node:path'
import { browserFiles, type ImportRule, importTable, impureFiles } from './import-table.ts'
import { type Import, lineOf, type Source, type SyntaxNode } from './source.ts'

/** Imports that the table does not allow. */
export function forbiddenImports({ path, imports }: Source): string[] {
  if (isTest(path)) return []
  const rule = importTable.filter((entry) => isIn(path, entry.path)).toSorted(longestFirst)[0]
  if (rule === undefined) return [`${path}: the table of imports has no entry for this file`]
  return imports
    .filter((entry) => !isAllowed(rule, entry))
    .map(({ specifier, isTypeOnly, line }) => {
      return `${path}:${line} ${isTypeOnly ? 'import type' : 'import'} of '${specifier}' is not allowed in ${rule.path}`
    })
}

function longestFirst(a: ImportRule, b: ImportRule): number {
  return b.path.length - a.path.length
}

function isAllowed(rule: ImportRule, { specifier, target, isTypeOnly }: Import): boolean {
  if (target !== null) {
    const folders = [rule.path, ...(rule.modules ?? []), ...(isTypeOnly ? (rule.types ?? []) : [])]
    return folders.some((folder) => isIn(target, folder))
  }
  if (specifier.startsWith('node:')) return rule.builtins === 'all' || rule.builtins.includes(specifier)
  return (rule.packages ?? []).some((name) => {
    return name.endsWith('/*') ? specifier.startsWith(name.slice(0, -1)) : isIn(specifier, name)
  })
}

/** Imports that climb into another room, whose name of package.json makes a moved file cheap: `#contract/`. */
export function climbingImports({ path, imports }: Source): string[] {
  return imports.flatMap(({ specifier, target, line }) => {
    const isClimbing = specifier.startsWith('..') && target !== null && findRoom(target) !== findRoom(path)
    return isClimbing ? [`${path}:${line} '${specifier}' leaves its room: import it by the name in package.json`] : []
  })
}

/** Returns the room of a file: a folder of src or sandbox, or a folder at the top. */
function findRoom(path: string): string {
  const [top = '', second = ''] = path.split('/')
  return (top === 'src' || top === 'sandbox') && path.split('/').length > 2 ? `${top}/${second}` : top
}

/** Readings of the clock, dice and the environment outside the platform. */
export function impurities({ path, text, nodes }: Source): string[] {
  if (isTest(path) || impureFiles.some((folder) => isIn(path, folder))) return []
  const allowed = browserFiles.some((folder) => isIn(path, folder)) ? browserReadings : new Set<string>()
  return nodes.flatMap((node) => {
    const reading = describeReading(node)
    if (reading === null || allowed.has(reading)) return []
    return [
      `${path}:${lineOf(text, node.start)} ${reading} is for ${impureFiles.join(' and ')}; take it from the platform or host`,
    ]
  })
}

const browserReadings = new Set(['Date.now()', 'new Date()'])

function describeReading(node: SyntaxNode): string | null {
  if (isCallTo(node, 'Date', 'now')) return 'Date.now()'
  if (isCallTo(node, 'Math', 'random')) return 'Math.random()'
  if (isMember(node, 'process', 'env')) return 'process.env'
  if (node.type === 'NewExpression' && nameOf(node.callee) === 'Date' && isEmpty(node.arguments)) return 'new Date()'
  if (node.type === 'CallExpression' && nameOf(node.callee) === 'Date') return 'new Date()'
  return node.type === 'Identifier' && node.name === 'randomUUID' ? 'randomUUID' : null
}

/** Writing to the terminal past the streams of the host, which are guarded (src/core/text/terminal.ts). */
export function unguardedWrites({ path, text, nodes, imports }: Source): string[] {
  if (isTest(path) || !isIn(path, 'src') || path === 'src/main.ts') return []
  const writes = nodes.filter((node) => {
    const object = node.type === 'MemberExpression' ? nameOf(node.object) : null
    return object === 'console' || (object === 'process' && /^std(out|err)$/.test(nameOf(node.property) ?? ''))
  })
  return [
    ...writes.map(({ start }) => `${path}:${lineOf(text, start)} writes past the guard of the host's streams`),
    ...imports
      .filter(({ specifier, isTypeOnly }) => specifier === 'ink' && !isTypeOnly && !drawnFiles.includes(path))
      .map(({ line }) => `${path}:${line} draws with ink, which writes past the guard: draw printable text only`),
  ]
}

/** Calls of the global fetch under Node, which takes the proxy of the environment even for loopback. */
export function proxiedFetches({ path, text, nodes }: Source): string[] {
  const isPage = [
    ...browserFiles.filter((folder) => folder !== 'src/core/client'),
    'src/judge/diagnosis/facts/in-page.ts',
  ].some((folder) => isIn(path, folder))
  if (isTest(path) || isPage || path === 'src/core/client/exchange.ts') return []
  return nodes
    .filter((node) => node.type === 'CallExpression' && nameOf(node.callee) === 'fetch')
    .map(({ start }) => `${path}:${lineOf(text, start)} sends loopback through a proxy: use nodeFetch or fetchText`)
}

/**
 * Requests of the command line that are sent past the clients that take permitted keys only, and keys that are permitted
 * elsewhere than in src/cli/settings/settings.ts.
 */
export function unpermittedSenders({ path, text, nodes, imports }: Source): string[] {
  if (isTest(path) || !isIn(path, 'src') || isIn(path, 'src/core/client')) return []
  const calls = nodes.filter((node) => node.type === 'CallExpression' && nameOf(node.callee) === 'fetch')
  const names = nodes.filter((node) => {
    if (node.type !== 'ImportSpecifier') return false
    return senderNames.has(nameOf(node.imported) ?? '')
  })
  const casts = nodes.filter((node) => {
    if (node.type !== 'TSAsExpression' || path === 'src/cli/settings/settings.ts') return false
    return text.slice(node.start, node.end as number).includes('PermittedKey')
  })
  const isKeyless = keylessSenders.has(path)
  return [
    ...(isKeyless
      ? []
      : [...calls, ...names].map(({ start }) => `${path}:${lineOf(text, start)} sends past the clients`)),
    ...(isKeyless ? [] : imports)
      .filter(({ specifier, isTypeOnly }) => !isTypeOnly && /^(node:(http|https|http2|tls)|undici|ws)$/.test(specifier))
      .map(({ specifier, line }) => `${path}:${line} sends past the clients, by ${specifier}`),
    ...casts.map(({ start }) => `${path}:${lineOf(text, start)} permits a key by itself`),
  ]
}

const senderNames = new Set([
  'createClient',
  'clientOf',
  'fetchRaw',
  'fetchText',
  'nodeFetch',
  'sendDirectly',
  'exchange',
  'globalFetch',
  'HttpClient',
])

/** Each takes permitted keys by its type, or sends none. */
const keylessSenders = new Set([
  // The drivers of browsers on this computer, and the requests of their pages.
  'src/judge/qa/browser/firefox.ts',
  // Receives callbacks and forwards them as they came: it sends no key.
  'src/cli/commands/callbacks.ts',
  // Certificates only: no connection.
  'src/cli/process/certificate.ts',
  'src/cli/process/trust.ts',
  // The two clients: their parameters are permitted keys.
  'src/cli/run/command.ts',
  'src/cli/run/command-client.ts',
  'src/cli/run/http-fetch.ts',
  'src/judge/qa/run/target.ts',
  'src/judge/qa/run/control.ts',
  'src/judge/qa/run/http-client.ts',
  'src/judge/qa/contract-compare/replay.ts',
  // Requests without a credential: an OpenAPI document, a page and its files, whether a page responds.
  'src/cli/commands/contract/check.ts',
  'src/judge/diagnosis/facts/served-files.ts',
  'src/cli/commands/qa/observe.ts',
  // The requests of a page as its browser sent them, and pages of our own.
  'src/judge/hosts/passthrough.ts',
  'src/judge/hosts/own-page.ts',
  'src/judge/hosts/extension.ts',
  // The requests of an app as it sent them, to the service that the command line named, over TLS or on this computer.
  'src/judge/recordings/pass.ts',
  'src/judge/recordings/upstream.ts',
  'src/judge/recordings/recorder.ts',
  'src/judge/recordings/tunnel.ts',
  // The sandbox of a test, with its own test keys; and whether the app under test responds, without a key.
  'src/judge/testing/open-sandbox.ts',
  'src/judge/testing/running-app.ts',
  'src/judge/testing/testcontainers.ts',
  // The key of the sandbox that serves it, through the pipeline of that sandbox alone.
  'src/cli/mcp/http.ts',
])

/** They pass every text through `oneLine` before ink draws it. */
const drawnFiles = ['src/cli/tail/TailScreen.tsx', 'src/cli/commands/setup/Select.tsx']

/**
 * Programs that are started past `startProgram`, which finds them on Windows too and keeps shells from reading their
 * arguments; and shells elsewhere than where a user writes a line for one.
 */
export function unresolvedPrograms({ path, text, nodes, imports }: Source): string[] {
  if (isTest(path) || path === programsFile || path === pagerFile) return []
  const loaded = nodes.filter((node) => {
    const name = node.type === 'CallExpression' ? (node.arguments as unknown[]).map(nameOf)[0] : null
    return name !== null && startModule.test(name ?? '')
  })
  return [
    ...imports
      .filter(({ specifier, isTypeOnly }) => !isTypeOnly && startModule.test(specifier))
      .map(({ specifier, line }) => `${path}:${line} starts programs by ${specifier}, not by ${programsFile}`),
    ...loaded.map(({ start }) => `${path}:${lineOf(text, start)} starts programs past ${programsFile}`),
    ...nodes
      .filter((node) => node.type === 'ImportSpecifier' && nameOf(node.imported) === 'startShellLine')
      .filter(() => path !== 'src/judge/testing/running-app.ts')
      .map(({ start }) => `${path}:${lineOf(text, start)} runs a shell, which reads arguments as its own syntax`),
  ]
}

const programsFile = 'src/core/foundation/programs.ts'
const startModule = /^((node:)?(child_process|cluster)|cross-spawn|execa)$/
/** A pager is one line that its user wrote for a shell, run while the command waits. */
const pagerFile = 'src/cli/output/pager.ts'

/** What reads a file or stdin by itself, and why no encoding of a user's text file can matter there. */
const fileReaders: Readonly<Record<string, string>> = {
  'src/cli/commands/setup/agent.ts': 'a file of this package',
  'src/core/foundation/file-system.ts': 'opens a file to create it',
  'src/core/foundation/text-file.ts': 'reads the text files of users',
  'src/cli/run/user-file.ts': 'reads what a command takes: a file, or stdin',
  'src/cli/commands/evidence/export-file.ts': 'each byte of an export is signed: nothing of it may be converted',
  'src/cli/commands/sandbox/archive.ts': 'an archive, which is not text',
  'src/cli/commands/qa/index.ts': 'compares bytes with those before, to see a change',
  'src/judge/qa/browser/screenshot.ts': 'pictures',
  'src/cli/process/certificate.ts': 'certificates that svc wrote, and lists of certificates',
  'sandbox/rules/demand/own-file.ts': 'pictures and clips',
  'src/cli/process/trust.ts': 'lists of certificates',
  'src/cli/process/background.ts': 'the log of a sandbox',
  'src/cli/process/port-holder.ts': '/proc',
  'src/cli/process/proc.ts': '/proc',
  'src/cli/settings/files.ts': 'the state directory',
  'src/cli/settings/sandbox-folder.ts': 'the state directory',
  'src/cli/settings/state-directory.ts': 'the state directory',
  'src/cli/endpoint/last-placement.ts': 'the state directory',
  'src/cli/commands/sandbox/scenarios.ts': 'scenarios of the package',
  'src/cli/mcp/resources.ts': 'the documentation of the package',
  'src/judge/qa/report/html/page.ts': 'a style sheet of the package',
  'src/judge/qa/suite/builtin.ts': 'the suites of the package',
  'src/judge/recordings/recording-file.ts': 'opens a file to create it',
  'src/cli/scaffold/project.ts': 'the templates of the package',
  'src/cli/scaffold/package-archive.ts': 'the files of the package',
  'src/cli/scaffold/templates.ts': 'the templates of the package',
  'sandbox/fixtures.ts': 'the fixtures of the package',
  'sandbox/server/pipeline/encodings.ts': 'files of the package',
  'sandbox/server/pipeline/files/assets.ts': 'files of the package',
  'sandbox/rules/platform/descriptors.ts': '/proc',
  'sandbox/store/sqlite/copies/received-file.ts': 'a database',
  'sandbox/store/sqlite/file-worker.ts': 'a database',
  'sandbox/store/sqlite/file/explain.ts': 'a database',
  'sandbox/store/sqlite/file/lock.ts': 'the lock beside a database',
  'sandbox/store/sqlite/file/unclean-end.ts': 'a mark beside a database',
  'sandbox/store/sqlite/index.ts': 'the key beside a database',
}

/** Reading of files and of stdin where nobody has said of which: those of users have encodings, and errors with a place. */
export function unreviewedReaders(source: Source): string[] {
  const isListed = Object.hasOwn(fileReaders, source.path)
  const isProduct = isIn(source.path, 'src') || isIn(source.path, 'sandbox')
  return isTest(source.path) || !isProduct || isListed ? [] : readersIn(source)
}

/** Listed files that read nothing any more. */
export function staleReaders(sources: readonly Source[]): string[] {
  const reading = new Set(sources.filter((source) => readersIn(source).length > 0).map(({ path }) => path))
  return Object.keys(fileReaders).filter((path) => !reading.has(path))
}

function readersIn({ path, text, nodes }: Source): string[] {
  return nodes
    .filter(({ type, imported, property }) => {
      if (type === 'ImportSpecifier') return fileReading.test(nameOf(imported) ?? '')
      return type === 'MemberExpression' && fileReading.test(nameOf(property) ?? '')
    })
    .map(
      ({ start }) =>
        `${path}:${lineOf(text, start)} if users write this file, take readUserText(), or foundation/text-file.ts; else list it`,
    )
}

const fileReading = /^(readFile(Sync)?|createReadStream|openAsBlob|openSync|readStdin)$/

/** Renames that are not tried again where another process has the file open, as on Windows. */
export function plainRenames({ path, text, nodes }: Source): string[] {
  if (isTest(path) || path === 'src/core/foundation/file-system.ts') return []
  return nodes
    .filter((node) => node.type === 'ImportSpecifier' && /^rename(Sync)?$/.test(nameOf(node.imported) ?? ''))
    .map(({ start }) => `${path}:${lineOf(text, start)} renames by itself; take renameOver`)
}

/** Modes for an owner alone, written where Windows, which has no modes, gets nothing in their place. */
export function plainModes({ path, text, nodes }: Source): string[] {
  if (isTest(path) || modeFiles.has(path)) return []
  return nodes
    .filter(({ type, raw }) => type === 'Literal' && /^0o[67]00$/.test(String(raw)))
    .map(
      ({ start }) => `${path}:${lineOf(text, start)} is a mode for the owner alone; take ownerOnly and createPrivate`,
    )
}

const modeFiles = new Set([
  'src/core/foundation/permissions.ts',
  // A script in the temporary folder, without a key, that is never written on Windows.
  'src/judge/qa/browser/firefox.ts',
  // The bits that are taken from a file which others may read.
  'sandbox/store/sqlite/file/names.ts',
])

/** Readings of the operating system past a parameter: then no test on another system can run what is for Windows. */
export function platformReadings({ path, text, nodes }: Source): string[] {
  if (isTest(path) || platformFiles.has(path)) return []
  return nodes
    .filter((node) => isMember(node, 'process', 'platform'))
    .map(({ start }) => `${path}:${lineOf(text, start)} reads the platform; take it as a parameter`)
}

const platformFiles = new Set([
  'src/main.ts',
  // Defaults of parameters.
  'sandbox/certificate.ts',
  'src/core/foundation/file-system.ts',
  'src/core/foundation/permissions.ts',
  'src/core/foundation/programs.ts',
  'src/judge/testing/running-app.ts',
])

/** Files that name Windows without a test of the same name that runs it as a platform. */
export function untestedPlatforms(product: readonly Source[], tests: readonly Source[]): string[] {
  return product
    .filter(({ path, nodes }) => !isTest(path) && nodes.some(({ value }) => value === 'win32'))
    .filter(({ path }) => {
      const testing = windowsTests[path] ?? path.replace(/\.ts$/, '.test.ts')
      return !tests.some((test) => test.path === testing && test.nodes.some(({ value }) => value === 'win32'))
    })
    .map(({ path }) => `${path}: is for Windows too, but no test runs it as 'win32'`)
}

/** Where the test of a file is not beside it. */
const windowsTests: Readonly<Record<string, string>> = {
  'src/cli/agent-files/own-command.ts': 'tests/cli/agent-setup.test.ts',
  'src/cli/output/pager.ts': 'tests/cli/pager.test.ts',
  'src/core/text/terminal.ts': 'tests/cli/pager.test.ts',
  'src/cli/settings/state-directory.ts': 'tests/cli/settings.test.ts',
  'src/cli/process/process-group.ts': 'tests/cli/exec.test.ts',
  'src/cli/commands/exec.ts': 'tests/cli/exec.test.ts',
  'src/main.ts': 'tests/processes/start.test.ts',
}

/** Files that read addresses and build paths of files: on Windows these have backslashes, which no address has. */
export function addressesAsPaths({ path, text, nodes, imports }: Source): string[] {
  const reads = nodes.find((node) => node.type === 'MemberExpression' && nameOf(node.property) === 'pathname')
  const calls = imports.filter(({ specifier, isTypeOnly }) => !isTypeOnly && /^(node:)?path$/.test(specifier))
  if (isTest(path) || reads === undefined) return []
  return calls.map(({ line }) => {
    return `${path}:${line} imports node:path, but line ${lineOf(text, reads.start)} reads an address`
  })
}

/** Files over 400 lines, except tests, that do not begin with a comment saying why. */
export function unexplainedLength({ path, text }: Source): string[] {
  const lines = text.split('\n').length - 1
  if (isTest(path) || lines <= longestFile || /^\s*\/[*/]/.test(text)) return []
  return [`${path}: ${lines} lines; split it by noun, or let its first comment say why it is one file`]
}

const longestFile = 400

/** Circles of imports, type imports included, each as the files on the way from one back to itself. */
export function importCircles(sources: readonly Source[]): string[] {
  const targets = new Map(
    sources
      .filter(({ path }) => !isTest(path))
      .map(({ path, imports }) => [path, imports.flatMap(({ target }) => target ?? [])]),
  )
  const finished = new Set<string>()
  const circles: string[] = []
  const visit = (path: string, way: readonly string[]): void => {
    const start = way.indexOf(path)
    if (start !== -1) circles.push([...way.slice(start), path].join(' -> '))
    if (start !== -1 || finished.has(path)) return
    for (const target of targets.get(path) ?? []) visit(target, [...way, path])
    finished.add(path)
  }
  for (const path of targets.keys()) visit(path, [])
  return circles
}

/**
 * Exports of `product` that no other file names. A file with an `import()` names what is written in it anywhere, as an
 * identifier or as a text. `import * as` names all values: the contract calls its schemas what they are exported as.
 */
export function unusedExports(product: readonly Source[], everything: readonly Source[]): string[] {
  const used = new Set<string>()
  for (const { nodes, imports } of everything) {
    const ours = imports.filter(({ target }) => target !== null)
    const written = ours.some(({ names }) => names === null) ? nodes.flatMap((node) => nameOf(node) ?? []) : []
    for (const { target, names } of ours) {
      for (const name of names ?? written) used.add(`${target} ${name}`)
    }
  }
  return product
    .filter(({ path }) => !entryPoints.has(path))
    .flatMap(({ path, text, nodes }) => {
      const exports = nodes.filter(({ type }) => type === 'ExportNamedDeclaration').flatMap(listExports)
      const values = new Set(used.has(`${path} *`) ? exports.flatMap(({ name, isType }) => (isType ? [] : name)) : [])
      return exports
        .filter(({ name }) => !values.has(name) && !used.has(`${path} ${name}`))
        .map(({ name, start }) => `${path}:${lineOf(text, start)} only this file uses ${name}: it need not be exported`)
    })
}

/** What package.json exports, and what a page imports by its address: others use it. */
const entryPoints = new Set([
  'sandbox/pages/console/console.ts',
  'sandbox/index.ts',
  'src/core/client/browser.ts',
  'src/core/client/index.ts',
  'src/core/contract/exports.ts',
  'src/judge/testing/playwright.ts',
  'src/judge/testing/testcontainers.ts',
  'src/judge/testing/vitest.ts',
])

function listExports({ start, declaration, specifiers, exportKind }: SyntaxNode) {
  const declared = declaration as SyntaxNode | null
  const names = [
    ...((declared?.declarations ?? (declared === null ? [] : [declared])) as SyntaxNode[]).map(({ id }) => id),
    ...(specifiers as SyntaxNode[]).map(({ exported }) => exported),
  ]
  return names.map((name) => ({ name: nameOf(name) ?? '', isType: exportKind === 'type', start }))
}

/** Folders with more files beside each other than a reader takes in at a glance, tests not counted. */
export function crowdedFolders(paths: readonly string[]): string[] {
  const folders = Map.groupBy(
    paths.filter((path) => !isTest(path)),
    (path) => posix.dirname(path),
  )
  return [...folders]
    .filter(([, files]) => files.length > mostFiles)
    .map(([folder, files]) => `${folder}: ${files.length} files beside each other`)
}

const mostFiles = 20

/** The type `any`. */
export function anys({ path, text, nodes }: Source): string[] {
  return nodes.filter(({ type }) => type === 'TSAnyKeyword').map(({ start }) => `${path}:${lineOf(text, start)} any`)
}

/** Notes to oneself. */
export function leftovers({ path, text, comments }: Source): string[] {
  return comments
    .filter(({ value }) => /\b(TODO|FIXME|XXX|HACK)\b|@ts-(ignore|nocheck)/.test(value))
    .map(({ start, value }) => `${path}:${lineOf(text, start)} ${value.trim()}`)
}

/** Tests that do not run, or keep others from running. */
export function silencedTests({ path, text, nodes }: Source): string[] {
  if (!isTest(path)) return []
  return nodes
    .filter((node) => node.type === 'MemberExpression' && silencers.has(nameOf(node.property) ?? ''))
    .filter((node) => testFunctions.has(findRootName(node.object) ?? ''))
    .map((node) => `${path}:${lineOf(text, node.start)} .${nameOf(node.property)} in a test`)
}

const silencers = new Set(['only', 'skip', 'todo', 'skipIf', 'runIf', 'fails'])
const testFunctions = new Set(['test', 'it', 'describe', 'suite', 'bench'])

/** Limits of time that a test, a hook or a wait states for itself: the one of all is in tests/patience.ts. */
export function ownLimits({ path, text, nodes }: Source): string[] {
  if (!isTest(path)) return []
  return nodes
    .filter((node) => node.type === 'CallExpression' && isGuarded(node.callee as SyntaxNode))
    .filter((node) => (node.arguments as SyntaxNode[]).slice(1).some(isLimit))
    .map(({ start }) => `${path}:${lineOf(text, start)} a limit of its own`)
}

const hooks = new Set(['beforeAll', 'beforeEach', 'afterAll', 'afterEach'])
const waits = new Set(['waitFor', 'waitUntil', 'poll'])

/** `test`, `test.each(rows)`, `beforeAll`, `vi.waitFor`, `expect.poll`. */
function isGuarded(callee: SyntaxNode): boolean {
  if (callee.type === 'CallExpression') return testFunctions.has(findRootName(callee.callee) ?? '')
  const root = findRootName(callee) ?? ''
  if (testFunctions.has(root) || hooks.has(root)) return true
  return (
    (root === 'vi' || root === 'expect') &&
    callee.type === 'MemberExpression' &&
    waits.has(nameOf(callee.property) ?? '')
  )
}

function isLimit({ type, value, properties }: SyntaxNode): boolean {
  if (type === 'Literal') return typeof value === 'number'
  if (type !== 'ObjectExpression') return false
  return (properties as SyntaxNode[]).some((each) => {
    return each.type === 'Property' && nameOf(each.key) === 'timeout' && (each.value as SyntaxNode).type === 'Literal'
  })
}

/** Names in SQL between quotation marks of the statement itself, in place of `identifier`, which doubles those inside. */
export function unquotedIdentifiers({ path, text }: Source): string[] {
  if (!isIn(path, 'sandbox/store') || isTest(path)) return []
  return [...text.matchAll(/"\$\{(?!name\.replaceAll|oldClientHeader|table\})/g)].map(
    ({ index }) => `${path}:${lineOf(text, index)} a name in SQL is quoted by identifier()`,
  )
}

/** What may make a regular expression at run time, and why no text of a user can make it slow there. */
const patternMakers: Readonly<Record<string, string>> = {
  'src/judge/qa/expect/pattern.ts': 'runs those of users, and ends them',
  'src/judge/qa/expect/operators.ts': 'only compiles one, to report what is wrong with it',
  'src/cli/commands/qa/index.ts': 'only compiles one, to report what is wrong with it',
  'src/judge/qa/run/plan.ts': 'the name of an axis is a word',
  'src/judge/qa/report/html/page.ts': 'a secret, escaped',
  'src/judge/qa/suite/builtin.ts': 'a number of our own',
  'src/cli/endpoint/flags.ts': 'a pattern of the contract',
  'src/cli/output/jq.ts': 'the name of a function, of word characters',
  'src/core/foundation/http.ts': 'a path template of the contract, escaped',
  'src/judge/diagnosis/facts/renderer-use.ts': 'names of our own',
  'src/core/text/terminal.ts': 'a random number of our own',
  'src/cli/settings/settings.ts': 'a pattern of the contract',
  'src/core/contract/fields.ts': 'a pattern of the contract',
  'src/core/contract/resources/events.ts': 'a pattern of the contract',
  'src/core/contract/resources/beacons.ts': 'a pattern of the contract',
  'src/core/foundation/redaction.ts': 'a pattern of our own',
  'src/core/foundation/personal-data/access-keys.ts': 'prefixes of our own',
  'src/core/foundation/personal-data/phone-numbers.ts': 'words of our own',
  'src/core/foundation/personal-data/postal-addresses.ts': 'words of our own',
  'src/cli/mcp/results/outside-text.ts': 'a pattern of the contract',
  'src/cli/mcp/results/result-text.ts': 'names of our own',
  'src/judge/recordings/key-guard.ts': 'numbers of our own',
  'src/judge/recordings/rewriting.ts': 'an origin, escaped',
  'sandbox/pages/demo/canvases.ts': 'names of our own',
  'sandbox/rules/domain/catalogue.ts': 'a prefix of our own',
}

/** Regular expressions that are made at run time where nobody has said what of. Those of users can run for ever. */
export function unreviewedPatterns({ path, text, nodes }: Source): string[] {
  if (isTest(path) || Object.hasOwn(patternMakers, path)) return []
  return nodes
    .filter(({ type, callee }) => /^(New|Call)Expression$/.test(type) && nameOf(callee) === 'RegExp')
    .map(
      ({ start }) =>
        `${path}:${lineOf(text, start)} if users write this pattern, run it with matchPattern(); else list it`,
    )
}

/** Names that are not kebab-case (components: PascalCase), or that say nothing. */
export function badNames({ path }: Source): string[] {
  const name = posix.basename(path)
  const isNamedWell = kebabCase.test(name) || (name.endsWith('.tsx') && pascalCase.test(name))
  const empty = path.split(/[/.]/).filter((part) => emptyNames.has(part))
  return [
    ...(isNamedWell ? [] : [`${path}: file names are kebab-case, those of components PascalCase`]),
    ...empty.map((part) => `${path}: '${part}' says nothing; name the file after its concept`),
  ]
}

const kebabCase = /^[a-z0-9]+(-[a-z0-9]+)*(\.(test|config|d))?\.tsx?$/
const pascalCase = /^[A-Z][A-Za-z0-9]*(\.test)?\.tsx$/
const emptyNames = new Set(['utils', 'util', 'helpers', 'helper', 'common', 'misc', 'shared'])

function isTest(path: string): boolean {
  return path.startsWith('tests/') || /\.test\.tsx?$/.test(path)
}

function isIn(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`)
}

function isCallTo(node: SyntaxNode, object: string, property: string): boolean {
  return node.type === 'CallExpression' && isMember(node.callee as SyntaxNode, object, property)
}

/** `object.property`, or `globalThis.object.property`. */
export function isMember(node: SyntaxNode, object: string, property: string): boolean {
  if (node.type !== 'MemberExpression' || nameOf(node.property) !== property) return false
  const owner = node.object as SyntaxNode
  return nameOf(owner) === object || (owner.type === 'MemberExpression' && nameOf(owner.property) === object)
}

function nameOf(value: unknown): string | null {
  const node = value as SyntaxNode
  if (node.type === 'Identifier') return node.name as string
  return node.type === 'Literal' && typeof node.value === 'string' ? node.value : null
}

/** `test` of `test.concurrent.each`. */
function findRootName(value: unknown): string | null {
  const node = value as SyntaxNode
  return node.type === 'MemberExpression' ? findRootName(node.object) : nameOf(node)
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}
