/** Runs svc, and other programs, on another computer. What they print goes to files: Wine loses pipes of programs that end. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { inject } from 'vitest'
import { environment } from '../templates/run.ts'
import { temporaryDirectory } from '../temporary.ts'
import { imitatedComputers, type OtherComputer } from './computers.ts'

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

export interface Ready {
  url: string
  pid: number
  database: string
}

/** The program that svc is, in the project. */
export const svcFile = 'node_modules/svc-sandbox/bin/svc.js'
const longest_ms = 120_000

/** One computer of another kind, with a home of its own. */
export class Computer {
  readonly #computer: OtherComputer
  readonly node: string
  readonly project = inject('project')
  readonly #outputs = temporaryDirectory()
  #count = 0

  constructor(name: OtherComputer['name']) {
    this.#computer = imitatedComputers().find((computer) => computer.name === name)!
    this.node = join(inject('nodes'), this.#computer.node)
  }

  /** Runs svc, and waits until it has ended. */
  svc(args: readonly string[], env: Record<string, string> = {}, cwd = this.project): Promise<Ended> {
    return this.run([this.node, join(this.project, svcFile), ...args], env, cwd)
  }

  /** Runs a program, and waits until it has ended. */
  async run(words: readonly string[], env: Record<string, string> = {}, cwd = this.project): Promise<Ended> {
    const { child, read } = this.#start(words, env, cwd)
    const timer = setTimeout(() => child.kill('SIGKILL'), longest_ms)
    const [code] = (await once(child, 'exit')) as [number | null]
    clearTimeout(timer)
    return { code, ...read() }
  }

  /** Starts a sandbox. Resolves when it is ready; `ended` when its process has ended by itself. */
  async start(args: readonly string[]): Promise<{ ready: Ready; ended: Promise<Ended>; kill: () => void }> {
    const words = [this.node, join(this.project, svcFile), 'start', '--port', '0', '-o', 'json', ...args]
    const { child, read } = this.#start(words, {}, this.project)
    const ended = once(child, 'exit').then(([code]) => ({ code: code as number | null, ...read() }))
    const kill = () => void child.kill('SIGKILL')
    const deadline = AbortSignal.timeout(longest_ms)
    while (!read().stdout.includes('\n')) {
      if (child.exitCode !== null || deadline.aborted) {
        kill()
        throw new Error(`svc start was not ready: ${JSON.stringify(read())}`)
      }
      await sleep(100)
    }
    return { ready: JSON.parse(read().stdout.split('\n')[0]!) as Ready, ended, kill }
  }

  #start(words: readonly string[], env: Record<string, string>, cwd: string) {
    const [stdout, stderr] = ['stdout', 'stderr'].map((name) => join(this.#outputs, `${name}-${this.#count}`)) as [
      string,
      string,
    ]
    this.#count++
    const files = [openSync(stdout, 'w'), openSync(stderr, 'w')]
    const child: ChildProcess = spawn(this.#computer.runner, words, {
      cwd,
      env: { ...environment(), ...this.#computer.env, ...this.#home(), ...env },
      stdio: ['ignore', files[0], files[1]],
    })
    for (const file of files) closeSync(file)
    return { child, read: () => ({ stdout: readFileSync(stdout, 'utf8'), stderr: readFileSync(stderr, 'utf8') }) }
  }

  /** On Windows the state is in the profile of its user, on the disk of the run. */
  #home(): Record<string, string> {
    return this.#computer.name === 'windows'
      ? { WINEPREFIX: inject('disk') }
      : { SVC_HOME: join(this.#outputs, 'home') }
  }
}
