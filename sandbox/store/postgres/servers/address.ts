/** The URL of a store: its servers, and what of it is for the sandbox alone. Several are written as libpq has them. */
import { SandboxError } from '#sandbox/sandbox-error.ts'
import { invalidUrl } from '../failures.ts'

interface StoreAddress {
  /** The URL without its password and its parameters: one of them may be the password. */
  location: string
  /** The URL of each server, in the order of the list. */
  servers: readonly URL[]
  /** False by `svc_listen=off`. */
  wantsListen: boolean
}

/** @throws SandboxError when the URL cannot be used */
export function parseStoreUrl(url: string): StoreAddress {
  const [, start, authority, rest] = /^(postgres(?:ql)?:\/\/)([^/?#]*)(.*)$/is.exec(url) ?? []
  if (start === undefined || authority === undefined) throw invalidUrl()
  const user = authority.slice(0, authority.lastIndexOf('@') + 1)
  const hosts = authority.slice(user.length).split(',')
  const servers = hosts.map((host) => URL.parse(`${start}${user}${host}${rest}`)).filter((server) => server !== null)
  const [first] = servers
  const isEmpty = servers.length > 1 && servers.some(({ host }) => host === '')
  if (first === undefined || servers.length < hosts.length || isEmpty || isCutShort(first)) throw invalidUrl()
  const attributes = first.searchParams.get('target_session_attrs')
  if (attributes !== null && !usableAttributes.has(attributes)) throw invalidAttributes(attributes)
  const wantsListen = first.searchParams.get('svc_listen') !== 'off'
  for (const { searchParams } of servers) {
    for (const name of ['svc_listen', 'target_session_attrs']) searchParams.delete(name)
  }
  return { location: toLocation(first, servers), servers, wantsListen }
}

/** Of `target_session_attrs`: a node uses the server that takes writes, whichever of these is given. */
const usableAttributes = new Set(['any', 'read-write', 'primary'])

function invalidAttributes(attributes: string): SandboxError {
  return new SandboxError(
    'option_invalid',
    `A sandbox cannot use target_session_attrs=${attributes}: it writes.`,
    'Leave it out, or write target_session_attrs=read-write.',
  )
}

/**
 * Whether a part other than the password may contain the rest of one: a `/`, `?` or `#` in a password ends it, so its
 * `@` comes later, and an encoded colon makes it a part of the user. Such a URL names another database, in messages
 * too.
 */
function isCutShort({ username, pathname, search, hash }: URL): boolean {
  return hash !== '' || `${pathname}${search}`.includes('@') || /%3A/i.test(username)
}

function toLocation({ protocol, username, pathname }: URL, servers: readonly URL[]): string {
  const hosts = servers.map(({ host }) => host).join(',')
  return `${protocol}//${username === '' ? '' : `${username}@`}${hosts}${pathname}`
}
