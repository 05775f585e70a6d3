/** The typed client for Node and browsers, with the types of the contract that an integration needs. */
import { contract } from '../contract/index.ts'
import { type Client, type ClientOptions, clientOf } from './client.ts'
import * as schemas from './response.ts'

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
export type { CallOptions, Client, ClientOptions, ResponseMeta } from './client.ts'
export { ContractError, RefusedError, ServiceError, UnreachableError } from './errors.ts'
export type { Fetch } from './exchange.ts'

/**
 * Creates a client of one service with one credential. Its methods throw ServiceError, UnreachableError, ContractError
 * and RefusedError.
 */
export function createClient(options: ClientOptions): Client {
  return clientOf({ endpoints: contract, schemas: () => schemas }, options)
}
