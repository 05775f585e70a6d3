/**
 * The real system. The only file in src/ that touches `process`. Modules of Node that few commands need are loaded by the
 * functions that need them, because `svc --help` must start quickly.
 */

import { fstatSync, writeSync } from 'node:fs'
import { homedir, userInfo } from 'node:os'
import { isGroupRunning, readForeground, readPidScope, readProcess, readProcessStart } from '#cli/process/proc.ts'
import type { Signal, System } from '#cli/run/system.ts'
import type { SystemStream } from '#text/terminal.ts'
import { run } from './program.ts'

const signals: Signal[] = ['SIGINT', 'SIGTERM', 'SIGHUP']
/** Codes of a write to a pipe that nothing reads any more; EOF is the one on Windows. */
const readerGone = ['EPIPE', 'ECONNRESET', 'EOF']
/** Why the output is not complete, by error code. */
const fullReasons: ReadonlyMap<string, string> = new Map([
  ['EBADF', 'it is not open for writing'],
  ['EDQUOT', 'your disk quota is used up'],
  ['EFBIG', 'the file is too large'],
  ['ENOSPC', 'the disk is full'],
])
/** The young generation grows by doubling while `svc start` runs, and stops above this: each of its halves has 4 MB then. */
const enoughYoungBytes = 3 * 2 ** 20
/**
 * Calls after which the engine optimizes a function for good. Its default of 3,000 is more requests than most sandboxes
 * ever receive.
 */
const callsUntilOptimized = 1_000
const letters = 'abcdefghijklmnopqrstuvwxyz234567'

/** The exit code for output cut off by a full disk: only this shows that a file is incomplete. */
let incomplete: number | undefined

/** Read when a sandbox is listed. */
let pidScope: string | null | undefined

/** Opened when something is printed there. */
let stderr: SystemStream | undefined

checkOutput()

const system: System = {
  env: process.env,
  cwd: currentDirectory(),
  home: homeDirectory(),
  platform: process.platform,
  pid: process.pid,
  // A program in one file, with its runtime inside, has no script.
  program: isSingleFile() ? [process.execPath] : [process.execPath, ...process.argv.slice(1, 2)],
  node_version: process.versions.node,
  get stdin() {
    return process.stdin
  },
  closeInput: () => void process.stdin.destroy(),
  async readKeys(handler) {
    const { readTerminalKeys } = await import('#cli/process/terminal-keys.ts')
    const source = {
      stdin: process.stdin,
      isForeground: await readForeground(process.pid, process.platform),
      // Windows has no groups to signal.
      raise: (signal: NodeJS.Signals) =>
        void (process.platform === 'win32' ? process.emit(signal, signal) : process.kill(0, signal)),
      onContinue(onContinue: () => void) {
        process.on('SIGCONT', onContinue)
        return () => process.off('SIGCONT', onContinue)
      },
      echoLine: () => system.stderr.write('\n'),
    }
    return readTerminalKeys(source, handler)
  },
  stdout: hostStream(process.stdout, 1),
  get stderr() {
    stderr ??= hostStream(process.stderr, 2)
    return stderr
  },
  get stdin_is_terminal() {
    return process.stdin.isTTY === true
  },
  now: () => Date.now(),
  randomText: (length) =>
    Array.from(crypto.getRandomValues(new Uint8Array(length)), (byte) => letters[byte & 31]).join(''),
  onSignal(handler) {
    for (const signal of signals) process.on(signal, handler)
    const onError = ({ code = '' }: NodeJS.ErrnoException) => {
      if (readerGone.includes(code)) handler('SIGPIPE')
    }
    process.stdout.once('error', onError)
    return () => {
      for (const signal of signals) process.off(signal, handler)
      process.stdout.off('error', onError)
    }
  },
  keepHeapSmall() {
    const { getHeapSpaceStatistics, setFlagsFromString } = process.getBuiltinModule('node:v8')
    // Without these the heap grows to several times what is alive before it is collected: 270 MB instead of 140 under load.
    setFlagsFromString('--heap-growing-percent=65')
    // A generation this small is collected within a millisecond: a second thread costs more than the copying.
    setFlagsFromString('--no-parallel-scavenge')
    // On another thread, memory for compiling is released late, and stays with the process: 10 MB more. Elsewhere the
    // engine has no such compiler, and complains about an unknown flag.
    if (['x64', 'arm64'].includes(process.arch)) setFlagsFromString('--no-maglev-destroy-on-background')
    let grows = true
    const boundYoung = () => {
      const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')!
      const isSmall = young.space_used_size + young.space_available_size < enoughYoungBytes
      if (isSmall === grows) return
      // A collection after a quiet time makes it small again: then it may grow again.
      grows = isSmall
      setFlagsFromString(`--semi-space-growth-factor=${grows ? 2 : 1}`)
    }
    new PerformanceObserver(boundYoung).observe({ entryTypes: ['gc'] })
    boundYoung()
  },
  optimizeSooner() {
    process.getBuiltinModule('node:v8').setFlagsFromString(`--invocation-count-for-turbofan=${callsUntilOptimized}`)
  },
  exitNow: (code) => process.exit(code),
  get pid_scope() {
    pidScope ??= readPidScope(process.pid)
    return pidScope
  },
  isRunning,
  readProcessStart: (pid) => readProcessStart(pid, process.pid, process.platform),
  respondsAt: async (url) => (await import('#cli/run/command-client.ts')).isSandboxAt(system, url),
  describeServer: async (url) => (await import('#cli/process/port-holder.ts')).describeServer(system, url),
  findParent: findParent,
  terminate: (pid) => sendSignal(pid, 'SIGTERM'),
  signal: (pid, signal) => {
    // Windows has no signals: there it would end this process by force.
    if (pid === process.pid && signal !== 0 && signal !== 'SIGKILL') return process.emit(signal, signal)
    return sendSignal(pid, signal)
  },
  onExit(handler) {
    process.on('exit', handler)
    return () => process.off('exit', handler)
  },
}

