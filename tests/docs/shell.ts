/** `npx svc` of the README: the checkout's command line as processes in a directory of the test. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../cli/process.ts'
import type { Result } from '../cli/test-cli.ts'

export type Ended = Result

/** A sandbox that is ready. */
export interface Ready {
  url: string
  stdout: string
  child: ChildProcess
}

const started = new Set<ChildProcess>()

/** Runs a command to its end; the directory is also its state directory. */
export async function run(args: readonly string[], directory: string): Promise<Ended> {
  const { child, result } = spawnIn(args, directory)
  const [code] = await once(child, 'close')
  return { ...result, code: code as number }
}

/** Starts a sandbox and waits until it names its URL. */
export async function start(args: readonly string[], directory: string): Promise<Ready> {
  const { child, result } = spawnIn(args, directory)
  started.add(child)
  child.once('close', () => started.delete(child))
  return new Promise((resolve, reject) => {
    child.stdout?.on('data', () => {
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(result.stdout)?.[0]
      if (url !== undefined && result.stdout.endsWith('\n')) resolve({ url, stdout: result.stdout, child })
    })
    child.once('close', () => reject(new Error(`svc ${args.join(' ')} ended: ${result.stderr}`)))
  })
}

/** Stops a sandbox. Resolves to its exit code. */
export async function stop({ child }: Ready): Promise<number> {
  const closed = once(child, 'close')
  child.kill('SIGTERM')
  const [code] = await closed
  return code as number
}

/** Stops the sandboxes that are still running. */
export async function endStarted(): Promise<void> {
  await Promise.all([...started].map((child) => stop({ child, url: '', stdout: '' })))
}

function spawnIn(args: readonly string[], directory: string): { child: ChildProcess; result: Result } {
  const child = spawn(process.execPath, [join(root, 'bin/svc.js'), ...args], {
    cwd: directory,
    env: { PATH: process.env.PATH, TMPDIR: tmpdir(), SVC_HOME: directory },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const result: Result = { code: -1, stdout: '', stderr: '' }
  child.stdout.on('data', (chunk: Buffer) => {
    result.stdout += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    result.stderr += chunk.toString()
  })
  return { child, result }
}
