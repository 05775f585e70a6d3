/**
 * Beacons as they arrive over the event stream, and the reconnecting that every command that follows a sandbox shares.
 * The stream resumes after the last event seen. A restarted in-memory sandbox counts from one again, so it is followed
 * from its beginning.
 */

import { setTimeout as wait } from 'node:timers/promises'
import type { CommandContext } from '#cli/run/command.ts'
import { serviceClient } from '#cli/run/command-client.ts'
import { chooseSandbox, findRoot } from '#cli/settings/sandbox-folder.ts'
import { runningSandboxes, stateDirectory } from '#cli/settings/state-directory.ts'
import type { Client } from '#client/client.ts'
import { UnreachableError } from '#client/errors.ts'
import { BeaconItem } from '#contract/resources/beacons.ts'
import type { SandboxEvent } from '#contract/resources/events.ts'
import type { SandboxInfo } from '#contract/resources/sandbox/sandbox.ts'
import { type Since, sinceMs } from '#foundation/duration.ts'
import { readMessage } from '#foundation/system-error.ts'

/** A beacon with its place in the sequence of events, which keeps growing when a sandbox counts from one again. */
export type TailBeacon = BeaconItem & { seq: number }

export type FeedMessage =
  | Interruption
  /** `is_live` is false for a beacon from before the connection. */
  | { kind: 'item'; item: TailBeacon; is_live: boolean }

/** Messages between the items that are followed. */
export type Interruption =
  | { kind: 'connected'; info: SandboxInfo; is_again: boolean; is_new_history: boolean }
  | { kind: 'lost'; reason: string }
  /** The sandbox was reset: what was followed is gone. */
  | { kind: 'reset' }
  /** Items are missing here: the sandbox keeps a limited number of events and has dropped them. */
  | { kind: 'gap' }

export interface FeedOptions {
  /** Returns the client for the next connection: a restarted sandbox may have another address. */
  connect(): Promise<Client>
  /** The filters of the stream itself. */
  query: { client_id?: string | undefined; slot_id?: string | undefined }
  /** Where to start, on the sandbox's clock; null for now. */
  since: Since | null
  signal: AbortSignal
}

/** Follows beacons until `signal` aborts, and throws its reason. See `follow` for failures. */
export function followBeacons({ connect, query, since, signal }: FeedOptions): AsyncGenerator<FeedMessage> {
  /** Sequence numbers of earlier histories, and the last one of this history. */
  let earlier_seq = 0
  let last_seq: number | null = null
  let from_ms: number | null = null
  return follow({ connect, signal }, async (connection) => {
    const { is_new_history } = connection
    const { now_ms } = connection.info.clock
    if (is_new_history) {
      earlier_seq += last_seq ?? 0
      from_ms = 0
      last_seq = 0
    }
    from_ms ??= since === null ? now_ms : sinceMs(since, now_ms)
    const start_ms = from_ms
    return whenOpen((onOpen) => read(connection, start_ms, onOpen))
  })

  async function* read(
    { client, info, is_again }: Connection,
    from_ms: number,
    onOpen: () => void,
  ): AsyncGenerator<FeedMessage, void> {
    // On the first connection the dropped events may be older than `from_ms`: the next event shows it.
    let isGap = false
    const start =
      last_seq !== null
        ? { since_seq: last_seq }
        : since === null && !is_again
          ? {}
          : { since: String(Math.max(0, from_ms)) }
    if (last_seq === 0) last_seq = null
    const selected = { ...query, ...start, type: 'beacon.*,sandbox.reset' }
    const events = client.events.stream({ query: selected }, { signal, onOpen })
    for await (const event of events) {
      last_seq = event.seq
      const isDropped = event.type === 'events.dropped'
      if (isDropped) isGap = true
      else if (event.at_ms < from_ms) {
        isGap = false
        continue
      }
      if (isGap && (is_again || !isDropped)) {
        yield { kind: 'gap' }
        isGap = false
      }
      if (isDropped) continue
      const message = toMessage(event, earlier_seq, is_again || event.at_ms >= info.clock.now_ms)
      if (message !== null) yield message
    }
  }
}

/**
 * Resolves to the items of `read` when its stream is open, or has ended. Beacons may be sent as soon as the feed says
 * that it is connected, but a stream that starts now has only the events after it was opened.
 */
