/** Programs of a task or an agent: run to their end, or served, within limits of time and output. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { listeningPort } from '#foundation/http.ts'
import { canConfine, confinedWords, end, endLeftProcesses, runVariable } from './confine.ts'

export interface Limits {
  time_ms: number
  /** Of standard output and standard error together. */
  output_bytes: number
}

export interface Ended {
  /** Null when it was ended. */
  code: number | null
  /** `limit: time`, `limit: output`, or null when it ended by itself. */
  limit: 'time' | 'output' | null
  /** The last of what it printed. */
  output: string
}

export interface ProgramOptions {
  directory: string
  env?: Readonly<Record<string, string>>
  /** Default: whether this computer can. */
  isConfined?: boolean
}

const keptOutput = 8_000

interface Started {
  child: ChildProcess
  /** The last of what it printed. */
  output(): string
  /** Ends it with everything that it has started, and removes its private folders. */
  close(): Promise<void>
}

/** Runs a program to its end. */
export async function runProgram(words: readonly string[], options: ProgramOptions & Limits): Promise<Ended> {
  let limit: Ended['limit'] = null
  const stop = (reason: 'time' | 'output') => {
    limit ??= reason
    if (started.child.pid !== undefined) end(-started.child.pid)
  }
  const started = start(words, options, { most: options.output_bytes, onMost: () => stop('output') })
  const timer = setTimeout(stop, options.time_ms, 'time')
  try {
    // Not `close`: a process that it left may hold its output open.
    const [code] = (await once(started.child, 'exit')) as [number | null]
    return { code: limit === null ? code : null, limit, output: started.output() }
  } finally {
    clearTimeout(timer)
    await started.close()
  }
}

export interface Served extends AsyncDisposable {
  url: string
}

/**
 * Starts a server, with a free PORT in its environment.
 * @throws Error with what it printed, when it does not respond in time
 */
export async function serveProgram(
  words: readonly string[],
  options: ProgramOptions,
  patience_ms: number,
): Promise<Served> {
  const port = await freePort()
  const { child, output, close } = start(words, { ...options, env: { ...options.env, PORT: `${port}` } })
  const url = `http://localhost:${port}`
  const until = performance.now() + patience_ms
  while (!(await responds(port))) {
    const isOver = performance.now() > until
    if (!isOver && child.exitCode === null && child.signalCode === null) continue
    await close()
    throw new Error(`${words.join(' ')} ${isOver ? 'did not respond in time' : 'ended'}: ${output().trim()}`)
  }
  return { url, [Symbol.asyncDispose]: close }
}

/** Nothing of this computer's environment but what finds programs: no key of its user. */
function start(
  words: readonly string[],
  { directory, env = {}, isConfined = canConfine() }: ProgramOptions,
  { most, onMost }: { most: number; onMost: () => void } = { most: Number.POSITIVE_INFINITY, onMost: () => {} },
): Started {
  const run = randomBytes(8).toString('hex')
  const own = mkdtempSync(join(tmpdir(), 'evals-own-'))
  const [home, temporary] = [join(own, 'home'), join(own, 'tmp')]
  for (const folder of [home, temporary]) mkdirSync(folder)
  const [name = '', ...args] = isConfined ? confinedWords(words, [directory, own]) : words
  const path = [dirname(process.execPath), process.env.PATH ?? ''].join(delimiter)
  const child = spawn(name, args, {
    cwd: directory,
    env: { PATH: path, HOME: home, TMPDIR: temporary, LANG: 'C.UTF-8', ...env, [runVariable]: run },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  let kept = ''
  let bytes = 0
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > most) onMost()
      kept = (kept + chunk.toString('utf8', Math.max(0, chunk.length - keptOutput))).slice(-keptOutput)
    })
  }
  // A program that is not there ends at once.
  child.on('error', (error) => {
    kept += error.message
    child.emit('exit', 127)
  })
  const close = async () => {
    if (child.pid !== undefined) end(-child.pid)
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    if (!isConfined) endLeftProcesses(run)
    child.stdout.destroy()
    child.stderr.destroy()
    rmSync(own, { recursive: true, force: true, maxRetries: 5 })
  }
  return { child, output: () => kept, close }
}

/** A connection, not a request: a project may take any request for a turn. */
async function responds(port: number): Promise<boolean> {
  const socket = connect({ port, host: 'localhost' })
  const isOpen = await Promise.race([
    once(socket, 'connect').then(() => true),
    once(socket, 'error').then(() => false),
  ]).catch(() => false)
  socket.destroy()
  if (!isOpen) await sleep(25)
  return isOpen
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const port = listeningPort(server)
  server.close()
  await once(server, 'close')
  return port
}
