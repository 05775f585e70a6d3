/** Starts that are refused as processes of other users, and what must not change. */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { folderDatabase, folderState } from '#cli/settings/sandbox-folder.ts'
import { startSandbox } from '#sandbox/index.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { root } from './process.ts'

export interface Refusal {
  code: number
  error: { category: string; code: string; message: string; hint: string }
}

interface User {
  uid?: number
  gid?: number
}

/** Runs a start that is refused as a process of another user. */
export async function refusedAs(user: User, home: string, args: readonly string[]): Promise<Refusal> {
  const child = spawn(process.execPath, [join(root, 'bin/svc.js'), 'start', '--port', '0', ...args, '-o', 'json'], {
    ...user,
    cwd: '/',
    env: { PATH: process.env.PATH, SVC_HOME: home },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let stdout = ''
  let stderr = ''
  child.stdout!.on('data', (chunk: Buffer) => {
    stdout += chunk.toString()
  })
  child.stderr!.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
  })
  const code = await new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? -1)))
  expect(stdout).toBe('')
  return { code, ...(JSON.parse(stderr) as Pick<Refusal, 'error'>) }
}

/** Somebody whom permissions bind: not the superuser. */
export function unprivileged(): User {
  return process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
}

/** A state directory with a database that a sandbox has made and used. */
export async function usedDatabase(): Promise<{ home: string; database: string }> {
  const home = temporaryDirectory()
  mkdirSync(join(home, 'sandboxes'))
  const folder = folderState({ cwd: home, env: { SVC_HOME: home }, home, platform: process.platform })
  const database = folderDatabase(folder)
  mkdirSync(folder.directory, { recursive: true })
  await using sandbox = await startSandbox({ database })
  await fetch(`${sandbox.url}/_sandbox/readyz`)
  onTestFinished(() => chmodSync(home, 0o755))
  return { home, database }
}

/** Every file of a directory, with the digest of what it holds. */
export function readContents(directory: string): Record<string, string> {
  const files = readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isFile())
  return Object.fromEntries(
    files.map(({ name }) => [
      name,
      createHash('sha256')
        .update(readFileSync(join(directory, name)))
        .digest('hex'),
    ]),
  )
}
