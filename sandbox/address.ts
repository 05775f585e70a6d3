/** Where the sandbox is reached: the address it prints, the public URL, the hosts that requests may name, and TLS. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { isLoopback } from '../src/foundation/http.ts'
import { SandboxError } from './sandbox-error.ts'

/** A certificate, with those that it depends on, and its private key: both PEM. */
export interface TlsFiles {
  cert: string
  key: string
}

interface AddressOptions {
  host: string
  public_url?: string | undefined
  allowed_hosts?: readonly string[] | undefined
  tls?: TlsFiles | undefined
}

export interface Address {
  /** Names and addresses that a Host header may have beside loopback, in lower case; IPv6 in brackets. */
  hosts: ReadonlySet<string>
  /** Whether any client may come from beyond this computer: the control plane then needs the admin token. */
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
  const own = bracketed(host.toLowerCase())
  const hosts = new Set([own, ...named, ...(origin === null ? [] : [new URL(origin).hostname])])
  const printed = printedHost(own)
  const covered = certificate === null ? printed : coveredHost(certificate, printed)
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
  const isOrigin = url !== null && /^https?:$/.test(url.protocol) && `${url.origin}/` === url.href
  if (!isOrigin) {
    throw new SandboxError(
      'option_invalid',
      `The public URL ${text} is not an origin.`,
      'Give scheme, host and port alone, such as http://192.168.1.5:4010.',
    )
  }
  if (isTls && url.protocol === 'http:') {
    throw new SandboxError(
      'option_invalid',
      `The public URL ${text} is http, and the sandbox serves https.`,
      `Give https://${url.host}, or start without TLS.`,
    )
  }
  return url.origin
}

function readHost(text: string): string {
  const name = bracketed(text.toLowerCase())
  if (/^[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?$/.test(name) || name.startsWith('[')) return name
  throw new SandboxError(
    'option_invalid',
    `The allowed host ${text} is not a host name.`,
    'Give the name or address alone, without scheme, port and path, such as devbox.local.',
  )
}

function bracketed(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host
}

function printedHost(host: string): string {
  return host === '0.0.0.0' || host === '[::]' ? 'localhost' : host
}

/** @throws SandboxError for what is no certificate, no key, or not its key */
function readCertificate({ cert, key }: TlsFiles): X509Certificate {
  const read = <T>(what: string, parse: () => T): T => {
    try {
      return parse()
    } catch (error) {
      throw new SandboxError(
        'option_invalid',
        `The TLS ${what} cannot be read: it is not PEM, or it is encrypted.`,
        `Give the ${what} as PEM without a passphrase, such as mkcert writes it.`,
        { cause: error },
      )
    }
  }
  const certificate = read('certificate', () => new X509Certificate(cert))
  const privateKey = read('key', () => createPrivateKey(key))
  if (certificate.checkPrivateKey(privateKey)) return certificate
  throw new SandboxError(
    'option_invalid',
    'The TLS key does not belong to the certificate.',
    'Give the two files that were made together.',
  )
}

/** Returns the host to print that the certificate names: of the names of loopback any; null when it names none. */
function coveredHost(certificate: X509Certificate, printed: string): string | null {
  const names = isLoopback(printed) ? [printed, 'localhost', '127.0.0.1'] : [printed]
  const isNamed = (name: string) => {
    const bare = name.replace(/^\[|\]$/g, '')
    return (isIP(bare) === 0 ? certificate.checkHost(bare) : certificate.checkIP(bare)) !== undefined
  }
  return names.find(isNamed) ?? null
}
