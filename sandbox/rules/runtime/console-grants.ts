/**
 * Grants of the console on a page (A114): a page asks, you confirm in the inspector, and the page claims a token, once,
 * with the secret of its ask. A grant is good on the origin that asked for it. Grants are in memory only, where a
 * restart ends them, and of secrets and tokens only hashes.
 */
import { encodeInteger } from '#contract/ids.ts'
import type { ConsoleAsk, ConsoleClaim, ConsoleGrant } from '#contract/resources/sandbox/console.ts'
import { isLoopback } from '#foundation/http.ts'
import type { Platform } from '#platform/platform.ts'

export interface ConsoleGrants {
  /**
   * Returns a new ask with its secret; null when too many of the client wait for an answer.
   * @param client the address that the ask comes from, which one of this computer shares with no other; an origin can be made up
   */
  ask(origin: string, client: string): Omit<ConsoleAsk, 'confirm_url'> | null
  /** Returns the status of an ask to the page that has its secret, and its token once. */
  claim(origin: string, grant_id: string, secret: string): ConsoleClaim
  /** Returns the confirmed grant of a token; null when it is unknown, expired or revoked. */
  find(token: string): ConsoleGrant | null
  /** Newest first. */
  list(): ConsoleGrant[]
  /** Returns the confirmed grant; null when it is unknown, expired or refused. */
  confirm(grant_id: string): ConsoleGrant | null
  /** Returns the refused or revoked grant; null when it is unknown or expired. */
  revoke(grant_id: string): ConsoleGrant | null
  /** Ends every grant, when the state is replaced. */
  clear(): void
}

interface StoredGrant {
  grant: ConsoleGrant
  client: string
  secret_hash: Uint8Array
  /** Null until the token is claimed. */
  token_hash: Uint8Array | null
}

const askTtlMs = 600_000
const grantTtlMs = 3_600_000
/** Asks that wait for an answer: of a page, of a client, and of all clients on other computers. */
const maxAsksOfOrigin = 5
const maxAsks = 20
const maxAsksFromElsewhere = 100
const codes = 10_000

interface GrantServices {
  platform: Pick<Platform, 'newId' | 'sha256' | 'equals'>
  /** Returns the time of the host: the sandbox clock can be moved, by a grant too. */
  now(): number
  /** Returns the text of a new secret: random even when everything else has a seed. */
  newToken(): string
}

export function createConsoleGrants(options: GrantServices): ConsoleGrants {
  const { platform, now, newToken } = options
  const stored = unexpiredGrants(now)

  return {
    ask(origin, client) {
      if (!mayAsk(stored.list(), origin, client)) return null
      const secret = newToken()
      const grant = createAsk(options, origin)
      const { grant_id, code, expires_at_ms } = grant
      stored.add({ grant, client, secret_hash: platform.sha256(secret), token_hash: null })
      return { grant_id, code, secret, expires_at_ms }
    },
    claim(origin, grant_id, secret) {
      const found = stored.find(grant_id)
      const isOwn = found?.grant.origin === origin && platform.equals(platform.sha256(secret), found.secret_hash)
      if (found === null || !isOwn) return { status: 'expired' }
      const { grant } = found
      if (grant.status !== 'confirmed' || grant.is_claimed) return { status: grant.status }
      const token = newToken()
      found.token_hash = platform.sha256(token)
      grant.is_claimed = true
      return { status: 'confirmed', token }
    },
    find(token) {
      const hash = platform.sha256(token)
      const isOwn = ({ token_hash }: StoredGrant) => token_hash !== null && platform.equals(hash, token_hash)
      const found = stored.list().find(isOwn)
      return found === undefined ? null : { ...found.grant }
    },
    list: () =>
      stored
        .list()
        .map(({ grant }) => ({ ...grant }))
        .reverse(),
    confirm(grant_id) {
      const { grant = null } = stored.find(grant_id) ?? {}
      if (grant === null || grant.status === 'refused') return null
      if (grant.status === 'waiting') {
        grant.status = 'confirmed'
        grant.expires_at_ms = now() + grantTtlMs
      }
      return { ...grant }
    },
    revoke(grant_id) {
      const found = stored.find(grant_id)
      if (found === null) return null
      found.grant.status = 'refused'
      found.token_hash = null
      return { ...found.grant }
    },
    clear: stored.clear,
  }
}

/** The grants in memory, without those that have expired. */
function unexpiredGrants(now: () => number) {
  const stored = new Map<string, StoredGrant>()

  return {
    add: (added: StoredGrant) => void stored.set(added.grant.grant_id, added),
    find: (grant_id: string): StoredGrant | null => unexpired().get(grant_id) ?? null,
    list: (): StoredGrant[] => [...unexpired().values()],
    clear: () => stored.clear(),
  }

  function unexpired() {
    for (const [grant_id, { grant }] of stored) if (grant.expires_at_ms <= now()) stored.delete(grant_id)
    return stored
  }
}

/** Whether a page of the origin may ask once more. No other client can use up what one has, and none what this computer has. */
function mayAsk(stored: readonly StoredGrant[], origin: string, client: string): boolean {
  const waiting = stored.filter(({ grant }) => grant.status === 'waiting')
  const own = waiting.filter((each) => each.client === client)
  const ofOrigin = own.filter(({ grant }) => grant.origin === origin)
  const elsewhere = waiting.filter((each) => !isLoopback(each.client))
  const hasRoom = isLoopback(client) || elsewhere.length < maxAsksFromElsewhere
  return ofOrigin.length < maxAsksOfOrigin && own.length < maxAsks && hasRoom
}

/** Returns a new ask, with four digits that no page can predict. */
function createAsk({ platform, now, newToken }: GrantServices, origin: string): ConsoleGrant {
  const asked_at_ms = now()
  return {
    grant_id: `grant_${encodeInteger(platform.newId())}`,
    origin,
    code: String(platform.sha256(newToken()).readUInt32BE() % codes).padStart(4, '0'),
    status: 'waiting',
    is_claimed: false,
    asked_at_ms,
    expires_at_ms: asked_at_ms + askTtlMs,
  }
}
