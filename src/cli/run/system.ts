/** The environment of the program: the computer, its own version, and how to call it again. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ownAgents } from '#contract/own-requests.ts'
import type { SystemStream } from '#text/terminal.ts'

/** The computer that the program runs on. `main.ts` has the real one; tests have their own. */
export interface System {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly home: string
  readonly platform: string
  readonly pid: number
  /** The command line that starts this program again: `node .../svc.js`. */
  readonly program: readonly string[]
  /** Version of Node, as in `26.1.0`. */
  readonly node_version: string
  readonly stdin: AsyncIterable<Uint8Array>
  /** Stops reading stdin, so that nothing waits for more of it. */
  closeInput(): void
  /**
   * Calls `handler` for each key typed on the terminal of stdin. Resolves to a function that ends it; to null, and reads
   * nothing, when this process is in the background of its terminal.
   */
  readKeys(handler: (key: string) => void): Promise<(() => void) | null>
  readonly stdout: SystemStream
  readonly stderr: SystemStream
  readonly stdin_is_terminal: boolean
  /** Milliseconds since the Unix epoch. */
  now(): number
  /** `length` random characters of a-z and 0-9. */
  randomText(length: number): string
  /**
   * Calls `handler` for SIGINT, SIGTERM and SIGHUP instead of ending, and once with SIGPIPE when the reader of stdout
   * is gone. Returns a function that undoes it.
   */
  onSignal(handler: (signal: Signal) => void): () => void
  /** Trades a little speed for memory, for a process that runs all day. */
  keepHeapSmall(): void
  /** Lets the engine optimize functions after fewer calls, for a process whose requests should be cheap early on. */
  optimizeSooner(): void
  /** Ends the process immediately. Only for the second Ctrl-C. */
  exitNow(code: number): void
  /** Where process ids of this process are valid: its boot and PID namespace. Null where the system shows none. */
  readonly pid_scope: string | null
  /** Whether a process, or a process group by its negative id, is running: one that has ended is not, reaped or not. */
  isRunning(pid: number): boolean
  /** Resolves to when a process started, as its system writes it; null when there is none, or when it is not shown. */
  readProcessStart(pid: number): Promise<string | null>
  /** Whether a sandbox responds at a URL, even one that another user started. */
  respondsAt(url: string): Promise<boolean>
  /**
   * Resolves to the program that listens at a URL of this computer and is no sandbox, with what it answers: `pid 4711 (node
   * prism), which answers GET / with 404`. Null when there is none.
   */
  describeServer(url: string): Promise<string | null>
  /** Returns the parent of a process, or null when it has ended; its name is null when the system does not show it. */
  findParent(pid: number): { pid: number; name: string | null } | null
  /** Asks another process to end. Returns false when there is none. */
  terminate(pid: number): boolean
  /** Sends a signal to a process, or to a process group by its negative id, 0 for its own. The signal 0 only checks. False when there is none. */
  signal(pid: number, signal: Signal | 'SIGKILL' | 'SIGTSTP' | 0): boolean
  /** Calls `handler` when this process exits, even by force. Returns a function that undoes it. */
  onExit(handler: () => void): () => void
}

/** SIGPIPE stands for a broken stdout, which Node reports as an error of the stream. */
export type Signal = 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'SIGPIPE'

/** Returns a system with some of its properties replaced; the others are read from it on access. */
export function withReplaced(system: System, replaced: Partial<System>): System {
  return Object.create(system, Object.getOwnPropertyDescriptors(replaced))
}

/** Reads stdin to its end. */
export async function readStdin({ stdin }: Pick<System, 'stdin'>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of stdin) chunks.push(chunk)
  return Buffer.concat(chunks)
}

declare const __SVC_VERSION__: string | undefined

/** The start of the User-Agent of `svc`: its refused requests are not a mistake of an integration. */
export const commandLineAgent = ownAgents.command_line

/**
 * Returns how to call this program again. Under npm it may not be on the path, and outside a checkout `npx svc` may
 * install a different package: `svc` is only the name of the command.
 */
export function commandName({ env, program }: Pick<System, 'env' | 'program'>): string {
  const isBinary = program.length === 1
  if (isBinary || (env.npm_execpath === undefined && env.npm_lifecycle_event === undefined)) return 'svc'
  return isCheckout() ? 'npx svc' : `${packageRunner(env)} svc-sandbox`
}

/**
 * Returns the runner that finds an installed command: npx does not when yarn keeps packages in archives, and bun can be
 * installed without npx. It never installs: on a registry, the name may be that of a stranger.
 */
function packageRunner({ NODE_OPTIONS = '', npm_config_user_agent = '' }: System['env']): string {
  if (NODE_OPTIONS.includes('.pnp.')) return 'yarn'
  return npm_config_user_agent.startsWith('bun/') ? 'bunx --no-install' : 'npx --no'
}

/** Whether this is a checkout, run from its sources or from `dist`: a package has no sources. */
function isCheckout(): boolean {
  return typeof __SVC_VERSION__ !== 'string' || existsSync(join(import.meta.dirname, '../src/main.ts'))
}
