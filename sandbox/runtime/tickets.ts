/**
 * Tickets for decision sockets: a browser cannot send an Authorization header with a handshake, and a key in a URL would
 * end up in logs. A ticket is good once, for a minute of the sandbox clock, for one slot on one surface from one origin.
 * Tickets are in memory alone: after a restart a client gets a new one.
 */
import { encodeInteger } from '../../src/contract/ids.ts'

/** The two families of routes that old clients call: those of servers and those of browsers. */
export type Surface = 'wrapper' | 'browser'

/** What a ticket is good for. */
export interface TicketSubject {
  slot_id: number
  surface: Surface
  /** The Origin header of the request that got it; null when it had none. */
  origin: string | null
}

/** `Holder`: who got a ticket. */
export interface Tickets<Holder> {
  /** Returns the text of a new ticket. */
  issue(subject: TicketSubject, holder: Holder, now_ms: number): string
  /** Uses a ticket up and returns its holder. Returns null, and changes nothing, when it is unknown, expired or of another subject. */
  redeem(text: string, subject: TicketSubject, now_ms: number): Holder | null
  /** Removes every ticket, when the state is replaced. */
  clear(): void
}

export const ticketTtl_ms = 60_000
/** Unused tickets at a time. The oldest goes first. */
const mostTickets = 10_000

export function createTickets<Holder>(newSecret: () => string): Tickets<Holder> {
  const issued = new Map<string, TicketSubject & { holder: Holder; expires_at_ms: number }>()
  return {
    issue(subject, holder, now_ms) {
      for (const [text, { expires_at_ms }] of issued) {
        if (expires_at_ms > now_ms && issued.size < mostTickets) break
        issued.delete(text)
      }
      const text = `wst_${encodeInteger(subject.slot_id)}_${newSecret()}`
      issued.set(text, { ...subject, holder, expires_at_ms: now_ms + ticketTtl_ms })
      return text
    },
    redeem(text, { slot_id, surface, origin }, now_ms) {
      const ticket = issued.get(text)
      if (ticket === undefined || now_ms >= ticket.expires_at_ms) return null
      if (ticket.slot_id !== slot_id || ticket.surface !== surface || ticket.origin !== origin) return null
      issued.delete(text)
      return ticket.holder
    },
    clear: () => issued.clear(),
  }
}
