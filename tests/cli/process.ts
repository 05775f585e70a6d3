/** The command line as a real process. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Result } from './test-cli.ts'

export const root = join(import.meta.dirname, '../..')
const bin = join(root, 'bin/svc.js')

export interface Running {
  child: ChildProcess
  /** Resolves with the first line of stdout, or rejects when the process ends without one. */
  firstLine: Promise<string>
  ended: Promise<Result>
}

/** Starts svc; `prefix` are the words of a program that runs it, such as `unshare`. */
export function spawnSvc(
  args: readonly string[],
  env: Record<string, string>,
  cwd?: string,
  prefix: readonly string[] = [],
): Running {
  const [program = '', ...words] = [...prefix, process.execPath, bin, ...args]
  const child = spawn(program, words, {
    env: { PATH: process.env.PATH, TMPDIR: tmpdir(), ...env },
    ...(cwd === undefined ? {} : { cwd }),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const result: Result = { code: -1, stdout: '', stderr: '' }
  child.stderr.on('data', (chunk: Buffer) => {
    result.stderr += chunk.toString()
  })
  const firstLine = new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      result.stdout += chunk.toString()
      if (result.stdout.includes('\n')) resolve(result.stdout.split('\n')[0] as string)
    })
    child.on('close', (code, signal) =>
      reject(new Error(`ended without a line, with ${signal ?? code}: ${result.stderr}`)),
    )
  })
  firstLine.catch(() => {})
  const ended = once(child, 'close').then(([code]) => ({ ...result, code: code as number }))
  return { child, firstLine, ended }
}

/** Returns a port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Runs a script of sh, in which `"$@"` is the program: svc, unless it is another one. */
export async function shell(
  script: string,
  env: Record<string, string>,
  program: readonly string[] = [bin],
): Promise<Omit<Result, 'stdout'>> {
  const child = spawn('sh', ['-c', script, 'sh', process.execPath, ...program], {
    env: { PATH: process.env.PATH, ...env },
    cwd: env.SVC_HOME,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stderr = ''
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
  })
  child.stdout.resume()
  const [code] = (await once(child, 'close')) as [number]
  return { code, stderr }
}
