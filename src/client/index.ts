/** The typed client for Node, over undici; with the contract's types that an integration needs. */
import { type Client, type ClientOptions, createClient as createClientOver } from './client.ts'
import type { Fetch } from './transport.ts'

export type { SandboxEvent } from '../contract/control/events.ts'
export type { ErrorBody, ErrorCode, ReasonCode } from '../contract/errors.ts'
export type {
  AuthoritativeConsent,
  Format,
  JobType,
  NativeTemplateId,
  Overrides,
  RequestConsent,
  SlotHint,
} from '../contract/fields.ts'
export type { NoFillReason } from '../contract/no-fill.ts'
export type { BeaconEvent, BeaconRequest, BeaconResult, Measurements } from '../contract/v1/beacons.ts'
export type { ActivationResult } from '../contract/v1/browser.ts'
export type { ConsentRequest, ConsentStored } from '../contract/v1/consent.ts'
export type { BrowserJobRequest, JobAccepted, JobRequest } from '../contract/v1/jobs.ts'
export type {
  Decision,
  FillDecision,
  NativeAssets,
  NoFillDecision,
  Placement,
  PlacementRequest,
  PlacementResponse,
} from '../contract/v1/placements.ts'
export type { ProjectConfig } from '../contract/v1/projects.ts'
export type { CallOptions, Client } from './client.ts'
export { ContractError, RefusedError, ServiceError, UnreachableError } from './errors.ts'
export type { ResponseMeta } from './response.ts'
export type { Fetch } from './transport.ts'

export interface NodeClientOptions extends Omit<ClientOptions, 'fetch'> {
  /** Any fetch that takes `(url, init)`. Default: undici's. */
  fetch?: Fetch | undefined
}

/** A client of one service with one credential. Throws ServiceError, UnreachableError, ContractError, RefusedError. */
export function createClient({ fetch = undiciFetch, ...options }: NodeClientOptions): Client {
  return createClientOver({ ...options, fetch })
}

/** undici is loaded by the first request, so that a command which makes none does not pay for it. */
const undiciFetch: Fetch = async (url, init) => {
  const { fetch } = await import('undici')
  return fetch(url, init)
}
