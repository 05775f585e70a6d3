import { spawnSync } from 'node:child_process'
import {
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { writeLocator } from '#cli/settings/state-directory.ts'
import { startSandbox } from '#sandbox/index.ts'
import { root, spawnSvc } from './process.ts'
import { svc, temporaryDirectory } from './test-cli.ts'

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }

test('svc --version is the version of the package, also after other flags', async () => {
  for (const args of [
    ['--version'],
    ['-V'],
    ['-v'],
    ['version'],
    ['-q', '--version'],
    ['-q', '-v'],
    ['version', '-q'],
  ]) {
    expect(await spawnSvc(args, {}).ended).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
  }
})

test('a runtime without a compile cache, such as Deno, starts it too', () => {
  const without = "data:text/javascript,import module from 'node:module'; delete module.enableCompileCache"
  const words = ['--import', without, join(root, 'bin/svc.js'), 'help', 'exit-codes']
  const { status, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
})

test('a standard output that cannot be written to is named', () => {
  const file = join(temporaryDirectory(), 'read-only')
  writeFileSync(file, '')
  const fd = openSync(file, 'r')
  const words = [join(root, 'bin/svc.js'), 'help', 'exit-codes']
  const { status, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8', stdio: ['ignore', fd, 'pipe'] })
  closeSync(fd)
  expect({ status, stderr }).toEqual({
    status: 2,
    stderr: 'error: The output cannot be written: it is not open for writing.\n',
  })
})

test('a standard output that Node cannot open is named', () => {
  const broken =
    "data:text/javascript,Object.defineProperty(process, 'stdout', { get() { throw Object.assign(new Error('open EBADF'), { code: 'EBADF' }) } })"
  const words = ['--import', broken, join(root, 'bin/svc.js'), 'help', 'exit-codes']
  const { status, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' })
  expect({ status, stderr }).toEqual({
    status: 2,
    stderr: 'error: The standard output cannot be opened: EBADF.\nhint: Redirect it to a file: svc ... > FILE\n',
  })
})

test('a current directory that was deleted is an error that says so', () => {
  const cwd = join(temporaryDirectory(), 'gone')
  mkdirSync(cwd)
  const script = 'rmdir "$PWD"; exec "$0" "$1" config list'
  const { status, stdout, stderr } = spawnSync('sh', ['-c', script, process.execPath, join(root, 'bin/svc.js')], {
    cwd,
    encoding: 'utf8',
  })
  expect({ status, stdout, stderr }).toEqual({
    status: 2,
    stdout: '',
    stderr: 'error: The current directory no longer exists.\nhint: Change to another one: cd ~\n',
  })
})

test('svc --help loads no library', async () => {
  const { stdout, code } = await spawnSvc(['--help'], {}).ended
  expect(code).toBe(0)
  expect(stdout).toContain('Usage  svc <command> [options]')
  const bundle = readFileSync(join(root, 'dist/svc.js'), 'utf8')
  const imported = [...bundle.matchAll(/^import .* from "(.*)"/gm)].map(([, specifier]) => specifier as string)
  const chunks = imported.filter((specifier) => specifier.startsWith('./'))
  const size = chunks.reduce((sum, chunk) => sum + readFileSync(join(root, 'dist', chunk)).length, bundle.length)
  expect(size).toBeLessThan(20_000)
})

test('help and usage errors load neither the contract nor a schema', async () => {
  for (const args of [
    ['placements', 'create', '--help'],
    ['sandbox', '-h'],
    ['qa', 'run', '--nonsense', '--help'],
    ['nonsense'],
  ]) {
    const files = await loadedFiles(args)
    const size = files.reduce((sum, file) => sum + statSync(file).size, 0)
    expect(size, args.join(' ')).toBeLessThan(366_000)
    // To find and read a file takes half a millisecond.
    expect(files.length, args.join(' ')).toBeLessThan(10)
  }
})

test('a command that calls a running sandbox loads no schema and no contract, whatever it prints', async () => {
  const sandbox = await startSandbox({ database: ':memory:' })
  try {
    const home = temporaryDirectory()
    const { url, inspector_url, database, pid, projects } = sandbox
    await writeLocator(home, { url, inspector_url, database, pid, version, projects, started_at_ms: 0 })
    for (const args of [
      ['placements', 'create', '-o', 'json'],
      ['placements', 'create'],
      ['health', 'live'],
    ]) {
      const size = (await loadedFiles(args, home)).reduce((sum, file) => sum + statSync(file).size, 0)
      expect(size, args.join(' ')).toBeLessThan(560_000)
    }
  } finally {
    await sandbox.close()
  }
})

test('a start loads few files, no library beside the schemas and the database, and builds few schemas: each delays its ready line', async () => {
  const scripts = await loadedScripts(['start', '--db', temporaryDirectory()])
  const files = scripts.map(({ url }) => fileURLToPath(url))
  expect(files.filter((file) => file.endsWith('dist/sandbox.js'))).toHaveLength(1)
  const own = files.filter((file) => !file.includes('node_modules'))
  expect(own.length).toBeLessThan(25)
  expect(own.reduce((sum, file) => sum + statSync(file).size, 0)).toBeLessThan(1_600_000)
  // So does zod name the function that makes a schema, or a check of one.
  const makers = scripts.flatMap(({ functions }) =>
    functions.filter(({ functionName }) => functionName === 'Internals'),
  )
  const schemas = makers.reduce((sum, { ranges }) => sum + ranges[0]!.count, 0)
  expect(schemas).toBeGreaterThan(100)
  expect(schemas).toBeLessThan(800)
})

test('a start leaves the young generation at no more than 4 MB for each half, and sets five flags of the engine at most', async () => {
  const report = join(temporaryDirectory(), 'report.cjs')
  writeFileSync(
    report,
    `const v8 = require('node:v8')
    const { setFlagsFromString } = v8
    const flags = new Set()
    v8.setFlagsFromString = (flag) => { flags.add(flag.split('=')[0]); setFlagsFromString(flag) }
    process.on('exit', () => {
      const young = v8.getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
      console.error(JSON.stringify([young.space_used_size + young.space_available_size, [...flags]]))
    })`,
  )
  const env = { SVC_HOME: temporaryDirectory(), NODE_OPTIONS: `--require ${JSON.stringify(report)}` }
  const { child, firstLine, ended } = spawnSvc(['start', '-q', '-o', 'json', '--ephemeral', '--port', '0'], env)
  await firstLine
  child.kill('SIGTERM')
  const { code, stderr } = await ended
  expect(code).toBe(0)
  const [young, flags] = JSON.parse(stderr) as [number, string[]]
  expect(young).toBeLessThanOrEqual(4 * 2 ** 20)
  // The engine expects others to stay as they are: one for regular expressions, set at this point, ended 1 start of 100.
  const ofSize = [
    '--heap-growing-percent',
    '--no-maglev-destroy-on-background',
    '--no-parallel-scavenge',
    '--semi-space-growth-factor',
  ]
  expect(flags.filter((flag) => !ofSize.includes(flag))).toEqual(['--invocation-count-for-turbofan'])
  expect(flags).toContain('--heap-growing-percent')
})

test('the help in the bundle is the help of the source', async () => {
  for (const args of ['placements create --help', 'sandbox faults', 'help sandbox clock set', 'exec -h']) {
    const { code, stdout, stderr } = await svc(args, {})
    expect(await spawnSvc(args.split(' '), {}).ended, args).toEqual({ code, stdout, stderr })
  }
})

test('a reader that closes the pipe is no error', async () => {
  const { child, ended } = spawnSvc(['help', 'settings'], { SVC_HOME: temporaryDirectory() })
  child.stdout?.destroy()
  expect(await ended).toMatchObject({ code: 0, stderr: '' })
})

interface LoadedScript {
  url: string
  functions: { functionName: string; ranges: { count: number }[] }[]
}

/** Returns the files of dist that a command line loads. */
async function loadedFiles(args: readonly string[], home?: string): Promise<string[]> {
  return (await loadedScripts(args, home)).map(({ url }) => fileURLToPath(url))
}

/** Returns the files of dist that a command line loads, with the functions that it calls. */
async function loadedScripts(args: readonly string[], home?: string): Promise<LoadedScript[]> {
  const directory = temporaryDirectory()
  const { code } = await spawnSvc(args, { NODE_V8_COVERAGE: directory, ...(home && { SVC_HOME: home }) }).ended
  if (home !== undefined) expect(code).toBe(0)
  const reports = readdirSync(directory).map((file) => readFileSync(join(directory, file), 'utf8'))
  const scripts = reports.flatMap((text) => (JSON.parse(text) as { result: LoadedScript[] }).result)
  return scripts.filter(({ url }) => url.startsWith('file:'))
}

test('npm start in a checkout without packages, or under an old Node, says what to do', () => {
  const guard = join(root, 'build/check-checkout.cjs')
  const run = (script: string) => spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' })
  const empty = join(temporaryDirectory(), 'build')
  mkdirSync(empty)
  copyFileSync(guard, join(empty, 'check-checkout.cjs'))
  const bare = run(`require(${JSON.stringify(join(empty, 'check-checkout.cjs'))})`)
  expect([bare.status, bare.stderr]).toEqual([1, 'The packages of this checkout are not installed. Run: npm ci\n'])
  const old = run(
    `Object.defineProperty(process.versions, 'node', { value: '20.1.0' }); require(${JSON.stringify(guard)})`,
  )
  expect(old.status).toBe(1)
  expect(old.stderr).toContain('needs Node 22.19 or later; this is Node 20.1.0.')
  expect(run(`require(${JSON.stringify(guard)})`).status).toBe(0)
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  for (const name of ['prestart', 'pretest', 'build'])
    expect(scripts[name]).toMatch(/^node build\/check-checkout\.cjs && /)
})
