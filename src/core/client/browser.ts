/**
 * The client for pages: at most 5 kB gzipped. It has only the public API, and returns responses as received, without
 * comparing them with the contract. Bundlers choose it by the `browser` condition.
 */
import type { ErrorBody } from '#contract/errors.ts'
import { parseAnyJson } from '#foundation/json.ts'
import { type BrowserEndpointId, browserEndpoints } from './browser-endpoints.ts'
import { buildClient, type KnownContract, type Schemas, type Client as TypedClient } from './client.ts'
import { type IntegrationMethods, type IntegrationOptions, integrate, type SilentOptions } from './integration.ts'

export { ContractError, RefusedError, ServiceError, UnreachableError } from './errors.ts'
export { verifyCallback } from './integration.ts'
export { normalizePlacement } from './placement.ts'

/** The typed operations of the public API, and the calls that every integration needs. */
export type BrowserClient = TypedClient<BrowserEndpointId> & IntegrationMethods
/** The same in fail-silent mode: these methods resolve to null instead of throwing. */
export type SilentBrowserClient = TypedClient<BrowserEndpointId> & IntegrationMethods<null>

/**
 * Creates a client of one service with one activation token. Its methods throw ServiceError, UnreachableError and
 * RefusedError; with `onError` createJob, getDecision, sendBeacon and reportGeneration resolve to null instead.
 */
export function createClient(options: SilentOptions): SilentBrowserClient
export function createClient(options: IntegrationOptions & { onError?: undefined }): BrowserClient
export function createClient(options: IntegrationOptions): BrowserClient | SilentBrowserClient {
  return integrate<BrowserEndpointId>(buildClient(known, { ...options, validate: false }), options)
}

const unchecked = {
  parseErrorBody(text: string): ErrorBody | null {
    const body = parseAnyJson(text) as Partial<ErrorBody> | null | undefined
    return typeof body?.error === 'string' && typeof body.message === 'string' ? (body as ErrorBody) : null
  },
  describeOther: (text: string, status: number) => (status < 400 ? ', a redirect' : `: ${text.slice(0, 200)}`),
}

/** Responses are not compared with the contract, and pages have no event stream. */
const known: KnownContract<BrowserEndpointId> = {
  endpoints: browserEndpoints,
  schemas: () => unchecked as unknown as Schemas,
}
