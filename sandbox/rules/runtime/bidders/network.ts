/**
 * Posts a request to a bidder on this computer, and reads its answer. Redirects are not followed, proxies of the environment are
 * not used, names are not looked up, and nothing of a longer answer is kept.
 */
import { type IncomingMessage, request } from 'node:http'
import type { LookupFunction } from 'node:net'
import type { BidderResponse } from './bidders.ts'

const maxAnswerBytes = 64 * 1024

/** @throws Error when there is no complete response, or the signal aborts */
export function postToBidder(text: string, body: string, signal: AbortSignal): Promise<BidderResponse> {
  const url = new URL(text)
  const headers = {
    ...{ host: url.host, accept: 'application/json', 'content-type': 'application/json' },
    'content-length': Buffer.byteLength(body),
  }
  return new Promise((resolve, reject) => {
    let isAnswered = false
    const outgoing = request(
      {
        ...{ host: url.hostname.replace(/^\[|\]$/g, ''), port: url.port, path: `${url.pathname}${url.search}` },
        ...{ method: 'POST', headers, signal, agent: false, lookup: lookupLoopback },
      },
      (incoming) => {
        isAnswered = true
        readAnswer(incoming).then(resolve, reject)
      },
    )
    outgoing.on('error', reject)
    // After a 101 there is neither a response nor an error.
    outgoing.on('close', () => {
      if (!isAnswered) reject(new Error('The connection was closed.'))
    })
    outgoing.end(body)
  })
}

/** The addresses of localhost, whatever a resolver says. */
const lookupLoopback: LookupFunction = (_host, options, done) => {
  if (options.all !== true) return done(null, '127.0.0.1', 4)
  const addresses = [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ]
  done(null, addresses)
}

async function readAnswer(incoming: IncomingMessage): Promise<BidderResponse> {
  const { statusCode, headers } = incoming
  const head = {
    status: statusCode!,
    media_type: (headers['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase(),
    isEncoded: (headers['content-encoding'] ?? 'identity') !== 'identity',
  }
  const chunks: Buffer[] = []
  let length = 0
  // A return destroys the rest.
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > maxAnswerBytes) return { ...head, body: null }
    chunks.push(chunk)
  }
  return { ...head, body: Buffer.concat(chunks) }
}