async function whenOpen<Item>(
  read: (onOpen: () => void) => AsyncGenerator<Item, void>,
): Promise<AsyncGenerator<Item, void>> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const items = read(resolve)
  const first = items.next()
  await Promise.race([promise, first])
  return (async function* () {
    const { done, value } = await first
    if (done === true) return
    yield value
    yield* items
  })()
}

/** Returns null for an event whose beacon was removed by a reset. */
function toMessage(event: SandboxEvent, earlier_seq: number, is_live: boolean): FeedMessage | null {
  if (event.type === 'sandbox.reset') return { kind: 'reset' }
  const item = BeaconItem.safeParse(event.data)
  return item.success ? { kind: 'item', item: { ...item.data, seq: earlier_seq + event.seq }, is_live } : null
}

const firstPauseMs = 250
const maxPauseMs = 2_000

interface Connection {
  client: Client
  info: SandboxInfo
  /** Whether there was a connection before. */
  is_again: boolean
  /** Whether another database, or a new one in memory, has replaced the previous one. */
  is_new_history: boolean
}

/**
 * Yields the items of `open` for one connection after another, with what happens in between. The failures of the first
 * connection and of its `open` are thrown; later ones become messages. Ends only when its signal aborts, and throws the
 * reason.
 */
export async function* follow<Item>(
  { connect, signal }: Pick<FeedOptions, 'connect' | 'signal'>,
  open: (connection: Connection) => Promise<AsyncIterable<Item>>,
): AsyncGenerator<Interruption | Item, never> {
  let before = null as SandboxInfo | null
  let pause_ms = firstPauseMs
  for (;;) {
    try {
      const client = await connect()
      const info: SandboxInfo = await client.sandbox.info({}, { signal })
      const is_again = before !== null
      const is_new_history = before !== null && isOther(before, info)
      const items = await open({ client, info, is_again, is_new_history })
      yield { kind: 'connected', info, is_again, is_new_history }
      before = info
      pause_ms = firstPauseMs
      yield* items
      signal.throwIfAborted()
      yield { kind: 'lost', reason: 'the sandbox closed the connection' }
    } catch (error) {
      signal.throwIfAborted()
      // Another connection does not fix a response that cannot be processed.
      if (before === null || error instanceof TypeError || error instanceof RangeError) throw error
      if (pause_ms === firstPauseMs || !(error instanceof UnreachableError)) {
        yield { kind: 'lost', reason: readMessage(error) }
      }
    }
    await wait(pause_ms, undefined, { signal }).catch(() => signal.throwIfAborted())
    pause_ms = Math.min(pause_ms * 2, maxPauseMs)
  }
}

/** Whether the history is a different one: another database, or memory lost with its process. */
function isOther(before: SandboxInfo, now: SandboxInfo): boolean {
  return before.database !== now.database || (now.database === ':memory:' && before.pid !== now.pid)
}

/**
 * Returns the client of the service; for the running sandbox the current one, because a restart may change its address.
 */
export async function connect({ system, settings, client }: CommandContext): Promise<Client> {
  if (settings.source.base_url !== 'sandbox') return client()
  const running = await runningSandboxes(stateDirectory(system), system)
  const same = running.find(({ url }) => url === settings.base_url)
  const sandbox = same ?? chooseSandbox(running, findRoot(system.cwd)).sandbox
  if (sandbox === null || sandbox.url === settings.base_url) return client()
  return serviceClient(system, { ...settings, base_url: sandbox.url, sandbox })
}

/** Returns an interruption in words; null for the first connection. */
export function describeInterruption(message: Exclude<Interruption, { kind: 'connected' }>): string
export function describeInterruption(message: Interruption): string | null
export function describeInterruption(message: Interruption): string | null {
  switch (message.kind) {
    case 'connected':
      if (!message.is_again) return null
      return `Reconnected to ${message.info.url}${message.is_new_history ? ', which has started from scratch' : ''}.`
    case 'lost':
      return `Connection lost: ${message.reason}`
    case 'reset':
      return 'The sandbox was reset.'
    case 'gap':
      return 'Some are missing here: the sandbox keeps only its newest events and has dropped them.'
  }
}
