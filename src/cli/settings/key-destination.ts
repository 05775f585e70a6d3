/**
 * Where a secret may travel. A file of a repository can name a base URL, so a key is sent only to the service that came from
 * the same source as the key, that you named on the command line, or whose sandbox made the key; and without TLS only on this
 * computer. Clients take a PermittedKey, which only this file makes, so that every key that is sent was checked here.
 */
import { networkInterfaces } from 'node:os'
import { isLoopback } from '../../foundation/http.ts'
import { CliError, noSandbox } from '../run/errors.ts'
import type { Settings } from './settings.ts'

declare const permitted: unique symbol
/** A secret key, activation token or admin token that may be sent to the service it was asked for. */
export type PermittedKey = string & { readonly [permitted]: true }

/** Returns the secret key of the settings for their service; null without one. Throws CliError when it may not go there. */
export function permittedSecretKey(settings: Settings): PermittedKey | null {
  return settings.secret_key === null ? null : permittedKey(settings, settings.secret_key)
}

/** Returns a key of the settings, or of their sandbox, for their service. Throws CliError when it may not go there. */
export function permittedKey(settings: Settings, key: string): PermittedKey {
  const { base_url, source, where, sandbox } = settings
  const isOfSettings = key === settings.secret_key
  const isOfSandbox = sandbox?.projects.some((each) => each.secret_key === key || each.live_secret_key === key) === true
  const from = isOfSettings ? source.secret_key : 'sandbox'
  if (source.base_url === 'default') throw noSandbox()
  const isAgreed =
    source.base_url === 'flag' ||
    isOfSandbox ||
    from === source.base_url ||
    // Projects that you created are kept by service.
    (isOfSettings && from === 'sandbox') ||
    // Nothing but the command line chose the key, and nothing else than your own sandbox was named.
    (from === 'flag' && source.base_url === 'sandbox')
  if (!isAgreed) {
    throw new CliError(
      'usage',
      'key_destination',
      `Nothing was sent. The secret key is from ${where.secret_key}, but the service from ${where.base_url}: ${base_url}.`,
      `A key goes only to a service from the same place, or one that you name. If it may go there: --base-url ${base_url}`,
    )
  }
  return overSafeWay(settings, 'The secret key', key)
}

/** Returns a token that the service in the settings has issued just now, for that service. Throws CliError as permittedKey. */
export function issuedToken(settings: Settings, token: string): PermittedKey {
  return overSafeWay(settings, 'The activation token', token)
}

type TokenSettings = Pick<Settings, 'base_url' | 'allow_http' | 'sandbox'> &
  Partial<Pick<Settings, 'control_token' | 'source'>>

/**
 * Returns the token of the control plane for the service in the settings; undefined when there is none for it. One from
 * another source than the service is not sent: most commands work without it. Throws CliError as permittedKey.
 */
export function permittedControlToken({ control_token, source, ...settings }: TokenSettings) {
  const own = settings.sandbox?.admin_token
  const isAgreed =
    source !== undefined &&
    (source.base_url === 'flag' || source.base_url === 'sandbox' || source.control_token === source.base_url)
  const token = isAgreed ? (control_token ?? own) : own
  return token === undefined ? undefined : overSafeWay(settings, 'The token of the control plane', token)
}

/** Returns the key of a sandbox that this command has started itself. */
export function keyOfStarted({ keys }: { keys: { secret_key: string } }): PermittedKey {
  return keys.secret_key as PermittedKey
}

function overSafeWay({ base_url, allow_http }: Pick<Settings, 'base_url' | 'allow_http'>, what: string, key: string) {
  if (!allow_http && isReadableByOthers(base_url)) {
    throw new CliError(
      'usage',
      'key_over_http',
      `Nothing was sent. ${what} would travel to ${base_url} without encryption.`,
      `Use https. If everyone on the way may read it, add --allow-http.`,
    )
  }
  return key as PermittedKey
}

/** Whether a request leaves this computer without TLS. An address of its own network interfaces does not leave it. */
function isReadableByOthers(base_url: string): boolean {
  const { protocol, hostname } = new URL(base_url)
  if (protocol === 'https:' || isLoopback(hostname)) return false
  const address = hostname.replace(/^\[|\]$/g, '')
  if (address === '0.0.0.0' || address === '::') return false
  return !Object.values(networkInterfaces()).some((each) => each?.some((own) => own.address === address))
}
