/** The programs that templates run: each is there on every computer, once npm has installed. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { listTemplates } from '#scaffold/templates.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { checkout } from './unpack.ts'

const python = join(checkout, 'templates/_shared/python-run/python.mjs')
const php = join(checkout, 'templates/php-server/php.mjs')
const java = join(checkout, 'templates/java-server/java.mjs')
/** Node, and what the package or a dependency of the template brings. */
const everywhere = ['next', 'node', 'npm', 'playwright', 'svc', 'tsc', 'vite', 'vitest']

test('no script of a template names a program that a computer may not have, but the one that svc init says it needs', () => {
  const templates = listTemplates()
  expect(templates.length).toBeGreaterThan(6)
  for (const { name, scripts, toolchain } of templates) {
    const known = [...everywhere, ...(toolchain?.program === undefined ? [] : [toolchain.program])]
    for (const script of Object.values(scripts)) expect(known, `${name}: ${script}`).toEqual(programs(script))
  }
})

test('python.mjs takes the first Python that is new enough, under any of its names, with its exit code', async () => {
  const old = 'exit 1'
  const recent = '[ "$1" = -3 ] && shift; [ "$1" = -c ] && exit 0; echo "$(basename "$0") $*"; exit 7'
  expect(await runPython({ python: recent, python3: recent })).toEqual({ code: 7, output: 'python -m app a b\n' })
  expect(await runPython({ python: old, python3: recent })).toEqual({ code: 7, output: 'python3 -m app a b\n' })
  expect(await runPython({ py: recent })).toEqual({ code: 7, output: 'py -m app a b\n' })
  expect(await runPython({ python: old })).toEqual({
    code: 1,
    output: 'There is no Python 3.11 or later on the PATH. Install it from https://www.python.org/downloads/\n',
  })
})

test('python.mjs passes a signal on, and waits until Python has ended', async () => {
  const script = `[ "$1" = -c ] && exit 0; trap 'echo ended; exit 3' TERM; echo ready; while :; do sleep 0.05; done`
  const { child, output } = startPython({ python: script })
  await expect.poll(output).toBe('ready\n')
  child.kill('SIGTERM')
  expect(await once(child, 'close')).toEqual([3, null])
  expect(output()).toBe('ready\nended\n')
})

test('php.mjs ends the processes that PHP has started, also when only it gets the signal', async () => {
  const script = '[ "$1" = -r ] && exit 0; sleep 60 & echo "$! $*"; wait'
  const { child, output } = start(php, { php: script })
  await expect.poll(output).toMatch(/^\d+ -m app a b\n$/)
  const worker = Number.parseInt(output(), 10)
  child.kill('SIGTERM')
  expect(await once(child, 'close')).toEqual([143, null])
  await expect.poll(() => isRunning(worker)).toBe(false)
})

test('without a PHP or a JDK that is new enough, they say what to install', async () => {
  const missing = { code: 1, output: expect.stringContaining('There is no PHP 8.2 or later on the PATH') }
  expect(await runProgram(php, {})).toEqual(missing)
  expect(await runProgram(php, { php: 'exit 1' })).toEqual(missing)
  const noJdk = { code: 1, output: expect.stringContaining('There is no JDK 17 or later on the PATH.\nInstall one: ') }
  expect(await runProgram(java, {})).toEqual(noJdk)
  expect(await runProgram(java, { javac: 'echo javac 11.0.2' })).toEqual(noJdk)
})

/** Whether a process runs; one that has ended and that nobody waits for does not. */
function isRunning(pid: number): boolean {
  return existsSync(`/proc/${pid}/stat`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
}

/** Runs `node python.mjs` where these are all the programs, as scripts for sh, beside sh itself. */
const runPython = (scripts: Record<string, string>) => runProgram(python, scripts)
const startPython = (scripts: Record<string, string>) => start(python, scripts)

async function runProgram(program: string, scripts: Record<string, string>): Promise<{ code: number; output: string }> {
  const { child, output } = start(program, scripts)
  const [code] = (await once(child, 'close')) as [number]
  return { code, output: output() }
}

function start(program: string, scripts: Record<string, string>) {
  const folder = temporaryDirectory()
  for (const [name, script] of Object.entries(scripts))
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  for (const name of ['basename', 'sleep']) symlinkSync(`/usr/bin/${name}`, join(folder, name))
  const child = spawn(process.execPath, [program, '-m', 'app', 'a b'], { env: { PATH: folder } })
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
  return { child, output: () => text }
}

/** Returns a matcher of lists that contain every program of a line for npm. */
function programs(script: string): unknown {
  const commands = script.split(/&&|\|\||;| -- /).map((command) => command.trim().split(' ')[0]!)
  return expect.arrayContaining(commands)
}
