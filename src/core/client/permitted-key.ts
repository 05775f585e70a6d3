declare const permitted: unique symbol

/**
 * A secret key, activation token or admin token that may be sent to the service it was requested for. Clients take no
 * other, and only this file and `src/cli/settings/settings.ts` make one: every key that is sent was checked there, or is of a sandbox
 * that this process started.
 */
export type PermittedKey = string & { readonly [permitted]: true }

/** Returns the key of a sandbox that this command has started itself. */
export function keyOfStarted({ keys }: { keys: { secret_key: string } }): PermittedKey {
  return keys.secret_key as PermittedKey
}
