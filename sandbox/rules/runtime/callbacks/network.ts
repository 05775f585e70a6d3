/**
 * Sends callbacks (C07). A name is resolved once, all of its addresses are checked, and the socket connects to one of
 * those: a name that resolves differently a moment later (DNS rebinding) changes nothing. Redirects are not followed,
 * proxies of the environment are not used.
 */
import dns from 'node:dns'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { LookupFunction } from 'node:net'
import type { CallbackNetwork, CallbackResult } from './request.ts'
import { type CallbackTarget, classifyAddress, findAddressProblem, parseCallbackUrl } from './url.ts'

/** How long one attempt may take, from the lookup to the response, real milliseconds. */
const attemptTimeoutMs = 5_000
/** How long the creation of a job waits for a lookup. A name that takes longer is checked when the callback is sent. */
const lookupTimeoutMs = 1_000
/** The part of a response that the journal keeps. */
const maxBodyBytes = 2_048

interface Address {
  address: string
  family: number
}

export interface NetworkOptions {
  /** The loopback port of the sandbox itself, where nothing takes a callback. */
  own_port(): number
  /** Whether clients on other computers can reach the sandbox: none of them reaches this computer's loopback by it. */
  isPublic: boolean
}

export function createCallbackNetwork({ own_port, isPublic }: NetworkOptions): CallbackNetwork {
  const check = (target: CallbackTarget, addresses: readonly Address[]): string | null => {
    for (const { address } of addresses) {
      const problem = findAddressProblem(target, address)
      if (problem !== null) return problem
      if (isPublic && classifyAddress(address) === 'loopback')
        return 'goes to loopback, and this sandbox can be reached from other computers'
      if (target.port === own_port() && classifyAddress(address) === 'loopback') return 'goes to the sandbox itself'
    }
    return null
  }

  return {
    async findProblem(text) {
      const target = parseCallbackUrl(text)
      if (typeof target === 'string') return target
      const addresses = await Promise.race([resolve(target), after(lookupTimeoutMs)]).catch(() => [])
      return check(target, addresses)
    },
    async post(text, headers, body, signal) {
      const target = parseCallbackUrl(text)
      if (typeof target === 'string') return refused(target)
      const limit = AbortSignal.any([signal, AbortSignal.timeout(attemptTimeoutMs)])
      try {
        const addresses = await resolve(target, limit)
        const problem = check(target, addresses)
        if (problem !== null) return refused(problem)
        return await send(target, addresses, { headers, body }, limit)
      } catch (error) {
        return { status: null, problem: describeFailure(error), is_final: false }
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
  { headers, body }: { headers: Record<string, string>; body: string },
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
        const done = (text: string) =>
          resolve({ status: incoming.statusCode!, headers: flattenHeaders(incoming), body: text })
        readStart(incoming).then(done, () => done(''))
      },
    )
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

function flattenHeaders({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
}

/** Reads the beginning of a response, and no more. */
async function readStart(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    length += chunk.length
    if (length >= maxBodyBytes) break
  }
  return Buffer.concat(chunks).subarray(0, maxBodyBytes).toString('utf8')
}

/** Returns why there was no response, as one sentence. */
function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return 'The request failed.'
  if (error.name === 'TimeoutError') return `No response within ${attemptTimeoutMs / 1_000} s.`
  const { code, errors } = error as Error & { code?: string; errors?: Error[] }
  const text = error.message !== '' ? error.message : (errors?.[0]?.message ?? code ?? error.name)
  return `No response: ${text}.`
}
