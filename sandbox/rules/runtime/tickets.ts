/**
 * Tickets for decision sockets: a browser cannot send an Authorization header with a handshake, and a key in a URL
 * would end up in logs. A ticket is good once, for a minute of the sandbox clock, for one slot on one side from one
 * origin. Tickets are in memory, where a restart ends them; nodes that share a store keep their hashes there, so a
 * ticket from one node opens a socket on another.
 */
import { encodeInteger } from '#contract/ids.ts'
import type { SharedStore } from '#store/nodes.ts'

/** The two families of routes that old clients call: one for servers and one for browsers. */
export type ClientSide = 'wrapper' | 'browser'

/** The subject of a ticket: the socket that it opens. */
interface TicketSubject {
  slot_id: number
  side: ClientSide
  /** The Origin header of the request that got it; null when it had none. */
  origin: string | null
}

/** `Holder`: the client that got a ticket. */
export interface Tickets<Holder> {
  /** Resolves to the text of a new ticket. */
  issue(subject: TicketSubject, holder: Holder, now_ms: number): Promise<string>
  /**
   * Uses a ticket up and resolves to its holder. Resolves to null, and changes nothing, when it is unknown, expired or
   * of another subject.
   */
  redeem(text: string, subject: TicketSubject, now_ms: number): Promise<Holder | null>
  /** Removes every ticket, when the state is replaced. */
  clear(): Promise<void>
}

const ticketTtlMs = 60_000
/** Unused tickets at a time. The oldest goes first. */
const maxTickets = 10_000

export function createTickets<Holder>(newSecret: () => string): Tickets<Holder> {
  const issued = new Map<string, TicketSubject & { holder: Holder; expires_at_ms: number }>()
  return {
    async issue(subject, holder, now_ms) {
      for (const [text, { expires_at_ms }] of issued) {
        if (expires_at_ms > now_ms && issued.size < maxTickets) break
        issued.delete(text)
      }
      const text = createTicketText(subject, newSecret)
      issued.set(text, { ...subject, holder, expires_at_ms: now_ms + ticketTtlMs })
      return text
    },
    async redeem(text, { slot_id, side, origin }, now_ms) {
      const ticket = issued.get(text)
      if (ticket === undefined || now_ms >= ticket.expires_at_ms) return null
      if (ticket.slot_id !== slot_id || ticket.side !== side || ticket.origin !== origin) return null
      issued.delete(text)
      return ticket.holder
    },
    clear: async () => issued.clear(),
  }
}

/** Tickets in the store. `write` and `read` turn a holder into JSON and back; `read` resolves to null when it is gone. */
export function createSharedTickets<Holder>(options: {
  shared: SharedStore
  newSecret(): string
  sha256(text: string): Uint8Array
  write(holder: Holder): string
  read(text: string): Promise<Holder | null>
}): Tickets<Holder> {
  const { shared, newSecret, sha256, write, read } = options
  const renderSubject = ({ slot_id, side, origin }: TicketSubject) => JSON.stringify([slot_id, side, origin])
  return {
    async issue(subject, holder, now_ms) {
      const text = createTicketText(subject, newSecret)
      const row = { hash: sha256(text), subject: renderSubject(subject), holder: write(holder) }
      await shared.issueTicket({ ...row, expires_at_ms: now_ms + ticketTtlMs }, now_ms)
      return text
    },
    async redeem(text, subject, now_ms) {
      const holder = await shared.redeemTicket(sha256(text), renderSubject(subject), now_ms)
      return holder === null ? null : read(holder)
    },
    clear: () => shared.clearTickets(),
  }
}

function createTicketText({ slot_id }: TicketSubject, newSecret: () => string): string {
  return `wst_${encodeInteger(slot_id)}_${newSecret()}`
}
