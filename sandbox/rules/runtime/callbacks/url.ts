/**
 * URLs that callbacks may go to: https to public addresses and loopback, http to loopback only. A sandbox sends from
 * inside a network, so an address there would let any job reach what only that network can. A URL is judged by its parsed
 * form, which has one spelling of an address: `0x7f.1`, `2130706433` and `127.0.0.1.` are all 127.0.0.1.
 */
import { isLoopback } from '#foundation/http.ts'

/** A target before its name is resolved. */
export interface CallbackTarget {
  url: URL
  /** Without brackets and trailing dots. */
  host: string
  /** The address, when the host is one; null for a name. */
  address: string | null
  port: number
}

type AddressKind = 'public' | 'loopback' | 'private' | 'link-local' | 'unique local' | 'reserved'

const maxUrlCharacters = 2_048

/** Returns the target of a callback URL, or why it cannot be one: a clause about `callback_url`. */
export function parseCallbackUrl(text: string): CallbackTarget | string {
  const url = text.length > maxUrlCharacters ? null : URL.parse(text)
  if (url === null) return 'is not a URL'
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return `begins with ${url.protocol}, not https:`
  if (url.username !== '' || url.password !== '') return 'has a user name or a password in it'
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/(?<!\.)\.+$/, '')
  if (host === '') return 'has no host'
  const address = parseAddress(host) === null ? null : host
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
  const target = { url, host, address, port }
  const problem = address === null ? findNameProblem(target) : findAddressProblem(target, address)
  return problem ?? target
}

function findNameProblem({ url, host }: CallbackTarget): string | null {
  return url.protocol === 'http:' && !isLoopback(host) ? 'is http to a host other than this one' : null
}

/** Returns why a callback may not go to an address of its host, or null when it may: a clause about `callback_url`. */
export function findAddressProblem({ url, host }: CallbackTarget, address: string): string | null {
  const kind = classifyAddress(address)
  const named = address === host ? address : `${address} (${host})`
  if (kind !== 'public' && kind !== 'loopback') return `goes to ${named}, a ${kind} address`
  if (url.protocol === 'http:' && kind !== 'loopback') return `is http to ${named}, which is not loopback`
  return null
}

/** Returns what kind of address an IPv4 or IPv6 address is; reserved for a text that is neither. */
export function classifyAddress(address: string): AddressKind {
  const bytes = parseAddress(address)
  if (bytes === null) return 'reserved'
  if (bytes.length === 4) return findKind(networks4, bytes) ?? 'public'
  for (const { prefix, bits, at } of embedding) {
    if (isIn(bytes, prefix, bits)) return findKind(networks4, bytes.slice(at, at + 4)) ?? 'public'
  }
  // All public addresses today are in 2000::/3.
  return findKind(networks6, bytes) ?? (isIn(bytes, [0x20], 3) ? 'public' : 'reserved')
}

interface Network {
  prefix: readonly number[]
  bits: number
  kind: AddressKind
}

/** The special networks of RFC 6890, and multicast. */
const networks4: readonly Network[] = [
  { prefix: [127], bits: 8, kind: 'loopback' },
  { prefix: [10], bits: 8, kind: 'private' },
  { prefix: [172, 16], bits: 12, kind: 'private' },
  { prefix: [192, 168], bits: 16, kind: 'private' },
  // Shared between a provider and its customers (RFC 6598).
  { prefix: [100, 64], bits: 10, kind: 'private' },
  { prefix: [169, 254], bits: 16, kind: 'link-local' },
  { prefix: [0], bits: 8, kind: 'reserved' },
  { prefix: [192, 0, 0], bits: 24, kind: 'reserved' },
  { prefix: [192, 0, 2], bits: 24, kind: 'reserved' },
  { prefix: [192, 88, 99], bits: 24, kind: 'reserved' },
  { prefix: [198, 18], bits: 15, kind: 'reserved' },
  { prefix: [198, 51, 100], bits: 24, kind: 'reserved' },
  { prefix: [203, 0, 113], bits: 24, kind: 'reserved' },
  { prefix: [224], bits: 3, kind: 'reserved' },
]

const networks6: readonly Network[] = [
  { prefix: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], bits: 128, kind: 'loopback' },
  { prefix: [0xfc], bits: 7, kind: 'unique local' },
  { prefix: [0xfe, 0x80], bits: 10, kind: 'link-local' },
  { prefix: [0xfe, 0xc0], bits: 10, kind: 'private' },
  // Teredo, benchmarks and identifiers without a route: 2001::/23. Documentation.
  { prefix: [0x20, 0x01, 0], bits: 23, kind: 'reserved' },
  { prefix: [0x20, 0x01, 0x0d, 0xb8], bits: 32, kind: 'reserved' },
  { prefix: [0x3f, 0xff, 0], bits: 20, kind: 'reserved' },
]

/**
 * IPv6 networks that embed IPv4 addresses, and where the IPv4 address begins: mapped, translated (RFC 6052) and 6to4.
 */
const embedding = [
  { prefix: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff], bits: 96, at: 12 },
  { prefix: [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0], bits: 96, at: 12 },
  { prefix: [0x20, 0x02], bits: 16, at: 2 },
] as const

function findKind(networks: readonly Network[], bytes: readonly number[]): AddressKind | null {
  return networks.find(({ prefix, bits }) => isIn(bytes, prefix, bits))?.kind ?? null
}

function isIn(bytes: readonly number[], prefix: readonly number[], bits: number): boolean {
  const whole = bits >> 3
  for (let index = 0; index < whole; index++) if (bytes[index] !== prefix[index]) return false
  const rest = bits & 7
  const mask = (0xff00 >> rest) & 0xff
  return rest === 0 || (bytes[whole]! & mask) === (prefix[whole]! & mask)
}

/** Returns the 4 or 16 bytes of an address in its usual spellings, with or without a zone; null for anything else. */
function parseAddress(text: string): number[] | null {
  const ipv4 = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)
  if (ipv4 !== null) {
    const bytes = ipv4.slice(1).map(Number)
    return bytes.every((byte) => byte <= 255) ? bytes : null
  }
  const [address = ''] = text.split('%')
  if (!address.includes(':') || !/^[0-9a-f:.]+$/i.test(address)) return null
  // The URL parser writes hexadecimal groups only; a resolver may write the last two as an IPv4 address.
  const last = address.slice(address.lastIndexOf(':') + 1)
  const tail = last.includes('.') ? parseAddress(last) : []
  if (tail === null) return null
  const groups = last.includes('.') ? address.slice(0, -last.length).replace(/([^:]):$/, '$1') : address
  const [head = '', rest, ...more] = groups.split('::')
  if (more.length > 0) return null
  const before = parseGroups(head)
  const after = rest === undefined ? [] : parseGroups(rest)
  if (before === null || after === null) return null
  const missing = 16 - before.length - after.length - tail.length
  if (rest === undefined ? missing !== 0 : missing < 0) return null
  return [...before, ...Array.from({ length: missing }, () => 0), ...after, ...tail]
}

function parseGroups(text: string): number[] | null {
  if (text === '') return []
  const groups = text.split(':')
  if (!groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return null
  return groups.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff])
}
