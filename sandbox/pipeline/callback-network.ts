/**
 * Sends callbacks (C07): with https to public addresses and loopback, with http to loopback only. A sandbox
 * sends them from inside a network, so an address there would let any job reach what only that network can.
 *
 * A URL is judged by its parsed form, which has one spelling of an address: `0x7f.1`, `2130706433` and `127.0.0.1.` are
 * all 127.0.0.1. A name is resolved once, all of its addresses are checked, and the socket connects to one of those: a
 * name that resolves differently a moment later (DNS rebinding) changes nothing. Redirects are not followed, proxies of the
 * environment are not used.
 */
import dns from 'node:dns'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { LookupFunction } from 'node:net'
import { isLoopback } from '#foundation/http.ts'
import type { CallbackNetwork, CallbackResult } from '#runtime/callbacks.ts'

/** How long one attempt may take, from the lookup to the response, real milliseconds. */
const attempt_ms = 5_000
/** How long the creation of a job waits for a lookup. A name that takes longer is checked when the callback is sent. */
const lookup_ms = 1_000
/** The part of a response that the journal keeps. */
const mostBodyBytes = 2_048

interface Address {
  address: string
  family: number
}

interface NetworkOptions {
  /** The loopback port of the sandbox itself, where nothing takes a callback. */
  own_port(): number
  /** Whether clients on other computers can reach the sandbox: none of them reaches this computer's loopback by it. */
  isPublic: boolean
}

export function createCallbackNetwork({ own_port, isPublic }: NetworkOptions): CallbackNetwork {
  const check = (target: CallbackTarget, addresses: readonly Address[]): string | null => {
    for (const { address } of addresses) {
      const problem = addressProblem(target, address)
      if (problem !== null) return problem
      if (isPublic && addressKind(address) === 'loopback')
        return 'goes to loopback, and this sandbox can be reached from other computers'
      if (target.port === own_port() && addressKind(address) === 'loopback') return 'goes to the sandbox itself'
    }
    return null
  }

  return {
    async problemOf(text) {
      const target = parseCallbackUrl(text)
      if (typeof target === 'string') return target
      const addresses = await Promise.race([resolve(target), after(lookup_ms)]).catch(() => [])
      return check(target, addresses)
    },
    async post(text, headers, body, signal) {
      const target = parseCallbackUrl(text)
      if (typeof target === 'string') return refused(target)
      const limit = AbortSignal.any([signal, AbortSignal.timeout(attempt_ms)])
      try {
        const addresses = await resolve(target, limit)
        const problem = check(target, addresses)
        if (problem !== null) return refused(problem)
        return await send(target, addresses, headers, body, limit)
      } catch (error) {
        return { status: null, problem: failureOf(error), is_final: false }
      }
    },
  }
}

function refused(problem: string): CallbackResult {
  return { status: null, problem: `Nothing was sent: callback_url ${problem}.`, is_final: true }
}

function after(ms: number): Promise<Address[]> {
  return new Promise((done) => setTimeout(() => done([]), ms).unref())
}

/** Resolves to every address that the system has for the host. */
function resolve({ host, address }: CallbackTarget, limit?: AbortSignal): Promise<Address[]> {
  if (address !== null) return Promise.resolve([{ address, family: address.includes(':') ? 6 : 4 }])
  return new Promise((done, fail) => {
    limit?.addEventListener('abort', () => fail(limit.reason), { once: true })
    dns.lookup(host, { all: true, verbatim: true }, (error, addresses) => (error ? fail(error) : done(addresses)))
  })
}

