/** The single binary in an empty folder, on a machine without Node. */
import { execFile, execFileSync, spawn } from 'node:child_process'
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { temporaryDirectory } from '../temporary.ts'

const checkout = join(import.meta.dirname, '../..')
const largest_bytes = 110 * 2 ** 20
const folder = temporaryDirectory()
const home = temporaryDirectory()
/** Nothing can be written there: the path leads through a file. */
const readOnlyHome = join(checkout, 'package.json', 'home')
const env = { HOME: home, PATH: '/usr/bin:/bin', NO_COLOR: '1' }
let binary: string
let stop: (() => Promise<number | null>) | undefined

beforeAll(() => {
  const directory = temporaryDirectory()
  execFileSync(process.execPath, [join(checkout, 'build/package.ts'), '--out', directory], { stdio: 'inherit' })
  binary = globSync(`${directory}/svc-*-x64`)[0]!
})

afterAll(() => stop?.())

test('is no larger than promised, and its sum is beside it', () => {
  expect(statSync(binary).size).toBeLessThan(largest_bytes)
  expect(execFileSync('sha256sum', [binary], { encoding: 'utf8' }).split(' ')[0]).toBe(
    readFileSync(`${binary}.sha256`, 'utf8').split(' ')[0],
  )
})

test('version and help', async () => {
  const { version } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as { version: string }
  expect((await svc(['--version'])).output).toBe(`${version}\n`)
  expect((await svc(['placements', 'create', '--help'])).output).toContain('--format')
})

test('a sandbox on a file: a placement of each format, its beacons, its evidence, a snapshot, and the files it serves', async () => {
  const child = spawn(binary, ['start', '--port', '0', '--db', 'sandbox.db', '-o', 'json'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
  stop = () => {
    child.kill('SIGTERM')
    return exited
  }
  const { url } = JSON.parse(await firstLine(child.stdout)) as { url: string }
  for (const format of ['banner', 'clip', 'native']) {
    const created = await svc(['placements', 'create', '--format', format, '--base-url', url, '-o', 'json'])
    expect(JSON.parse(created.output)).toMatchObject({ status: 'ready', decision: { fill: true, format } })
    expect(await svc(['beacons', 'send', '--event', 'render', '--base-url', url])).toMatchObject({ code: 0 })
  }
  expect((await svc(['sandbox', 'snapshot', 'save', 'one', '--base-url', url])).code).toBe(0)
  expect((await svc(['evidence', 'verify', '--base-url', url])).code).toBe(0)
  for (const path of ['/v1/render.js', '/_sandbox/demo', '/_sandbox/docs/', '/_sandbox/openapi.json'])
    expect((await fetch(`${url}${path}`)).status, path).toBe(200)
  expect(await stop()).toBe(0)
  expect(existsSync(join(folder, 'sandbox.db'))).toBe(true)
})

test('exec, and scripted QA of a sandbox of its own', async () => {
  expect(await svc(['exec', '--', 'sh', '-c', 'test -n "$SVC_BASE_URL"'])).toMatchObject({ code: 0 })
  const { code, output } = await svc(['qa', 'run', 'consent', '--fresh'])
  expect(code, output).toBe(0)
})

test('without a home that can be written, exec and a sandbox in memory work', async () => {
  const { code, output } = await svc(['exec', '--', 'sh', '-c', 'test -n "$SVC_BASE_URL"'], { HOME: readOnlyHome })
  expect(code, output).toBe(0)
})

test('init writes a project with the package in it', async () => {
  const { code, output } = await svc(['init', 'python-server', 'app'])
  expect(code, output).toBe(0)
  expect(globSync('app/vendor/svc-*.tgz', { cwd: folder })).toHaveLength(1)
  expect(existsSync(join(folder, 'app/app/__main__.py'))).toBe(true)
})

function svc(args: string[], more: Record<string, string> = {}): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    execFile(binary, args, { cwd: folder, env: { ...env, ...more } }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), output: stdout + stderr })
    })
  })
}

async function firstLine(stream: NodeJS.ReadableStream): Promise<string> {
  let text = ''
  for await (const chunk of stream) {
    text += String(chunk)
    if (text.includes('\n')) return text.split('\n')[0]!
  }
  throw new Error(`ended without a line: ${text}`)
}
