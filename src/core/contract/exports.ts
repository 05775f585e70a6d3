/**
 * The exports of `svc-sandbox/contract`: the endpoints, every schema with its type, the lists and constants of
 * the contract, and the document computed from them. It needs only zod: it also runs in pages, and on Node 20.
 */

export {
  DecisionTicket,
  GenerationAccepted,
  type GenerationEvent,
  GenerationReport,
  generationEvents,
  LegacyBeacon,
  LegacyDecision,
  LegacyGenerationReport,
  legacyBeaconTypes,
} from './compat.ts'
export type { Credential, Endpoint, Input, Output, Parsed, RateClass, Stability } from './endpoint.ts'
export { acceptMeanings, type ErrorCode, errorCodes, type ReasonCode, reasonCodes } from './error-codes.ts'
export { ErrorBody, FieldError } from './errors.ts'
export {
  AssetToken,
  AuthoritativeConsent,
  Category,
  ClientId,
  ConsentDecision,
  ConsentId,
  ConsentMechanism,
  ConsentSource,
  ConsentState,
  ContractVersion,
  Currency,
  consentDecisions,
  consentMechanisms,
  consentStates,
  Domain,
  EpochMs,
  Format,
  FrequencyCap,
  formats,
  HttpMethod,
  httpMethods,
  JobId,
  JobType,
  jobTypes,
  Mode,
  modes,
  NativeTemplateId,
  nativeTemplates,
  Overrides,
  Position,
  Prompt,
  PromptObject,
  PromptText,
  Publisher,
  Purpose,
  Purposes,
  positions,
  RequestConsent,
  RequestId,
  SessionId,
  SlotHint,
  SlotId,
  SlotStatus,
  slotStatuses,
  Timing,
  Topic,
  timings,
  WaitMs,
} from './fields.ts'
export { type CompatEndpointId, type Contract, compat, contract, control, type EndpointId, v1 } from './index.ts'
export { limits } from './limits.ts'
export { contractListing, type ListedField } from './listing.ts'
export { type NoFillReason, noFillReasons } from './no-fill.ts'
export { type Provenance, readSource as sourceOf, type Source } from './objects.ts'
export { openapiDocument } from './openapi/document.ts'
export {
  AcceptCode,
  acceptCodes,
  BeaconEvent,
  BeaconEventInput,
  BeaconItem,
  BeaconReason,
  BeaconRequest,
  BeaconResult,
  beaconEvents,
  clipEvents,
  Measurements,
  Metric,
  secondsBelow,
  Verdict,
} from './resources/beacons.ts'
export { BillingDimension, BillingGroup, BillingLine, BillingReport } from './resources/billing.ts'
export { ActivationRequest, ActivationResult } from './resources/browser.ts'
export { CallbackItem, CallbackStatus } from './resources/callbacks.ts'
export {
  ConsentItem,
  ConsentRequest,
  ConsentStored,
} from './resources/consent.ts'
export { EventType, eventTypes, SandboxEvent } from './resources/events.ts'
export {
  Checkpoint,
  EvidenceEntry,
  EvidenceExport,
  EvidenceItem,
  EvidenceKind,
  EvidenceManifest,
  EvidenceVerification,
  SignedEvidence,
} from './resources/evidence.ts'
export {
  BrowserJobRequest,
  JobAccepted,
  JobRequest,
} from './resources/jobs.ts'
export { KeyClass, KeyCreated, KeyCreation, KeyItem } from './resources/keys.ts'
export {
  BillingVerdict,
  Constraints,
  Decision,
  DecisionMetadata,
  FillDecision,
  NativeAssets,
  NoFillDecision,
  PartnerRequest,
  PersonalFinding,
  Placement,
  PlacementDetail,
  PlacementItem,
  PlacementRequest,
  PlacementResponse,
  Render,
  TraceStep,
} from './resources/placements.ts'
export {
  BillingModel,
  ConsentRules,
  defaultSettings,
  PersonalDataRule,
  PlacementDefaults,
  ProjectConfig,
  ProjectCreated,
  ProjectCreation,
  ProjectDetail,
  ProjectItem,
  ProjectSettings,
  RateLimits,
  SecretKeyInBrowser,
  ViewabilityRules,
} from './resources/projects.ts'
export {
  FailedCondition,
  KeyKind,
  ListedRequest,
  NearMiss,
  NotRestored,
  ReplayResult,
  RequestDetail,
  RequestItem,
  RequestMatch,
} from './resources/requests.ts'
export { SandboxClock } from './resources/sandbox/clock.ts'
export { FaultDraft, FaultEffect, FaultPath, FaultRule, RetryAfterFormat } from './resources/sandbox/faults.ts'
export { Integrity, SandboxInfo } from './resources/sandbox/sandbox.ts'
export { Scenario, ScenarioChanges, ScenarioItem } from './resources/sandbox/scenarios.ts'
export { Snapshot, SnapshotName } from './resources/sandbox/snapshots.ts'
export {
  BrandSafety,
  CallbackUrl,
  Delivery,
  DeliveryMode,
  SlotConfig,
  VariantContext,
  Verification,
} from './variant-fields.ts'
