/**
 * What the package exports as `svc-sandbox/contract`: the endpoints, every schema with its type, the lists and constants of
 * the contract, and the document computed from them. It needs zod alone: it also runs in pages, and on Node 20.
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
export { BeaconItem, BeaconReason, Metric, Verdict } from './control/beacons.ts'
export { BillingLine, BillingReport } from './control/billing.ts'
export { CallbackItem, CallbackStatus } from './control/callbacks.ts'
export { ConsentItem } from './control/consent.ts'
export { EventType, eventTypes, SandboxEvent } from './control/events.ts'
export {
  Checkpoint,
  EvidenceEntry,
  EvidenceExport,
  EvidenceItem,
  EvidenceKind,
  EvidenceVerification,
} from './control/evidence.ts'
export {
  FaultDraft,
  FaultEffect,
  FaultPath,
  FaultRule,
  RetryAfterFormat,
  Scenario,
  ScenarioChanges,
  ScenarioItem,
} from './control/faults.ts'
export { BillingVerdict, PartnerRequest, PlacementDetail, PlacementItem, TraceStep } from './control/placements.ts'
export {
  defaultSettings,
  KeyClass,
  KeyCreated,
  KeyCreation,
  KeyItem,
  PlacementDefaults,
  ProjectCreated,
  ProjectCreation,
  ProjectDetail,
  ProjectItem,
  ProjectSettings,
  RateLimits,
  SecretKeyInBrowser,
  ViewabilityRules,
} from './control/projects.ts'
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
} from './control/requests.ts'
export { Integrity, SandboxClock, SandboxInfo, Snapshot, SnapshotName } from './control/sandbox.ts'
export type { Credential, Endpoint, Input, Output, Parsed, RateClass, Stability } from './endpoint.ts'
export { acceptMeanings, type ErrorCode, errorCodes, type ReasonCode, reasonCodes } from './error-codes.ts'
export { ErrorBody, FieldError } from './errors.ts'
export {
  AssetToken,
  AuthoritativeConsent,
  Category,
  ClientId,
  ConsentId,
  ConsentMechanism,
  ConsentState,
  ContractVersion,
  Currency,
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
export { type Provenance, type Source, sourceOf } from './objects.ts'
export { openapiDocument } from './openapi.ts'
export {
  AcceptCode,
  acceptCodes,
  BeaconEvent,
  BeaconEventInput,
  BeaconRequest,
  BeaconResult,
  beaconEvents,
  clipEvents,
  Measurements,
  secondsBelow,
} from './v1/beacons.ts'
export { ActivationRequest, ActivationResult } from './v1/browser.ts'
export { ConsentDecision, ConsentRequest, ConsentStored, consentDecisions, Purposes } from './v1/consent.ts'
export {
  BrandSafety,
  BrowserJobRequest,
  CallbackUrl,
  Delivery,
  DeliveryMode,
  JobAccepted,
  JobPrompt,
  JobPromptObject,
  JobRequest,
  SlotConfig,
  Verification,
} from './v1/jobs.ts'
export {
  Constraints,
  Decision,
  DecisionMetadata,
  FillDecision,
  NativeAssets,
  NoFillDecision,
  Placement,
  PlacementRequest,
  PlacementResponse,
  Render,
} from './v1/placements.ts'
export { BillingModel, ConsentRules, ProjectConfig } from './v1/projects.ts'
