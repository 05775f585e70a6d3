/** What the machine offers to the program. `main.ts` has the real one; everything below it takes what it needs from here. */
export interface Host {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly home: string
  readonly platform: string
  readonly pid: number
  /** The words that start this program again: `node .../svc.js`. */
  readonly program: readonly string[]
  /** Version of Node, without a letter before it. */
  readonly node_version: string
  readonly stdin: AsyncIterable<Uint8Array>
  /** Stops reading stdin, so that nobody waits for more of it. */
  closeInput(): void
  readonly stdout: HostStream
  readonly stderr: HostStream
  readonly stdin_is_terminal: boolean
  /** Milliseconds since the Unix epoch. */
  now(): number
  /** `length` random characters of a-z and 0-9. */
  randomText(length: number): string
  /** Calls `handler` for SIGINT, SIGTERM and SIGHUP instead of ending; the answer undoes it. */
  onSignal(handler: (signal: Signal) => void): () => void
  /** Trades a little speed for memory: for a process that stays open all day. */
  keepHeapSmall(): void
  /** Ends the process at once. For the second Ctrl-C only. */
  exitNow(code: number): void
  /** Whether a process of this id runs. */
  isRunning(pid: number): boolean
  /** The parent of a process and its name, each null where it cannot be told or is gone. */
  parentOf(pid: number): { pid: number; name: string | null } | null
  /** Asks another process to end; false when there is none. */
  terminate(pid: number): boolean
  /** Sends a signal to a process, or to a process group by its id below zero; 0 only asks. False when there is none. */
  signal(pid: number, signal: Signal | 'SIGKILL' | 0): boolean
  /** Calls `handler` when this process exits, by force too; the answer undoes it. */
  onExit(handler: () => void): () => void
}

export type Signal = 'SIGINT' | 'SIGTERM' | 'SIGHUP'

export interface HostStream {
  write(text: string): void
  readonly is_terminal: boolean
  /** Width in characters; undefined when it is not a terminal. */
  readonly columns: number | undefined
  /** Height in lines; undefined when it is not a terminal. */
  readonly rows?: number | undefined
}

/** Reads stdin to its end. */
export async function readStdin({ stdin }: Pick<Host, 'stdin'>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of stdin) chunks.push(chunk)
  return Buffer.concat(chunks)
}
