/** `svc start` as a real process on files in memory, whose calls can fail. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Running, spawnSvc } from '#tests/cli/process.ts'
import type { Result } from '#tests/cli/test-cli.ts'
import { type Control, createControl } from './control.ts'
import { memoryFolder, shimEnvironment } from './shim.ts'

export interface Place extends Disposable {
  readonly folder: string
  readonly control: Control
  /** Starts svc under the shim, in this place. */
  svc(args: readonly string[]): Running
  /** Starts a sandbox. Resolves to how it ended when it does not start. */
  start(): Promise<StartedSandbox | Result>
}

export interface StartedSandbox {
  readonly url: string
  /** Resolves when it ends by itself, or was killed. */
  readonly ended: Promise<Result>
  stop(): Promise<Result>
  kill(): Promise<Result>
}

export function createPlace(): Place {
  const folder = realpathSync(mkdtempSync(join(memoryFolder, 'svc-disk-')))
  const control = createControl(`${folder}.control`)
  const environment = { SVC_HOME: `${folder}.home`, ...shimEnvironment({ folder, control: control.path }) }
  const svc = (args: readonly string[]) => spawnSvc(args, environment)

  return {
    ...{ folder, control, svc, start },
    [Symbol.dispose]() {
      control[Symbol.dispose]()
      for (const path of [folder, `${folder}.control`, `${folder}.home`]) rmSync(path, { recursive: true, force: true })
    },
  }

  async function start(): Promise<StartedSandbox | Result> {
    const database = join(folder, 'sandbox.db')
    const { child, ended } = svc(['start', '--db', database, '--port', '0', '--rate-limit', 'off'])
    const started = new Promise<string>((resolve) => {
      let text = ''
      child.stdout?.on('data', (chunk: Buffer) => {
        text += chunk.toString()
        const url = /http:\/\/[\w.]+:\d+/.exec(text)?.[0]
        if (url !== undefined) resolve(url)
      })
    })
    const first = await Promise.race([started, ended])
    if (typeof first !== 'string') return first
    const url = first
    const end = (signal: NodeJS.Signals) => () => {
      child.kill(signal)
      return ended
    }
    return { url, ended, stop: end('SIGTERM'), kill: end('SIGKILL') }
  }
}

export function isStarted(start: StartedSandbox | Result): start is StartedSandbox {
  return 'url' in start
}

/** Returns what is wrong with the end of a process that a fault has met: it has to say what to do. */
export function judgeEnd({ code, stderr }: Result): string | null {
  if (code === 2 && /error: .{10,}\n(.*\n)*hint: .{10,}/.test(stderr)) return null
  return `it ends with ${code}: ${stderr.slice(0, 600)}`
}
