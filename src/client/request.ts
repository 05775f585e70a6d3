import type { Endpoint } from '../contract/endpoint.ts'
import { fillPath } from '../foundation/endpoint-path.ts'
import { isObject } from '../foundation/json.ts'
import { RefusedError } from './errors.ts'

/** A file that is read while it is sent: the Blob of Node, since the browser's type lacks what Node's fetch needs. */
export type FileBody = import('node:buffer').Blob

/** The parts of a call. */
export interface CallInput {
  params?: object | undefined
  query?: object | undefined
  body?: unknown
}

/** The parts of a request beside its input. */
export interface Sender {
  base_url: string
  /** Secret key or token for `Authorization: Bearer`. */
  credential?: string | undefined
  /** Origin of the page this client speaks for. Never sent together with a secret key. */
  origin?: string | undefined
  /** Sent with every request. */
  headers?: Readonly<Record<string, string>> | undefined
}

/** An HTTP request, ready to be sent or shown. */
export interface HttpRequest {
  method: Endpoint['method']
  url: string
  headers: Record<string, string>
  body?: string | FileBody
}

/** What a request needs of its endpoint. */
export interface SentEndpoint extends Pick<Endpoint, 'id' | 'method' | 'path' | 'credentials' | 'status'> {
  readonly body_media_type?: string
  readonly response: object
}

/** Turns a call into its HTTP request. Throws RefusedError for test_outcome with a production key. */
export function buildRequest(endpoint: SentEndpoint, input: CallInput, sender: Sender): HttpRequest {
  const { credential } = sender
  if (credential !== undefined && isProductionKey(credential) && hasTestOutcome(input.body)) {
    throw new RefusedError('test_outcome_requires_test_key')
  }
  const isSecretSent = endpoint.credentials.length > 0 && credential !== undefined && isSecretKey(credential)
  const origin = endpoint.path.startsWith('/v1/') && !isSecretSent ? sender.origin : undefined
  return {
    method: endpoint.method,
    url: sender.base_url.replace(/\/+$/, '') + fillPath(endpoint.path, input.params) + queryString(input.query),
    headers: {
      accept: mediaTypeOf(endpoint) ?? 'application/json',
      ...(input.body === undefined ? {} : { 'content-type': endpoint.body_media_type ?? 'application/json' }),
      ...(endpoint.credentials.length > 0 && credential !== undefined ? { authorization: `Bearer ${credential}` } : {}),
      ...(origin === undefined ? {} : { origin }),
      ...sender.headers,
    },
    ...(input.body === undefined ? {} : { body: bodyOf(input.body) }),
  }
}

/** Returns the media type of a response that is not JSON; undefined for JSON. */
export function mediaTypeOf({ response }: SentEndpoint): string | undefined {
  return 'media_type' in response ? (response.media_type as string) : undefined
}

function bodyOf(body: unknown): string | FileBody {
  return body instanceof Blob ? (body as FileBody) : JSON.stringify(body)
}

/** Whether a key is a Production secret key (A02). */
export function isProductionKey(key: string): boolean {
  return key.startsWith('sk_live_')
}

function hasTestOutcome(body: unknown): boolean {
  return isObject(body) && body.test_outcome !== undefined
}

function isSecretKey(key: string): boolean {
  return key.startsWith('sk_')
}

function queryString(query: object = {}): string {
  const fields = Object.entries(query).filter(([, value]) => value !== undefined)
  return fields.length === 0 ? '' : `?${new URLSearchParams(fields.map(([name, value]) => [name, String(value)]))}`
}
