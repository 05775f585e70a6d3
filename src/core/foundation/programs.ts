/**
 * Other programs: the one way to start them, so that each starts on Windows too. There `npm` is `npm.cmd`, found by
 * PATHEXT and run by cmd.exe, which reads `&`, `%` and quotes in arguments as its own syntax unless they are escaped.
 */
import { type ChildProcess, type SpawnOptions, type SpawnSyncOptions, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'

/** How long a program of the system may take to print something. */
const outputTimeoutMs = 5_000

/**
 * Starts a program by its name or path, as a shell finds it; no shell reads its arguments.
 * @throws the error of the operating system, ENOENT when there is no such program
 */
export async function startProgram(
  words: readonly string[],
  options: SpawnOptions,
  platform: string = process.platform,
): Promise<ChildProcess> {
  const [name = '', ...args] = words
  const child = platform === 'win32' ? await spawnOnWindows(name, args, options) : spawn(name, args, options)
  await once(child, 'spawn')
  return child
}

/** What cross-spawn exports beside its types: how it would start a program. */
interface CrossSpawn {
  _parse(name: string, args: string[], options: SpawnOptions): ParsedProgram
}

interface ParsedProgram {
  command: string
  args: string[]
  options: SpawnOptions
  /** The file that was found by the name. */
  file?: string
}

async function spawnOnWindows(name: string, args: string[], options: SpawnOptions): Promise<ChildProcess> {
  const { _parse } = (await import('cross-spawn')).default as unknown as CrossSpawn
  const parsed = _parse(name, args, options)
  // Set for what is no .exe: cmd.exe runs it.
  const isByShell = parsed.options.windowsVerbatimArguments === true
  if (isByShell && parsed.file === undefined) throw Object.assign(new Error(`spawn ${name} ENOENT`), { code: 'ENOENT' })
  if (isByShell && /\.(cmd|bat)$/i.test(parsed.file ?? '')) {
    parsed.args = ['/e:on', '/v:off', '/d', '/s', '/c', `"${scriptLine(parsed.file!, args)}"`]
  }
  return spawn(parsed.command, parsed.args, parsed.options)
}

/**
 * Returns the line by which cmd.exe runs a script with these arguments. The script passes them on by `%*`, a line that
 * cmd.exe reads again, so nothing may depend on `^`: every special character is in quotes, of which there is always an
 * even number, and `%` is followed by a variable of no length. The standard library of Rust does the same.
 * @throws Error for a line break, where cmd.exe ends its line
 */
export function scriptLine(file: string, args: readonly string[]): string {
  if (args.some((arg) => /[\r\n\0]/.test(arg))) throw new Error('cmd.exe cannot pass on an argument with a line break')
  return [quote(file), ...args.map((arg) => (/^[\w#$*+\-./:?@\\]*[\w#$*+\-./:?@]$/.test(arg) ? arg : quote(arg)))].join(
    ' ',
  )
}

function quote(text: string): string {
  const escaped = text.replace(/(?<!\\)(\\*)"/g, '$1$1""').replace(/(?<!\\)\\+$/, '$&$&')
  return `"${escaped.replaceAll('%', '%%cd:~,%')}"`
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
    timeout: outputTimeoutMs,
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
