/**
 * Data outside the state of a sandbox: who may use its control plane (`AccessStore`, in every store), and coordination
 * between several processes on one database (`SharedStore`, null in a store that one process owns). Neither is replaced
 * by a reset, a restore or an import, and neither is exported.
 */
import type { Role } from '#contract/endpoint.ts'

/* Access: tokens of the control plane, and the audit list (A97) */

/** A token; only the SHA-256 of its text is stored. Times are on the host's clock. */
export interface TokenRow {
  name: string
  role: Role
  created_at_ms: number
  revoked_at_ms: number | null
}

export interface AuditRow {
  id: number
  at_ms: number
  token: string | null
  namespace: string | null
  action: string
  path: string
  status: number
  reason_code: string | null
}

export interface AccessStore {
  /** Resolves to the token whose text has this SHA-256, revoked or not. */
  findToken(hash: Uint8Array): Promise<TokenRow | null>
  /** Newest first. */
  listTokens(): Promise<TokenRow[]>
  /** Adds a token; null when the name is taken, even by a revoked one. */
  insertToken(token: TokenRow, hash: Uint8Array): Promise<TokenRow | null>
  /** Revokes a token; the first time counts. null when there is no such token. */
  revokeToken(name: string, at_ms: number): Promise<TokenRow | null>
  /** Appends to the audit list, which keeps the newest `maxAuditEntries` entries or a few more. */
  appendAudit(entry: Omit<AuditRow, 'id'>): Promise<void>
  /** Newest first, only entries with smaller identifiers than `before`; one more than `limit` when there are more. */
  listAudit(query: { limit: number; before: number | null; token?: string | undefined }): Promise<AuditRow[]>
}

/** Entries that the audit list keeps. */
export const maxAuditEntries = 10_000

/* Nodes: the processes that serve one database */

/** A process that serves this namespace. It is alive until 10 s after its last heartbeat. */
export interface NodeRow {
  /** Part of the identifiers that it creates. */
  number: number
  url: string
  host: string
  pid: number
  version: string
  started_at_ms: number
  heartbeat_at_ms: number
  /** How far the clock of its computer is ahead of the database's, milliseconds; null when it has not said so. */
  clock_ahead_ms: number | null
}

interface NamespaceRow {
  name: string
  /** How many live nodes serve it. */
  nodes: number
}

/** Tokens that are taken from one bucket at once (A20), on the sandbox clock. */
export interface RateTake {
  /** Key and rate class. */
  bucket: string
  count: number
  per_ms: number
  burst: number
  now_ms: number
}

/** `granted` of the count were taken; `tokens` are left in the bucket. */
export interface RateTaken {
  granted: number
  tokens: number
}

/** A ticket of a decision socket; only the SHA-256 of its text is stored. `subject` and `holder` are JSON. */
interface TicketRow {
  hash: Uint8Array
  subject: string
  holder: string
  expires_at_ms: number
}

export interface SharedStore {
  readonly namespace: string
  /**
   * Whether the database responds: false from the loss of the connection, or two heartbeats without a response, until it
   * is back.
   */
  isConnected(): boolean
  /**
   * Reads what no crash and no failover of the server takes back: a commit can be read before it is on disk, and on the
   * standbys that the server waits for. Reads again when the server has changed in the meantime.
   * @throws StorageError when it changes again and again
   */
  readShowable<Found>(read: () => Promise<Found>): Promise<Found>
  /**
   * Writes the heartbeat of this node with its address, at once and from then on, until the store is closed. `systemNow`
   * is the clock of its computer, epoch milliseconds.
   */
  join(node: Pick<NodeRow, 'url' | 'version'>, systemNow: () => number): Promise<void>
  /** Resolves to the nodes of this namespace that are alive, by number. */
  nodes(): Promise<NodeRow[]>
  /** Resolves to all namespaces of the database, by name. It reads a table in each. */
  namespaces(): Promise<NamespaceRow[]>
  /** Deletes a namespace with everything in it. */
  deleteNamespace(name: string): Promise<'deleted' | 'missing' | 'in_use'>
  /** Takes tokens from buckets, one round trip for all; the results are in the order of `takes`. */
  takeRates(takes: readonly RateTake[]): Promise<RateTaken[]>
  /** Fills every bucket of this namespace. */
  clearRates(): Promise<void>
  /** Stores a ticket, and removes expired ones now and then. */
  issueTicket(ticket: TicketRow, now_ms: number): Promise<void>
  /** Removes a ticket and resolves to its holder, once; null when it is unknown, expired or for another subject. */
  redeemTicket(hash: Uint8Array, subject: string, now_ms: number): Promise<string | null>
  /** Removes every ticket of this namespace. */
  clearTickets(): Promise<void>
  /** Takes the next attempt of a callback: true for one caller, until `lease_ms` have passed or the attempt is stored. */
  claimCallback(slot_id: number, attempts: number, lease_ms: number): Promise<boolean>
}
