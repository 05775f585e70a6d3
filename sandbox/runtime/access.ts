/**
 * Credentials that the sandbox issues itself: tokens for the control plane, tickets for decision sockets.
 *
 * Who may use the control plane (A97): the token of this start, which is in memory only, and named tokens, whose
 * hashes are in the store. Each request asks the store, so that a revoked token is refused at once, on every node.
 */
import type { Role } from '#contract/endpoint.ts'
import { encodeInteger } from '#contract/ids.ts'
import type { Platform } from '#platform/platform.ts'
import type { AccessStore, AuditRow, SharedStore, TokenRow } from '#store/nodes.ts'

/** Who sends a request to the control plane. */
export interface TokenHolder {
  /** The name of the token; `start` for the token of this start. */
  name: string
  role: Role
  /** The token itself: pages of the control plane call it with the token that opened them. */
  text: string
}

export interface Access {
  /** The token of this start, with every role. */
  readonly start_token: string
  /** Resolves to the holder of a token; null when it is unknown or revoked. */
  find(text: string): Promise<TokenHolder | null>
  list(): Promise<TokenRow[]>
  /** Creates a token and resolves to it and its text; null when the name is taken. */
  create(name: string, role: Role): Promise<{ row: TokenRow; text: string } | null>
  /** Creates the token `admin` when there is no token yet, not even a revoked one; null otherwise. */
  createFirst(): Promise<string | null>
  revoke(name: string): Promise<TokenRow | null>
  /** Appends to the audit list: who did what. Never fails. */
  note(entry: Pick<AuditRow, 'token' | 'action' | 'path' | 'status' | 'reason_code'>): Promise<void>
}

/** The name that the token of a start has in the audit list. No token can be created under it. */
export const startName = 'start'
const firstName = 'admin'

export function createAccess(options: {
  store: { access: AccessStore; shared: { namespace: string } | null }
  platform: Platform
  /** Returns the text of a new token: random even when everything else has a seed. */
  newToken(): string
  /** Called when the audit list cannot be written. */
  report(error: unknown): void
}): Access {
  const { platform, newToken, report } = options
  const { access, shared } = options.store
  const namespace = shared?.namespace ?? null
  const start_token = newToken()
  /** The time of the host: tokens are not part of the state, whose clock can be moved. */
  const hostNow = () => platform.clock.now() - platform.clock.offset_ms

  const create = async (name: string, role: Role) => {
    const text = newToken()
    const token = { name, role, created_at_ms: hostNow(), revoked_at_ms: null }
    const row = name === startName ? null : await access.insertToken(token, platform.sha256(text))
    return row === null ? null : { row, text }
  }

  return {
    start_token,
    async find(text) {
      if (text === start_token) return { name: startName, role: 'admin', text }
      const row = text.startsWith('sbx_') ? await access.findToken(platform.sha256(text)) : null
      return row === null || row.revoked_at_ms !== null ? null : { name: row.name, role: row.role, text }
    },
    list: () => access.listTokens(),
    create,
    async createFirst() {
      const isFirst = (await access.listTokens()).length === 0
      return isFirst ? ((await create(firstName, 'admin'))?.text ?? null) : null
    },
    revoke: (name) => access.revokeToken(name, hostNow()),
    async note(entry) {
      try {
        await access.appendAudit({ ...entry, namespace, at_ms: hostNow() })
      } catch (error) {
        report(error)
      }
    },
  }
}

/*
 * Tickets for decision sockets: a browser cannot send an Authorization header with a handshake, and a key in a URL
 * would end up in logs. A ticket is good once, for a minute of the sandbox clock, for one slot on one surface from one
 * origin. Tickets are in memory, where a restart ends them; nodes that share a store keep their hashes there, so a
 * ticket from one node opens a socket on another.
 */

/** The two families of routes that old clients call: one for servers and one for browsers. */
export type Surface = 'wrapper' | 'browser'

/** The subject of a ticket: the socket that it opens. */
interface TicketSubject {
  slot_id: number
  surface: Surface
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
   */ redeem(text: string, subject: TicketSubject, now_ms: number): Promise<Holder | null>
  /** Removes every ticket, when the state is replaced. */
  clear(): Promise<void>
}

const ticketTtl_ms = 60_000
/** Unused tickets at a time. The oldest goes first. */
const mostTickets = 10_000

export function createTickets<Holder>(newSecret: () => string): Tickets<Holder> {
  const issued = new Map<string, TicketSubject & { holder: Holder; expires_at_ms: number }>()
  return {
    async issue(subject, holder, now_ms) {
      for (const [text, { expires_at_ms }] of issued) {
        if (expires_at_ms > now_ms && issued.size < mostTickets) break
        issued.delete(text)
      }
      const text = ticketText(subject, newSecret)
      issued.set(text, { ...subject, holder, expires_at_ms: now_ms + ticketTtl_ms })
      return text
    },
    async redeem(text, { slot_id, surface, origin }, now_ms) {
      const ticket = issued.get(text)
      if (ticket === undefined || now_ms >= ticket.expires_at_ms) return null
      if (ticket.slot_id !== slot_id || ticket.surface !== surface || ticket.origin !== origin) return null
      issued.delete(text)
      return ticket.holder
    },
    clear: async () => issued.clear(),
  }
}

/** Tickets in the store. `write` and `read` turn a holder into JSON and back; `read` resolves to null when it is gone. */
export function sharedTickets<Holder>(options: {
  shared: SharedStore
  newSecret(): string
  sha256(text: string): Uint8Array
  write(holder: Holder): string
  read(text: string): Promise<Holder | null>
}): Tickets<Holder> {
  const { shared, newSecret, sha256, write, read } = options
  const textOf = ({ slot_id, surface, origin }: TicketSubject) => JSON.stringify([slot_id, surface, origin])
  return {
    async issue(subject, holder, now_ms) {
      const text = ticketText(subject, newSecret)
      const row = { hash: sha256(text), subject: textOf(subject), holder: write(holder) }
      await shared.issueTicket({ ...row, expires_at_ms: now_ms + ticketTtl_ms }, now_ms)
      return text
    },
    async redeem(text, subject, now_ms) {
      const holder = await shared.redeemTicket(sha256(text), textOf(subject), now_ms)
      return holder === null ? null : read(holder)
    },
    clear: () => shared.clearTickets(),
  }
}

function ticketText({ slot_id }: TicketSubject, newSecret: () => string): string {
  return `wst_${encodeInteger(slot_id)}_${newSecret()}`
}
