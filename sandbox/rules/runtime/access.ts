/**
 * Access to the control plane (A97): the token of this start, which is in memory only, and named tokens, whose
 * hashes are in the store. Each request asks the store, so that a revoked token is refused at once, on every node.
 */
import type { Role } from '#contract/endpoint.ts'
import type { Platform } from '#platform/platform.ts'
import type { AccessStore, AuditRow, TokenRow } from '#store/nodes.ts'

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
