/** One connection, whose statements are prepared by name and pipelined: several are on their way without waiting. */
import { createHash } from 'node:crypto'
import type { Client, QueryResult } from 'pg'
import { isReadOnly, ServerProblem } from '../failures.ts'
import { openSession, type Server } from './session.ts'

export type Value = string | number | boolean | null | Uint8Array | readonly number[] | readonly string[]

export interface Link {
  query<Row = Record<string, never>>(text: string, values?: readonly Value[]): Promise<Row[]>
  /** Runs a statement and resolves to its command, such as COMMIT, and its number of rows. */
  run(text: string, values?: readonly Value[]): Promise<{ command: string; count: number }>
  /** Several statements without values. */
  script(text: string): Promise<void>
  readonly client: Client
  readonly server: Server
  isBroken(): boolean
  /** Resolves when the connection is lost, or is not to be used any more. */
  readonly ended: Promise<void>
  /** Ends it after the statements under way. */
  end(): void
  /** Ends it at once, whether or not the server responds: the outcome of statements under way is unknown. */
  cut(): void
  /** When the server last sent something, on the monotonic clock. */
  heardAt(): number
}

interface LinkOptions {
  /** The server, in messages. */
  label: string
  /** As SQL has it. */
  searchPath: string
  report: (error: unknown) => void
}

/** Connects, and sets the connection up. @throws ServerProblem when the server takes no writes */
export async function openLink(client: Client, { label, searchPath, report }: LinkOptions): Promise<Link> {
  const connection = followConnection(client, report)
  try {
    await client.connect()
    const server = await openSession(client, label, searchPath)
    return { ...statementMethods(client, connection), client, server, ...connection }
  } catch (error) {
    connection.end()
    throw error
  }
}

/** Whether both are to the same process of a server: the one that flushes must have what the other commits. */
export function sameServer({ server: one }: Link, { server: other }: Link): boolean {
  return one.timeline === other.timeline && one.started === other.started
}

type Followed = Pick<Link, 'isBroken' | 'ended' | 'end' | 'cut' | 'heardAt'>

function followConnection(client: Client, report: LinkOptions['report']): Followed {
  let isBroken = false
  let heard_at = performance.now()
  let resolveEnded = () => {}
  const ended = new Promise<void>((resolve) => {
    resolveEnded = resolve
  })
  // Without a listener the end of an idle connection would end the process.
  client.on('error', drop)
  client.on('end', drop)
  // Not before: over TLS the stream is another one by then.
  client.once('connect', () => {
    client.connection.stream.on('data', () => {
      heard_at = performance.now()
    })
  })

  return {
    isBroken: () => isBroken,
    ended,
    end() {
      drop()
      client.end().catch(report)
    },
    cut() {
      drop()
      client.connection.stream.destroy()
    },
    heardAt: () => heard_at,
  }

  function drop(): void {
    isBroken = true
    resolveEnded()
  }
}

/** The code of a warning without one of its own, as when the wait for a standby is cancelled. */
const plainWarning = '01000'

function statementMethods(client: Client, { cut }: Followed): Pick<Link, 'query' | 'run' | 'script'> {
  let warnings = 0
  let isHeld = false
  client.on('notice', ({ code }) => {
    if (code === plainWarning) warnings++
  })

  return {
    query: async <Row>(text: string, values: readonly Value[] = []) => (await send(text, values)).rows as Row[],
    async run(text, values = []) {
      const { command, rowCount } = await send(text, values)
      return { command, count: rowCount ?? 0 }
    },
    async script(text) {
      await client.query({ text, query_timeout: 0 } as { text: string })
    },
  }

  async function send(text: string, values: readonly Value[]): Promise<QueryResult> {
    hold()
    const before = warnings
    try {
      const result = await client.query({ name: nameStatement(text), text, values: values as unknown[] })
      // A server whose wait for its standby is cancelled reports success, with a warning.
      if (warnings > before) throw new ServerProblem('a standby has not confirmed the commit', '')
      return result
    } catch (error) {
      if (isReadOnly(error) || error instanceof ServerProblem) cut()
      throw error
    }
  }

  /** Statements sent without waiting for each other leave in one packet: a system call for each costs more. */
  function hold(): void {
    const { stream } = client.connection
    if (isHeld) return
    isHeld = true
    stream.cork()
    queueMicrotask(() => {
      isHeld = false
      stream.uncork()
    })
  }
}

const names = new Map<string, string>()

function nameStatement(text: string): string {
  let name = names.get(text)
  if (name === undefined) {
    name = createHash('sha256').update(text).digest('hex').slice(0, 16)
    names.set(text, name)
  }
  return name
}
