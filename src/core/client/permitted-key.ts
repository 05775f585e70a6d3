declare const permitted: unique symbol

/**
 * A secret key, activation token or admin token that may be sent to the service it was requested for. Clients take no
 * other, and only `src/cli/settings/settings.ts` makes one: every key that is sent was checked there.
 */
export type PermittedKey = string & { readonly [permitted]: true }
