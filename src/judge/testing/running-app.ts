/** The app under test of `svc-sandbox/playwright`: started on a free port, and ended with everything that it has started. */

import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { fetchText } from '#client/node-fetch.ts'
import { listeningPort } from '#foundation/http.ts'
import { endTree, startShellLine } from '#foundation/programs.ts'
import { eventually } from './test-sandbox.ts'

export interface SandboxApp {
  /** A command line for the shell: `node server.js`. It gets PORT and the SVC_* variables of the sandbox. */
  command: string
  /** Further variables. */
  env?: Readonly<Record<string, string>>
  /** Default: the current directory. */
  cwd?: string
  /** Where it responds, with PORT in place of the port that it gets. Default: `http://localhost:PORT`. */
  url?: string
  /** Longest time until it responds, milliseconds. Default: 30 s. */
  timeout?: number
}

/** An app that responds. */
export interface RunningApp {
  url: string
  close(): Promise<void>
}

const defaultTimeoutMs = 30_000
/** How long it may take to exit on its own. */
const endTimeoutMs = 5_000
const outputKept = 4_000

/**
 * Starts an app on a free port and waits until it responds.
 * @throws Error with its output, when it exits or does not respond in time
 */
export async function startApp(
  app: SandboxApp,
  env: Readonly<Record<string, string | undefined>>,
  platform: string = process.platform,
): Promise<RunningApp> {
  const { command, cwd, url: address = 'http://localhost:PORT', timeout = defaultTimeoutMs } = app
  const port = String(await freePort())
  const url = address.replace('PORT', port)
  const isGrouped = platform !== 'win32'
  const variables = { ...env, PORT: port, ...app.env }
  const child = startShellLine(command, {
    cwd,
    env: variables,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: isGrouped,
  })
  let output = ''
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-outputKept)
    })
  }
  const ended = once(child, 'exit')
  const end = (signal: 'SIGTERM' | 'SIGKILL') => endApp(child, signal, isGrouped ? null : variables)
  const onExit = () => end('SIGKILL')
  process.once('exit', onExit)
  const close = async () => {
    process.off('exit', onExit)
    if (isRunning(child)) {
      end('SIGTERM')
      if (!(await eventually(async () => !isRunning(child), endTimeoutMs))) end('SIGKILL')
      await ended
    }
    child.stdout?.destroy()
    child.stderr?.destroy()
  }
  let isReady = false
  await eventually(async () => {
    isReady = await responds(url)
    return isReady || !isRunning(child)
  }, timeout)
  if (isReady) return { url, close }
  const what = isRunning(child)
    ? `did not respond at ${url} within ${timeout} ms`
    : `exited before it responded at ${url}`
  await close()
  throw new Error(`The app under test (${command}) ${what}. It printed:\n${output.trim() || '(nothing)'}`)
}

/** Any response will do: an app may have no page at `/`. */
async function responds(url: string): Promise<boolean> {
  return fetchText(url, { redirect: 'manual' }).then(
    () => true,
    () => false,
  )
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null
}

/**
 * Ends a program and its child processes: its group, or on Windows, where `env` is given, its tree. There the program is
 * cmd.exe, and only force ends it.
 */
function endApp(
  { pid }: ChildProcess,
  signal: 'SIGTERM' | 'SIGKILL',
  env: Readonly<Record<string, string | undefined>> | null,
): void {
  if (pid === undefined) return
  try {
    if (env === null) process.kill(-pid, signal)
    else endTree(pid, env)
  } catch {
    // It has already exited.
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const port = listeningPort(server)
  server.close()
  await once(server, 'close')
  return port
}
