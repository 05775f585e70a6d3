/**
 * The requests that callbacks are: to addresses that were checked, and to no other. A name is resolved once, all of its
 * addresses are checked, and the socket connects to one of those: a name that resolves differently a moment later (DNS
 * rebinding) changes nothing. Redirects are not followed, proxies of the environment are not used.
 */
import dns from 'node:dns'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { LookupFunction } from 'node:net'
import { addressKind, addressProblem, type CallbackTarget, parseCallbackUrl } from '../domain/callback-target.ts'
import type { CallbackNetwork, CallbackResult } from '../runtime/callbacks.ts'

/** How long one attempt may take, from the lookup to the response, real milliseconds. */
const attempt_ms = 5_000
/** How long the creation of a job waits for a lookup. A name that takes longer is checked when the callback is sent. */
const lookup_ms = 1_000
/** Of a response, what the journal keeps. */
const mostBodyBytes = 2_048

interface Address {
  address: string
  family: number
}

/** `own_port`: where the sandbox itself listens, on loopback; nothing there takes a callback. */
export function createCallbackNetwork(own_port: () => number): CallbackNetwork {
  const check = (target: CallbackTarget, addresses: readonly Address[]): string | null => {
    for (const { address } of addresses) {
      const problem = addressProblem(target, address)
      if (problem !== null) return problem
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

/** Resolves to every address of the host, as the system knows them. */
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

/** Returns why there was no response, one sentence. */
function failureOf(error: unknown): string {
  if (!(error instanceof Error)) return 'The request failed.'
  if (error.name === 'TimeoutError') return `No response within ${attempt_ms / 1_000} s.`
  const { code, errors } = error as Error & { code?: string; errors?: Error[] }
  const text = error.message !== '' ? error.message : (errors?.[0]?.message ?? code ?? error.name)
  return `No response: ${text}.`
}
