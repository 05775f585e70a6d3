import { spawnSync } from 'node:child_process'
import { closeSync, copyFileSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { version } from '#text/version.ts'
import { loadedFiles, loadedScripts, mostBytes, sumSize } from './loaded-files.ts'
import { root, spawnSvc } from './process.ts'
import { startTestCli, svc, temporaryDirectory } from './test-cli.ts'

const { version: packageVersion } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }

test('svc --version is the version of the package, also after other flags', async () => {
  expect(await spawnSvc(['--version'], {}).ended).toEqual({ code: 0, stdout: `${packageVersion}\n`, stderr: '' })
  for (const args of ['--version', '-V', '-v', 'version', '-q --version', '-q -v', 'version -q'])
    expect(await svc(args, {}), args).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
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

test('an empty HOME is one that is not set: the home directory is that of the account', async () => {
  const { code, stderr } = await spawnSvc(['sandbox', 'ps'], { HOME: '' }).ended
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.not.stringContaining('/dev/null') })
})

test('svc --help loads no library', () => {
  const bundle = readFileSync(join(root, 'dist/svc.js'), 'utf8')
  const imported = [...bundle.matchAll(/^import .* from "(.*)"/gm)].map(([, specifier]) => specifier as string)
  const chunks = imported.filter((specifier) => specifier.startsWith('./'))
  const size = chunks.reduce((sum, chunk) => sum + readFileSync(join(root, 'dist', chunk)).length, bundle.length)
  expect(size).toBeLessThan(21_000)
})

// More of them: tests/processes/loaded-files.test.ts
test('help loads neither the contract nor a schema, and a command that calls a sandbox neither', async () => {
  const help = await loadedFiles(['placements', 'create', '--help'])
  expect(sumSize(help)).toBeLessThan(mostBytes.help)
  // To find and read a file takes half a millisecond.
  expect(help.length).toBeLessThan(10)
  await using cli = await startTestCli()
  expect(sumSize(await loadedFiles(['placements', 'create'], cli.home))).toBeLessThan(mostBytes.call)
})

test('a start loads few files, no library beside the schemas and the database, and builds few schemas: each delays its ready line', async () => {
  const scripts = await loadedScripts(['start', '--db', temporaryDirectory()])
  const files = scripts.map(({ url }) => fileURLToPath(url))
  expect(files.filter((file) => file.endsWith('dist/sandbox.js'))).toHaveLength(1)
  const own = files.filter((file) => !file.includes('node_modules'))
  // Some room: which modules share a file is up to the bundler.
  expect(own.length).toBeLessThan(32)
  expect(sumSize(own)).toBeLessThan(1_740_000)
  // So does zod name the function that makes a schema, or a check of one.
  const makers = scripts.flatMap(({ functions }) =>
    functions.filter(({ functionName }) => functionName === 'Internals'),
  )
  const schemas = makers.reduce((sum, { ranges }) => sum + ranges[0]!.count, 0)
  expect(schemas).toBeGreaterThan(100)
  expect(schemas).toBeLessThan(900)
})

/** Below npm the program says how to call it by npx. */
const withoutNpm = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('npm_')))

test('the help in the bundle is the help of the source', async () => {
  const lines = ['placements create --help', 'sandbox faults', 'help sandbox clock set', 'exec -h']
  const fromSource = await Promise.all(lines.map((line) => svc(line, {})))
  const words = [join(root, 'tests/processes/every-command.ts'), JSON.stringify(lines)]
  const { stdout } = spawnSync(process.execPath, words, { encoding: 'utf8', env: withoutNpm })
  expect(stdout).toBe(fromSource.map((each) => each.stdout).join(''))
})

test('npm start in a checkout without packages, or under an old Node, says what to do', { tags: 'depth' }, () => {
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
