/** The package as it is installed: it runs, is complete, and contains nothing else. Its types: tests/install. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { copyFileSync, existsSync, globSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { beforeAll, expect, test } from 'vitest'
import { listTemplates } from '#scaffold/templates.ts'
import { writeCode } from '#tests/docs/markdown.ts'
import { checkout, readManifest, type Unpacked, unpack } from './unpack.ts'

const largest_packed_bytes = 9.5e6
let unpacked: Unpacked
let files: string[]

beforeAll(() => {
  unpacked = unpack()
  files = globSync('**/*', { cwd: unpacked.root, exclude: ['node_modules'], withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(unpacked.root.length + 1))
  copyFileSync(join(import.meta.dirname, 'placement.test.ts.txt'), join(unpacked.project, 'placement.test.ts'))
})

test('under npm, help says npx --no svc-sandbox: npx svc may be the package of a stranger', async () => {
  const { output } = await run([join(unpacked.root, 'bin/svc.js'), '--help'], unpacked.project, { npm_execpath: 'npm' })
  expect(output).toContain('  npx --no svc-sandbox start\n      start the sandbox of this folder\n')
  expect(output).not.toMatch(/npx svc(?!-sandbox)/)
  expect(Math.max(...output.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80)
})

test('starts, prints one line of JSON, and stops on SIGTERM', async () => {
  const args = ['start', '--port', '0', '--ephemeral', '-o', 'json']
  const child = spawn(process.execPath, [join(unpacked.root, 'bin/svc.js'), ...args], {
    cwd: unpacked.project,
    env: environment(),
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  try {
    const line = await firstLine(child)
    const ready = JSON.parse(line) as { url: string; pid: number; version: string; projects: { client_id: string }[] }
    expect(ready).toMatchObject({ pid: child.pid, version: readManifest(checkout).version })
    expect(ready.projects[0]?.client_id).toBe('proj_demo')
    const answer = await fetch(`${ready.url}/_sandbox/readyz`)
    expect(await answer.json()).toEqual({ ok: true })
    child.kill('SIGTERM')
    expect(await exited).toBe(0)
  } finally {
    child.kill('SIGKILL')
  }
  expect(globSync('*', { cwd: unpacked.project }).toSorted()).toEqual([
    'node_modules',
    'package.json',
    'placement.test.ts',
  ])
})

test('a suite of its user passes, and the tests that the documentation shows', { tags: 'depth' }, async () => {
  const { project } = unpacked
  mkdirSync(join(project, 'docs'))
  const shown = writeCode(join(project, 'docs')).filter(({ flags }) => flags.file?.includes('.test.'))
  expect(shown.length).toBeGreaterThan(2)
  const vitest = join(project, 'node_modules/vitest/vitest.mjs')
  const words = [vitest, 'run', '--root', project, '--testTimeout', '60000', '--no-isolate', '--maxWorkers', '1']
  const { exit_code, output } = await run(words, project)
  expect(output).toContain(`Test Files  ${shown.length + 1} passed (${shown.length + 1})`)
  expect(exit_code, output).toBe(0)
})

test('bundlers for pages get the client for pages: one small module without imports', async () => {
  const file = join(unpacked.root, 'dist/client.browser.js')
  const code = readFileSync(file, 'utf8')
  expect(gzipSync(code).length).toBeLessThanOrEqual(5_120)
  expect(code).not.toMatch(/\bimport\b|\brequire\b|\bprocess\b|\bBuffer\b|node:/)
  const script = `
    const { createClient, normalizePlacement, verifyCallback } = await import('svc-sandbox/client')
    const client = createClient({ base_url: 'http://127.0.0.1:1', retries: 0, onError: (error) => console.log(error.name) })
    console.log(await client.sendBeacon({ asset_token: 'ast_x', event: 'render' }), Object.keys(client).join())
    console.log(normalizePlacement(null), await verifyCallback('', null, ''))`
  const args = ['--conditions=browser', '--input-type=module', '-e', script]
  const { output } = await run(args, unpacked.project)
  expect(output).toBe(`\
UnreachableError
null placements,jobs,decisions,browser,beacons,consent,projects,generation,withResponse,call,createJob,getDecision,sendBeacon,reportGeneration
null false
`)
})

test('holds what it needs to run', () => {
  expect(files).toEqual(
    expect.arrayContaining([
      'package.json',
      'LICENSE',
      'README.md',
      'bin/svc.js',
      'dist/svc.js',
      'dist/sandbox.js',
      'dist/client.js',
      'dist/client.browser.js',
      'dist/contract.js',
      'dist/openapi.json',
      'dist/renderer/render.js',
      'dist/renderer/frame.js',
      'fixtures/projects.json',
      'fixtures/demand.json',
    ]),
  )
})

test('holds every template as svc init needs it, and nothing that an install or a build left there', () => {
  const held = files.filter((file) => file.startsWith('templates/'))
  for (const { name } of listTemplates()) {
    for (const file of ['.env.example', '_gitignore', 'README.md', 'package.json']) {
      expect(existsSync(join(unpacked.root, 'templates', name, file)), `${name}/${file}`).toBe(true)
    }
  }
  expect(held.filter((file) => /node_modules|package-lock|__pycache__|\.next|\/\.env$|\/dist\//.test(file))).toEqual([])
})

test('holds no source map, no test of ours and no path of the host that built it', () => {
  const own = files.filter((file) => !file.startsWith('templates/'))
  expect(own.filter((file) => /\.map$|\.test\.|(^|\/)tests\/|\.tsbuildinfo$|(^|\/)\./.test(file))).toEqual([])
  const texts = files.filter((file) => /\.([cm]?[jt]s|json|md|html|css|svg|txt)$/.test(file))
  const places = [checkout, `${homedir()}/`, 'sourceMappingURL=']
  const found = texts.flatMap((file) => {
    const text = readFileSync(join(unpacked.root, file), 'utf8')
    return places.filter((place) => text.includes(place)).map((place) => `${file}: ${place}`)
  })
  expect(found).toEqual([])
})

test('is small', () => {
  expect(statSync(unpacked.archive).size).toBeLessThan(largest_packed_bytes)
})

test('has a licence, and those of everything that it bundles, with their texts', () => {
  const { license } = readManifest(unpacked.root)
  expect([license, readFileSync(join(unpacked.root, 'LICENSE'), 'utf8')]).toEqual([
    'MIT',
    expect.stringContaining('Copyright (c) 2026 the svc authors'),
  ])
  const notices = readFileSync(join(unpacked.root, 'dist/THIRD-PARTY-NOTICES.txt'), 'utf8')
  const named: string[] = notices.match(/(?<=^ {2})\S+(?= \S+ \(\S+\)$)/gm) ?? []
  // The bundler writes above each module where it is from.
  const bundled = files
    .filter((file) => /^dist\/[^/]+\.js$/.test(file))
    .flatMap(
      (file) =>
        readFileSync(join(unpacked.root, file), 'utf8').match(/(?<=^\/\/ node_modules\/)(@[^/]+\/)?[^/]+/gm) ?? [],
    )
  expect(new Set(bundled).size).toBeGreaterThan(40)
  expect([...new Set(bundled)].filter((name) => !named.includes(name))).toEqual([])
  for (const name of named) expect(notices, name).toMatch(new RegExp(`^${name} \\S+ .*\n-+\n\n[^]{40}`, 'm'))
})

test('every bundle is made where its notices are collected', () => {
  const builders = globSync('build/*.ts', { cwd: checkout }).filter((file) =>
    /import\('vite'\)|^import \{[^}]*\bbuild\b[^}]*\} from 'vite'/m.test(readFileSync(join(checkout, file), 'utf8')),
  )
  expect(builders).toEqual([join('build', 'bundle.ts')])
})

function run(
  args: string[],
  cwd: string,
  more: NodeJS.ProcessEnv = {},
): Promise<{ exit_code: number; output: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd, env: { ...environment(), ...more } }, (error, stdout, stderr) => {
      const exit_code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1
      resolve({ exit_code, output: `${stdout}${stderr}` })
    })
  })
}

/** Nothing of ours: no settings, no state, no test runner around it. */
function environment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, HOME: unpacked.directory, SVC_HOME: join(unpacked.directory, 'home'), NO_COLOR: '1' }
}

async function firstLine(child: ChildProcess): Promise<string> {
  let text = ''
  for await (const piece of child.stdout!) {
    text += String(piece)
    if (text.includes('\n')) break
  }
  return text.split('\n')[0]!
}
