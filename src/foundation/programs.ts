/**
 * Other programs: the one way to start them, so that each starts on Windows too. There `npm` is `npm.cmd`, found by
 * PATHEXT and run by cmd.exe, which reads `&`, `%` and quotes in arguments as its own syntax unless they are escaped.
 */
import { type ChildProcess, type SpawnOptions, type SpawnSyncOptions, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'

/** How long a program of the system may take to print something. */
const outputTimeout_ms = 5_000

/**
 * Starts a program by its name or path, as a shell finds it; no shell reads its arguments. On Windows a missing program
 * may also be an event `error` later, instead of `exit`. @throws the error of the operating system
 */
export async function startProgram(
  [name = '', ...args]: readonly string[],
  options: SpawnOptions,
): Promise<ChildProcess> {
  const start = process.platform === 'win32' ? (await import('cross-spawn')).default : spawn
  const child = start(name, args, options)
  await once(child, 'spawn')
  return child
}

/** Starts a line in the user's shell: only for what the user wrote as one line. */
export function startShellLine(line: string, options: SpawnOptions): ChildProcess {
  return spawn(line, { ...options, shell: true })
}

/** Returns what a program of the operating system prints; an empty text when there is none, or when it fails. */
export function readOutput([name = '', ...args]: readonly string[]): string {
  const { status, stdout } = spawnSync(name, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: outputTimeout_ms,
    windowsHide: true,
  })
  return status === 0 ? stdout : ''
}

/**
 * Ends a process on Windows with all that it started. A program that is not an .exe runs under cmd.exe, so to end the
 * process alone would leave the program.
 */
export function endTree(pid: number, env: SpawnSyncOptions['env']): void {
  spawnSync('taskkill', ['/pid', String(pid), '/t', '/f'], { env, stdio: 'ignore', windowsHide: true })
}
