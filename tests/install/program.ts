/**
 * What must work wherever svc runs, however it was installed: a sandbox, a placement of each format, beacons, evidence, a
 * command with a sandbox of its own, a new project, scripted QA. The package and the single binary go through the same.
 */
import { execFile, spawn } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'

export interface Program {
  /** The command line that runs svc. */
  command: readonly string[]
  cwd: string
  env: Readonly<Record<string, string>>
}

export interface Ended {
  code: number
  /** Both streams. */
  output: string
}

export function svc({ command, cwd, env }: Program, args: readonly string[]): Promise<Ended> {
  const [file = '', ...words] = command
  return new Promise((resolve) => {
    execFile(file, [...words, ...args], { cwd, env, timeout: 60_000 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1
      resolve({ code, output: stdout + stderr })
    })
  })
}

/** Starts a sandbox, uses it, and ends it by SIGTERM. */
export async function withSandbox(
  program: Program,
  args: readonly string[],
  use: (url: string, pid: number) => Promise<void>,
): Promise<void> {
  const { command, cwd, env } = program
  const [file = '', ...words] = command
  const child = spawn(file, [...words, 'start', '--port', '0', '-o', 'json', ...args], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
  try {
    const { url, pid } = JSON.parse(await firstLine(child.stdout)) as { url: string; pid: number }
    await use(url, pid)
    // Under yarn the program is a child of what was started.
    process.kill(pid, 'SIGTERM')
    expect(await exited).toBe(0)
  } finally {
    child.kill('SIGKILL')
  }
}

/** Places each format on a sandbox on a file, sends its beacons, and reads them back. */
export async function placesEachFormat(program: Program): Promise<void> {
  await withSandbox(program, ['--db', 'sandbox.db'], async (url) => {
    for (const format of ['banner', 'clip', 'native']) {
      // Quiet, since a command that takes more than a second notes on stderr what it waits for.
      const words = ['placements', 'create', '--format', format, '--base-url', url, '-o', 'json', '--quiet']
      const { output } = await svc(program, words)
      expect(JSON.parse(output)).toMatchObject({ status: 'ready', decision: { fill: true, format } })
      const sent = await svc(program, ['beacons', 'send', '--event', 'render', '--base-url', url])
      expect(sent.code, sent.output).toBe(0)
    }
    const { items } = (await (await fetch(`${url}/_sandbox/beacons`)).json()) as { items: { verdict: string }[] }
    expect(items.map(({ verdict }) => verdict)).toEqual(['accepted', 'accepted', 'accepted'])
    for (const words of [
      ['sandbox', 'snapshot', 'save', 'one'],
      ['evidence', 'verify'],
    ]) {
      const { code, output } = await svc(program, [...words, '--base-url', url])
      expect(code, output).toBe(0)
    }
    for (const path of ['/v1/render.js', '/_sandbox/', '/_sandbox/demo', '/_sandbox/docs/', '/_sandbox/openapi.json'])
      expect((await fetch(`${url}${path}`)).status, path).toBe(200)
  })
  expect(existsSync(join(program.cwd, 'sandbox.db'))).toBe(true)
}

/** Runs commands that need no sandbox which runs: version, help, exec, init, and a suite of QA. */
export async function runsCommands(program: Program, version: string): Promise<void> {
  expect((await svc(program, ['--version'])).output).toBe(`${version}\n`)
  expect((await svc(program, ['placements', 'create', '--help'])).output).toContain('--format')
  const script = 'test -n "$SVC_BASE_URL" && echo "at $SVC_BASE_URL"'
  expect((await svc(program, ['exec', '-q', '--', 'sh', '-c', script])).output).toMatch(/^at http:\/\/127/)
  const qa = await svc(program, ['qa', 'run', 'consent', '--fresh'])
  expect(qa.code, qa.output).toBe(0)
  const made = await svc(program, ['init', 'python-server', 'app'])
  expect(made.code, made.output).toBe(0)
  expect(globSync('app/vendor/svc-sandbox-*.tgz', { cwd: program.cwd })).toHaveLength(1)
  expect(existsSync(join(program.cwd, 'app/app/__main__.py'))).toBe(true)
}

async function firstLine(stream: NodeJS.ReadableStream): Promise<string> {
  let text = ''
  for await (const chunk of stream) {
    text += String(chunk)
    if (text.includes('\n')) return text.split('\n')[0]!
  }
  throw new Error(`ended without a line: ${text}`)
}
