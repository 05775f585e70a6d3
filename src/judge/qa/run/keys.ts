/** The keys that cases of a run use. */
import type { PermittedKey } from '#client/permitted-key.ts'
import { redactSecrets } from '#foundation/redaction.ts'
import type { Control } from './control.ts'

/** The keys of the settings. */
export interface GivenKeys {
  secret: PermittedKey | null
  publishable: string | null
}

interface KeyRequest {
  client_id: string
  class: 'secret' | 'publishable'
  mode: 'test' | 'live'
}

/** Cases that share one key: few enough that their requests stay within the burst of its limit. */
const casesPerKey: Readonly<Record<KeyRequest['class'], number>> = { secret: 12, publishable: 6 }

interface KeysOptions {
  client_id: string
  given: GivenKeys
  /** Null for a service without a control plane. */
  control: Control | null
  /** The sandbox ends with the run: its keys need not be revoked. */
  is_temporary: boolean
}

/**
 * Credentials for cases. Rate limits are per key: on a sandbox cases take turns with keys that are created for the run, so
 * that no case meets the limit because of the requests of others. Another service has the keys that were given.
 */
export function createKeys({ client_id, given, control, is_temporary }: KeysOptions) {
  const shared = new Map<string, { key: Promise<string>; left: number }>()
  const created: string[] = []

  async function create({ client_id, ...body }: KeyRequest, call: Control): Promise<string> {
    const { key, key_id } = await call<{ key: string; key_id: string }>('keys.create', { client_id }, body)
    created.push(key_id)
    return key
  }

  return {
    /** Returns a key for one case. `client_id` null means the project of the target. Throws Error when there is none. */
    take({
      client_id: wanted,
      ...rest
    }: {
      client_id: string | null
      class: 'secret' | 'publishable'
      mode: 'test' | 'live'
    }): Promise<string> {
      const request = { client_id: wanted ?? client_id, ...rest }
      if (control === null) return Promise.resolve(givenKey(request, client_id, given))
      const name = JSON.stringify(request)
      const known = shared.get(name)
      if (known !== undefined && known.left > 0) {
        known.left--
        return known.key
      }
      const key = create(request, control)
      shared.set(name, { key, left: casesPerKey[request.class] - 1 })
      key.catch(() => shared.delete(name))
      return key
    },
    /** Given keys that do not look like keys: results must not show them either. */
    opaque: Object.values(given).filter((key): key is string => key !== null && redactSecrets(key) === key),
    /** Revokes the keys that were created. */
    async close() {
      if (is_temporary || control === null) return
      for (const key_id of created) await control('keys.revoke', { key_id }, {})
    },
  }
}

/** Returns the given key of a class. Throws Error when none was given, or one of another mode is wanted. */
function givenKey({ class: kind, mode, client_id }: KeyRequest, own_client_id: string, given: GivenKeys): string {
  const key = given[kind]
  const isOtherMode = kind === 'secret' && mode === 'live' && key?.includes('_live_') !== true
  if (key !== null && client_id === own_client_id && !isOtherMode) return key
  throw new Error(`No ${mode} ${kind} key of ${client_id} was given.`)
}