process.stdout.on('error', onWriteError)
const exit_code = await run(process.argv.slice(2), system)
process.exitCode = incomplete ?? exit_code

function onWriteError({ code = '' }: NodeJS.ErrnoException): void {
  const reason = fullReasons.get(code)
  if (reason === undefined || incomplete !== undefined) return
  incomplete = 2
  process.exitCode = incomplete
  process.stderr.write(`error: The output cannot be written: ${reason}.\n`)
}

/**
 * Ignores errors of a stream: a reader that stops early (`svc ... | head -1`) or a closed terminal is not a failure.
 */
function hostStream(stream: NodeJS.WriteStream, fd: 1 | 2): SystemStream {
  stream.on('error', () => {})
  const isFile = stream.isTTY !== true && isRegularFile(fd)
  return {
    write: (text) => (isFile ? writeToFile(fd, text) : void stream.write(text)),
    is_terminal: stream.isTTY === true,
    get columns() {
      return stream.columns
    },
    get rows() {
      return stream.rows
    },
  }
}

/** Ends the process when Node cannot open its standard output, as with a handle of a kind that Windows does not know. */
function checkOutput(): void {
  try {
    void process.stdout
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    writeToFile(
      2,
      `error: The standard output cannot be opened: ${code}.\nhint: Redirect it to a file: svc ... > FILE\n`,
    )
    process.exit(2)
  }
}

/** Whether output goes to a file. A handle that has no status, as on Windows, is reported when a write to it fails. */
function isRegularFile(fd: 1 | 2): boolean {
  try {
    return fstatSync(fd).isFile()
  } catch {
    return false
  }
}

/** Whether this is the single binary. Bun has no module that reveals it. */
function isSingleFile(): boolean {
  const sea: typeof import('node:sea') | undefined = process.getBuiltinModule('node:sea')
  return sea?.isSea() ?? false
}

/** Writes all of a text. Node's streams silently drop the part of a write that a nearly full disk does not accept. */
function writeToFile(fd: 1 | 2, text: string): void {
  try {
    for (let rest = Buffer.from(text); rest.length > 0; ) rest = rest.subarray(writeSync(fd, rest))
  } catch (error) {
    if (fd === 1 && error instanceof Error) onWriteError(error)
  }
}

/** Returns the current directory. Ends the process when it was deleted: every path would be relative to nothing. */
function currentDirectory(): string {
  try {
    return process.cwd()
  } catch {
    process.stderr.write('error: The current directory no longer exists.\nhint: Change to another one: cd ~\n')
    return process.exit(2)
  }
}

/**
 * Returns the home directory, also where HOME is empty; empty for a user without one, such as an unnamed user in a
 * container.
 */
function homeDirectory(): string {
  try {
    return homedir() || userInfo().homedir
  } catch {
    return ''
  }
}

/** Sends a signal; 0 only checks the process. A process of another user counts as running. */
function sendSignal(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** A process that has ended takes signals until its parent has read its exit code, which some never do. */
function isRunning(pid: number): boolean {
  if (!sendSignal(pid, 0)) return false
  return pid < 0 ? isGroupRunning(-pid, process.pid) !== false : readProcess(pid)?.is_zombie !== true
}

/** Returns the parent of a process. Only /proc knows the parent and the name of a process other than this one. */
function findParent(pid: number): { pid: number; name: string | null } | null {
  const parent = pid === process.pid ? process.ppid : readProcess(pid)?.parent
  if (parent === undefined) return null
  const status = readProcess(parent)
  if (status !== null) return { pid: parent, name: status.name }
  // On Windows the parent's id stays after it has ended.
  return sendSignal(parent, 0) ? { pid: parent, name: null } : null
}
