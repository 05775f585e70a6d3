/** Where a sandbox can be reached: the address it prints, the public URL, the hosts that requests may name, and TLS. */
import type { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { isLoopback } from '#foundation/http.ts'
import { shownCommand } from '#foundation/redaction.ts'
import { readCertificate, type TlsFiles } from './certificate.ts'
import { SandboxError } from './sandbox-error.ts'

interface AddressOptions {
  host: string
  public_url?: string | undefined
  allowed_hosts?: readonly string[] | undefined
  tls?: TlsFiles | undefined
}

export interface Address {
  /** Names and addresses other than loopback that a Host header may have, in lower case; IPv6 in brackets. */
  hosts: ReadonlySet<string>
  /** Whether clients on other computers can connect: the control plane then needs the admin token. */
  isPublic: boolean
  public_url: string | null
  warnings: string[]
  /** Returns the origin that is printed, for the port that was bound. */
  urlAt(port: number): string
}

/** @throws SandboxError option_invalid */
export function readAddress({ host, public_url, allowed_hosts = [], tls }: AddressOptions): Address {
  const origin = public_url === undefined ? null : readPublicUrl(public_url, tls !== undefined)
  const certificate = tls === undefined ? null : readCertificate(tls)
  const named = allowed_hosts.map(readHost)
  const own = addBrackets(host.toLowerCase())
  const hosts = new Set([own, ...named, ...(origin === null ? [] : [new URL(origin).hostname])])
  const printed = choosePrintedHost(own)
  const covered = certificate === null ? printed : findCoveredHost(certificate, printed)
  const isPublic = [...hosts].some((name) => !isLoopback(name))
  const warnings = isPublic ? ['reachable beyond loopback: the control plane needs the admin token'] : []
  if (covered === null) {
    warnings.push(`the certificate does not name ${printed}: clients that check it need a name of it as --public-url`)
  }
  return {
    hosts,
    isPublic,
    public_url: origin,
    warnings,
    urlAt: (port) => new URL(`${certificate === null ? 'http' : 'https'}://${covered ?? printed}:${port}`).origin,
  }
}

function readPublicUrl(text: string, isTls: boolean): string {
  const url = URL.parse(text)
  // A host of other characters means something else where origins are listed: `*` is every host in a policy.
  const isHost = url !== null && /^([a-z0-9._-]+|\[[\da-f:.]+\])$/.test(url.hostname)
  const isOrigin = isHost && /^https?:$/.test(url.protocol) && `${url.origin}/` === url.href
  if (!isOrigin) {
    throw new SandboxError(
      'option_invalid',
      `The public URL ${shownCommand([text])} is not an origin.`,
      'Give only scheme, host and port, such as http://192.168.1.5:4010.',
    )
  }
  if (isTls && url.protocol === 'http:') {
    throw new SandboxError(
      'option_invalid',
      `The public URL ${url.origin} is http, and the sandbox serves https.`,
      `Give https://${url.host}, or start without TLS.`,
    )
  }
  return url.origin
}

function readHost(text: string): string {
  const name = addBrackets(text.toLowerCase())
  if (/^[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?$/.test(name) || name.startsWith('[')) return name
  throw new SandboxError(
    'option_invalid',
    `The allowed host ${text} is not a host name.`,
    'Give only the name or address, without scheme, port and path, such as devbox.local.',
  )
}

function addBrackets(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host
}

function choosePrintedHost(host: string): string {
  return host === '0.0.0.0' || host === '[::]' ? 'localhost' : host
}

/**
 * Returns the host to print: one that the certificate names, which may be any name of loopback; null when it names
 * none.
 */
function findCoveredHost(certificate: X509Certificate, printed: string): string | null {
  const names = isLoopback(printed) ? [printed, 'localhost', '127.0.0.1'] : [printed]
  const isNamed = (name: string) => {
    const bare = name.replace(/^\[|\]$/g, '')
    return (isIP(bare) === 0 ? certificate.checkHost(bare) : certificate.checkIP(bare)) !== undefined
  }
  return names.find(isNamed) ?? null
}
