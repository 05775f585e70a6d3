/** The app under test: a program of its own that is started with the variables of a sandbox, and ends with the tests. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { eventually } from './test-sandbox.ts'

export interface SandboxApp {
  /** A command line for the shell: `node server.js`. It gets PORT and the SVC_* variables of the sandbox. */
  command: string
  /** Further variables. */
  env?: Readonly<Record<string, string>>
  /** Default: the current directory. */
  cwd?: string
  /** Where it responds, with PORT for the port that it was given. Default: `http://localhost:PORT`. */
  url?: string
  /** Longest time until it responds, milliseconds. Default: 30 s. */
  timeout?: number
}

export interface RunningApp {
  url: string
  close(): Promise<void>
}

const defaultTimeout_ms = 30_000
/** How long it may take to end by itself. */
const endTimeout_ms = 5_000
const outputKept = 4_000

/**
 * Starts an app on a free port and waits until it responds.
 * @throws Error with what it printed, when it ends or does not respond in time
 */
export async function startApp(
  app: SandboxApp,
  env: Readonly<Record<string, string | undefined>>,
): Promise<RunningApp> {
  const { command, cwd, url: address = 'http://localhost:PORT', timeout = defaultTimeout_ms } = app
  const port = String(await freePort())
  const url = address.replace('PORT', port)
  const isGrouped = process.platform !== 'win32'
  const child = spawn(command, {
    shell: true,
    cwd,
    env: { ...env, PORT: port, ...app.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: isGrouped,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-outputKept)
    })
  }
  const ended = once(child, 'exit')
  const onExit = () => end(child, isGrouped, 'SIGKILL')
  process.once('exit', onExit)
  const close = async () => {
    process.off('exit', onExit)
    if (isRunning(child)) {
      end(child, isGrouped, 'SIGTERM')
      if (!(await eventually(async () => !isRunning(child), endTimeout_ms))) end(child, isGrouped, 'SIGKILL')
      await ended
    }
    child.stdout.destroy()
    child.stderr.destroy()
  }
  let isReady = false
  await eventually(async () => {
    isReady = await responds(url)
    return isReady || !isRunning(child)
  }, timeout)
  if (isReady) return { url, close }
  const what = isRunning(child)
    ? `did not respond at ${url} within ${timeout} ms`
    : `ended before it responded at ${url}`
  await close()
  throw new Error(`The app under test (${command}) ${what}. It printed:\n${output.trim() || '(nothing)'}`)
}

/** Any response will do: an app may have no page at `/`. */
async function responds(url: string): Promise<boolean> {
  return fetch(url, { redirect: 'manual' }).then(
    async (response) => {
      await response.body?.cancel()
      return true
    },
    () => false,
  )
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null
}

/** Ends a program and what it has started. */
function end(child: ChildProcess, isGrouped: boolean, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    if (isGrouped) process.kill(-child.pid!, signal)
    else child.kill(signal)
  } catch {
    // It has ended meanwhile.
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
