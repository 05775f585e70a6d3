/** Starts the runner and exchanges messages with it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import type { SandboxOptions } from '#sandbox/index.ts'
import type { Pauses } from '#tests/pauses/watch.ts'
import type { Message } from './runner.ts'

export interface Child {
  readonly url: string
  readonly pid: number
  /** Those of its start. */
  readonly warnings: string[]
  /** The failures that the sandbox has reported so far. */
  readonly reports: string[]
  /** Resident memory now, bytes. */
  memory(): Promise<number>
  /** Bytes of live objects and resident memory, after everything else has been collected and its pages given back. */
  collected(): Promise<{ heap_bytes: number; rss_bytes: number }>
  /** The longest pauses of its event loop since the last call, or since its start. */
  pauses(): Promise<Pauses>
  /** Kills the process and waits until it has ended. */
  kill(): Promise<void>
  /** Stops the sandbox in order; resolves with the exit code. */
  close(): Promise<number | null>
}

export interface ChildOptions {
  /** Most bytes that a file of the process may grow to. */
  file_limit_bytes?: number
  /** A directory over which a file system of 6 MB is mounted, for this process only. Any Linux user may do that. */
  small_disk?: string
}

/** Resolves when the sandbox is ready. Rejects with its error when it cannot start. */
export async function startChild(options: Omit<SandboxOptions, 'report' | 'clock'>, limits: ChildOptions = {}) {
  const runner = [join(import.meta.dirname, 'runner.ts'), JSON.stringify(options)]
  const process_ = spawn(...commandOf(runner, limits), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const reports: string[] = []
  const exited = new Promise<number | null>((resolve) => process_.once('exit', resolve))
  process_.on('message', (message: Message) => {
    if (message.kind === 'report') reports.push(message.text)
  })
  const first = await Promise.race([answerOf(process_, ['ready', 'failed']), exited])
  if (typeof first !== 'object' || first === null)
    throw new Error(`The runner ended with ${first} before it was ready.`)
  if (first.kind === 'failed') throw Object.assign(new Error(first.message), { code: first.code, hint: first.hint })
  if (first.kind !== 'ready') throw new Error(`The runner said ${first.kind}.`)
  const ask = async <Kind extends 'memory' | 'pauses'>(kind: Kind, question: string = kind) => {
    const answer = Promise.race([answerOf(process_, [kind]), exited])
    process_.send(question)
    const message = await answer
    if (typeof message !== 'object' || message === null) throw new Error(`The runner ended with ${message}.`)
    return message as Extract<Message, { kind: Kind }>
  }
  const child: Child = {
    url: first.url,
    pid: first.pid,
    warnings: first.warnings,
    reports,
    memory: async () => (await ask('memory')).rss_bytes,
    collected: () => ask('memory', 'collect'),
    pauses: () => ask('pauses'),
    async kill() {
      process_.kill('SIGKILL')
      await exited
    },
    close() {
      if (process_.connected) process_.send('close')
      return exited
    },
  }
  return child
}

function commandOf(runner: string[], { file_limit_bytes, small_disk }: ChildOptions): [string, string[]] {
  if (small_disk !== undefined) {
    const script = 'mount -t tmpfs -o size=6m tmpfs "$0" && exec "$@"'
    return ['unshare', ['-Urm', 'sh', '-c', script, small_disk, process.execPath, ...runner]]
  }
  if (file_limit_bytes === undefined) return [process.execPath, runner]
  const blocks = Math.floor(file_limit_bytes / 512)
  return ['sh', ['-c', `ulimit -S -f ${blocks}; exec "$0" "$@"`, process.execPath, ...runner]]
}

function answerOf(process_: ChildProcess, kinds: Message['kind'][]): Promise<Message> {
  return new Promise((resolve) => {
    const listen = (message: Message) => {
      if (!kinds.includes(message.kind)) return
      process_.off('message', listen)
      resolve(message)
    }
    process_.on('message', listen)
  })
}
