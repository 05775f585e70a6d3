/** The typed client for Node and browsers, with the types of the contract that an integration needs. */
import { contract } from '#contract/index.ts'
import { buildClient, type Client as TypedClient } from './client.ts'
import { streaming } from './exchange.ts'
import { type IntegrationMethods, type IntegrationOptions, integrate, type SilentOptions } from './integration.ts'
import { nodeFetch } from './node-fetch.ts'
import { nodeSocketFor } from './node-socket.ts'
import * as schemas from './response.ts'

export type { ErrorBody, ErrorCode, ReasonCode } from '#contract/errors.ts'
export type {
  AuthoritativeConsent,
  Format,
  JobType,
  NativeTemplateId,
  Overrides,
  RequestConsent,
  SlotHint,
} from '#contract/fields.ts'
export type { NoFillReason } from '#contract/no-fill.ts'
export type { BeaconEvent, BeaconRequest, BeaconResult, Measurements } from '#contract/resources/beacons.ts'
export type { ActivationResult } from '#contract/resources/browser.ts'
export type { ConsentRequest, ConsentStored } from '#contract/resources/consent.ts'
export type { SandboxEvent } from '#contract/resources/events.ts'
export type { BrowserJobRequest, JobAccepted, JobRequest } from '#contract/resources/jobs.ts'
export type {
  Decision,
  FillDecision,
  NativeAssets,
  NoFillDecision,
  Placement,
  PlacementRequest,
  PlacementResponse,
} from '#contract/resources/placements.ts'
export type { ProjectConfig } from '#contract/resources/projects.ts'
export type { CallOptions, ClientOptions, ResponseMeta } from './client.ts'
export { ContractError, RefusedError, ServiceError, UnreachableError } from './errors.ts'
export type { Fetch } from './exchange.ts'
export type {
  BeaconInput,
  DecisionOptions,
  GenerationEvent,
  IntegrationMethod,
  IntegrationMethods,
  IntegrationOptions,
  SignalOptions,
  SilentOptions,
} from './integration.ts'
export { verifyCallback } from './integration.ts'
export {
  type FilledPlacement,
  type NormalizedNative,
  type NormalizedPlacement,
  normalizePlacement,
} from './placement.ts'

/** The typed operations, and the calls that every integration needs. */
export type Client = TypedClient & IntegrationMethods
/** A client in fail-silent mode: these methods resolve to null where they would throw. */
export type SilentClient = TypedClient & IntegrationMethods<null>

/**
 * Creates a client of one service with one credential. Its methods throw ServiceError, UnreachableError, ContractError
 * and RefusedError; with `onError` createJob, getDecision, sendBeacon and reportGeneration resolve to null instead.
 */
export function createClient(options: SilentOptions): SilentClient
export function createClient(options: IntegrationOptions & { onError?: undefined }): Client
export function createClient(options: IntegrationOptions): Client | SilentClient {
  const { fetch = nodeFetch, WebSocket = nodeSocketFor(options.base_url) } = options
  const sending = { ...options, fetch, WebSocket }
  return integrate<keyof typeof contract>(buildClient(known, sending), sending)
}

const known = { endpoints: contract, schemas: () => schemas, ...streaming }
