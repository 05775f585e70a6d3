/**
 * Beacons as they arrive, over the event stream, for as long as somebody listens. A lost connection is told, then sought
 * again; the stream resumes after the last event that was seen. A sandbox in memory that was restarted counts from one
 * again: it is followed from its beginning.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { Client } from '../client/client.ts'
import { UnreachableError } from '../client/errors.ts'
import { BeaconItem } from '../contract/control/beacons.ts'
import type { SandboxEvent } from '../contract/control/events.ts'
import type { SandboxInfo } from '../contract/control/sandbox.ts'
import { firstPause_ms, type Interruption, isAnother, longestPause_ms } from './follow.ts'

/** A beacon with its place in the sequence of events, which goes on growing when a sandbox counts from one again. */
export type TailBeacon = BeaconItem & { seq: number }

export type FeedMessage =
  | Interruption
  /** `is_live` is false for what had happened before the connection. */
  | { kind: 'beacon'; beacon: TailBeacon; is_live: boolean }

export interface FeedOptions {
  /** The client for the next connection: a restarted sandbox may have another address. */
  connect(): Promise<Client>
  /** What the stream itself can select. */
  query: { client_id?: string | undefined; slot_id?: string | undefined }
  /** Milliseconds back from now on the sandbox's clock, or an instant; null begins now. */
  since: Since | null
  signal: AbortSignal
}

export type Since = { span_ms: number } | { at_ms: number }

const types = 'beacon.*,sandbox.reset'

/** Throws what the first connection fails with; later failures are messages. Ends by its signal only, which it throws. */
export async function* followBeacons({ connect, query, since, signal }: FeedOptions): AsyncGenerator<FeedMessage> {
  let seen = null as Seen | null
  let pause_ms = firstPause_ms
  let earlier = 0
  for (;;) {
    try {
      const client = await connect()
      const info = await client.sandbox.info({}, { signal })
      const isNewHistory: boolean = seen !== null && isAnother(seen.info, info)
      if (isNewHistory) earlier += seen?.seq ?? 0
      const { now_ms } = info.clock
      const from_ms: number = isNewHistory ? 0 : (seen?.from_ms ?? startOf(since, now_ms))
      const seq: number | null = isNewHistory ? 0 : (seen?.seq ?? null)
      yield { kind: 'connected', info, isAgain: seen !== null, isNewHistory }
      const isAgain = seen !== null
      seen = { info, seq: seq === 0 ? null : seq, from_ms }
      pause_ms = firstPause_ms
      // At first, what is gone may be older than what is asked for: the next event tells.
      let isGap = false
      const isFromNow = since === null && !isAgain
      const begin = seq !== null ? { since_seq: seq } : isFromNow ? {} : { since: String(Math.max(0, from_ms)) }
      for await (const event of client.events.stream({ query: { ...query, ...begin, type: types } }, { signal })) {
        seen.seq = event.seq
        const isGone = event.type === 'events.dropped'
        if (isGone) isGap = true
        else if (event.at_ms < from_ms) {
          isGap = false
          continue
        }
        if (isGap && (isAgain || !isGone)) {
          yield { kind: 'gap' }
          isGap = false
        }
        if (isGone) continue
        const message = toMessage(event, earlier, isAgain || event.at_ms >= now_ms)
        if (message !== null) yield message
      }
      signal.throwIfAborted()
      yield { kind: 'lost', reason: 'the sandbox closed the connection' }
    } catch (error) {
      signal.throwIfAborted()
      if (seen === null) throw error
      if (pause_ms === firstPause_ms || !(error instanceof UnreachableError)) {
        yield { kind: 'lost', reason: error instanceof Error ? error.message : String(error) }
      }
    }
    await wait(pause_ms, undefined, { signal }).catch(() => signal.throwIfAborted())
    pause_ms = Math.min(pause_ms * 2, longestPause_ms)
  }
}

/** The last connection, and how far it came. */
interface Seen {
  info: SandboxInfo
  seq: number | null
  from_ms: number
}

const units_ms: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `10m`, or an instant in epoch milliseconds; as the contract's `Since` has checked it. */
export function parseSince(text: string): Since {
  const [, digits, unit] = /^(\d+)(ms|s|m|h|d)?$/.exec(text) ?? []
  return unit === undefined ? { at_ms: Number(digits) } : { span_ms: Number(digits) * (units_ms[unit] ?? 1) }
}

function startOf(since: Since | null, now_ms: number): number {
  if (since === null) return now_ms
  return 'at_ms' in since ? since.at_ms : now_ms - since.span_ms
}

/** null for an event whose subject a reset has taken away. */
function toMessage(event: SandboxEvent, earlier: number, is_live: boolean): FeedMessage | null {
  if (event.type === 'sandbox.reset') return { kind: 'reset' }
  const item = BeaconItem.safeParse(event.data)
  return item.success ? { kind: 'beacon', beacon: { ...item.data, seq: earlier + event.seq }, is_live } : null
}
