/**
 * Credentials for cases. Rate limits are per key: on a sandbox cases take turns with keys that are made for the run, so
 * that no case meets the limit because of what others sent. A service has the keys that it was given.
 */
import type { JsonValue } from '../json.ts'
import { redact } from '../run/redact.ts'
import type { Target } from './target.ts'

export interface GivenKeys {
  secret: string | null
  publishable: string | null
}

export interface KeyWish {
  client_id: string
  class: 'secret' | 'publishable'
  mode: 'test' | 'live'
}

export interface Keys {
  /** A key for one case. `client_id` null means the project of the target. Throws Error where there is none. */
  take(wish: Omit<KeyWish, 'client_id'> & { client_id: string | null }): Promise<string>
  /** Given keys that do not look like keys: results must not show them either. */
  readonly unmarked: readonly string[]
  /** Revokes what was made. */
  close(): Promise<void>
}

/** Cases that share one key: few enough that their requests stay within the burst of its limit. */
const casesPerKey: Readonly<Record<KeyWish['class'], number>> = { secret: 12, publishable: 6 }

export interface KeysOptions {
  client_id: string
  given: GivenKeys
  control: Target['control'] | null
  /** The sandbox ends with the run: its keys need not be revoked. */
  is_kept: boolean
}

export function createKeys({ client_id, given, control, is_kept }: KeysOptions): Keys {
  const rings = new Map<string, { key: Promise<string>; left: number }>()
  const made: string[] = []

  async function make(wish: KeyWish): Promise<string> {
    const { client_id, ...body } = wish
    const created = (await control!('keys.create', { client_id }, body as unknown as JsonValue)) as {
      key: string
      key_id: string
    }
    made.push(created.key_id)
    return created.key
  }

  return {
    take({ client_id: wanted, ...rest }) {
      const wish = { client_id: wanted ?? client_id, ...rest }
      if (control === null) return Promise.resolve(ofService(wish, client_id, given))
      const name = JSON.stringify(wish)
      const ring = rings.get(name)
      if (ring !== undefined && ring.left > 0) {
        ring.left--
        return ring.key
      }
      const key = make(wish)
      rings.set(name, { key, left: casesPerKey[wish.class] - 1 })
      key.catch(() => rings.delete(name))
      return key
    },
    unmarked: Object.values(given).filter((key): key is string => key !== null && redact(key) === key),
    async close() {
      if (is_kept || control === null) return
      for (const key_id of made) await control('keys.revoke', { key_id }, {})
    },
  }
}

function ofService(wish: KeyWish, client_id: string, given: GivenKeys): string {
  const key = given[wish.class]
  const isGiven = key !== null && wish.client_id === client_id && key.includes(`_${wish.mode}_`)
  if (isGiven) return key
  if (key !== null && wish.class === 'secret' && wish.mode === 'test' && wish.client_id === client_id) return key
  throw new Error(`No ${wish.mode} ${wish.class} key of ${wish.client_id} was given.`)
}