/** Posts to one of the addresses, without looking the name up again. */
function send(
  { url, host, port }: CallbackTarget,
  addresses: readonly Address[],
  headers: Record<string, string>,
  body: string,
  signal: AbortSignal,
): Promise<CallbackResult> {
  const lookup: LookupFunction = (_host, options, done) => {
    if (options.all === true) done(null, [...addresses])
    else done(null, addresses[0]!.address, addresses[0]!.family)
  }
  return new Promise((resolve, reject) => {
    const request = url.protocol === 'https:' ? httpsRequest : httpRequest
    const outgoing = request(
      {
        ...{ host, port, lookup, signal, agent: false, method: 'POST' },
        path: `${url.pathname}${url.search}`,
        headers: { ...headers, host: url.host, 'content-length': Buffer.byteLength(body) },
      },
      (incoming) => {
        const done = (text: string) => resolve({ status: incoming.statusCode!, headers: namesOf(incoming), body: text })
        readStart(incoming).then(done, () => done(''))
      },
    )
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

function namesOf({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
}

/** Reads the beginning of a response, and no more. */
async function readStart(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    length += chunk.length
    if (length >= mostBodyBytes) break
  }
  return Buffer.concat(chunks).subarray(0, mostBodyBytes).toString('utf8')
}

/** Returns why there was no response, as one sentence. */
function failureOf(error: unknown): string {
  if (!(error instanceof Error)) return 'The request failed.'
  if (error.name === 'TimeoutError') return `No response within ${attempt_ms / 1_000} s.`
  const { code, errors } = error as Error & { code?: string; errors?: Error[] }
  const text = error.message !== '' ? error.message : (errors?.[0]?.message ?? code ?? error.name)
  return `No response: ${text}.`
}

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

const longestUrl = 2_048

/** Returns the target of a callback URL, or why it cannot be one: a clause about `callback_url`. */
export function parseCallbackUrl(text: string): CallbackTarget | string {
  const url = text.length > longestUrl ? null : URL.parse(text)
  if (url === null) return 'is not a URL'
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return `begins with ${url.protocol}, not https:`
  if (url.username !== '' || url.password !== '') return 'has a user name or a password in it'
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.+$/, '')
  if (host === '') return 'has no host'
  const address = addressBytes(host) === null ? null : host
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
  const target = { url, host, address, port }
  const problem = address === null ? nameProblem(target) : addressProblem(target, address)
  return problem ?? target
}

function nameProblem({ url, host }: CallbackTarget): string | null {
  return url.protocol === 'http:' && !isLoopback(host) ? 'is http to a host other than this one' : null
}

/** Returns why a callback may not go to an address of its host, or null when it may: a clause about `callback_url`. */
export function addressProblem({ url, host }: CallbackTarget, address: string): string | null {
  const kind = addressKind(address)
  const named = address === host ? address : `${address} (${host})`
  if (kind !== 'public' && kind !== 'loopback') return `goes to ${named}, a ${kind} address`
  if (url.protocol === 'http:' && kind !== 'loopback') return `is http to ${named}, which is not loopback`
  return null
}

/** Returns what kind of address an IPv4 or IPv6 address is; reserved for a text that is neither. */
export function addressKind(address: string): AddressKind {
  const bytes = addressBytes(address)
  if (bytes === null) return 'reserved'
  if (bytes.length === 4) return kindIn(networks4, bytes) ?? 'public'
  for (const { prefix, bits, at } of embedding) {
    if (isIn(bytes, prefix, bits)) return kindIn(networks4, bytes.slice(at, at + 4)) ?? 'public'
  }
  // All public addresses today are in 2000::/3.
  return kindIn(networks6, bytes) ?? (isIn(bytes, [0x20], 3) ? 'public' : 'reserved')
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

function kindIn(networks: readonly Network[], bytes: readonly number[]): AddressKind | null {
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
function addressBytes(text: string): number[] | null {
  const ipv4 = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)
  if (ipv4 !== null) {
    const bytes = ipv4.slice(1).map(Number)
    return bytes.every((byte) => byte <= 255) ? bytes : null
  }
  const [address = ''] = text.split('%')
  if (!address.includes(':') || !/^[0-9a-f:.]+$/i.test(address)) return null
  // The URL parser writes hexadecimal groups only; a resolver may write the last two as an IPv4 address.
  const last = address.slice(address.lastIndexOf(':') + 1)
  const tail = last.includes('.') ? addressBytes(last) : []
  if (tail === null) return null
  const groups = last.includes('.') ? address.slice(0, -last.length).replace(/([^:]):$/, '$1') : address
  const [head = '', rest, ...more] = groups.split('::')
  if (more.length > 0) return null
  const before = groupBytes(head)
  const after = rest === undefined ? [] : groupBytes(rest)
  if (before === null || after === null) return null
  const missing = 16 - before.length - after.length - tail.length
  if (rest === undefined ? missing !== 0 : missing < 0) return null
  return [...before, ...Array.from({ length: missing }, () => 0), ...after, ...tail]
}

function groupBytes(text: string): number[] | null {
  if (text === '') return []
  const groups = text.split(':')
  if (!groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return null
  return groups.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff])
}
