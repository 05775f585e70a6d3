/** The operation behind every endpoint that responds with JSON. The compiler reports a missing one. */
import type { ReasonCode } from '#contract/errors.ts'
import type { CompatEndpointId, Contract, EndpointId } from '#contract/index.ts'
import { listBeacons } from './beacons/beacon-list.ts'
import { sendBeacon } from './beacons/beacons.ts'
import { recordUnreadable } from './beacons/unaccepted-beacons.ts'
import { reportBilling } from './billing.ts'
import { activateBrowser } from './browser.ts'
import { importBundle, listBundles, showBundle } from './bundles/imports.ts'
import { listCallbacks, resendCallback } from './callbacks.ts'
import { setConsent } from './consent.ts'
import { listConsent } from './consent-list.ts'
import type { Context, Operation, Services } from './context.ts'
import { getDecision } from './decisions.ts'
import { exportEvidence, listEvidence, signEvidence, verifyEvidence } from './evidence/evidence.ts'
import { createJob } from './jobs.ts'
import { createKey, listKeys, revokeKey } from './keys.ts'
import { explainPlacement } from './placements/placement-explanation.ts'
import { countFunnel, createPlacement, listPlacements } from './placements/placements.ts'
import { createProject, getProjectConfig, listProjects, showProject, updateProject } from './projects.ts'
import { countRequests, findRequests, getRequest, listRequests, nearestRequests, replayRequest } from './requests.ts'
import { listAudit } from './sandbox/audit.ts'
import { advanceClock, freezeClock, resumeClock, setClock, showClock } from './sandbox/clock.ts'
import { confirmGrant, listGrants, revokeGrant } from './sandbox/console.ts'
import { getContract, getOpenapi } from './sandbox/contract.ts'
import { replaceDemand } from './sandbox/demand.ts'
import { addFault, clearFaults, listFaults, removeFault } from './sandbox/faults.ts'
import { getLiveness, getReadiness } from './sandbox/health.ts'
import { deleteNamespace, listNamespaces } from './sandbox/namespaces.ts'
import { checkIntegrity, getInfo, stopSandbox } from './sandbox/sandbox.ts'
import { clearScenario, listScenarios, useScenario } from './sandbox/scenarios.ts'
import { deleteSnapshot, listSnapshots, resetSandbox, restoreSnapshot, saveSnapshot } from './sandbox/snapshots.ts'
import { createToken, listTokens, revokeToken } from './sandbox/tokens.ts'

/** Endpoints that the pipeline serves itself: their body or response is not JSON, or has files in it. */
type MediaEndpointId =
  | 'render.script'
  | 'render.frame'
  | 'events.stream'
  | 'sandbox.export'
  | 'sandbox.import'
  | 'bundles.page'
  | 'sandbox.metrics'
/** The routes of old clients are in sandbox/server/compat. */
export type JsonEndpointId = Exclude<EndpointId, MediaEndpointId | CompatEndpointId>

export const operations: { readonly [Id in JsonEndpointId]: Operation<Contract[Id]> } = {
  'placements.create': createPlacement,
  'jobs.create': createJob,
  'decisions.get': getDecision,
  'browser.activate': activateBrowser,
  'beacons.send': sendBeacon,
  'consent.set': setConsent,
  'projects.config': getProjectConfig,
  'health.live': getLiveness,
  'health.ready': getReadiness,
  'sandbox.info': getInfo,
  'sandbox.integrity': checkIntegrity,
  'sandbox.stop': stopSandbox,
  'sandbox.reset': resetSandbox,
  'snapshots.list': listSnapshots,
  'snapshots.save': saveSnapshot,
  'snapshots.restore': restoreSnapshot,
  'snapshots.delete': deleteSnapshot,
  'tokens.list': listTokens,
  'tokens.create': createToken,
  'tokens.revoke': revokeToken,
  'audit.list': listAudit,
  'namespaces.list': listNamespaces,
  'namespaces.delete': deleteNamespace,
  'console.list': listGrants,
  'console.confirm': confirmGrant,
  'console.revoke': revokeGrant,
  'clock.show': showClock,
  'clock.advance': advanceClock,
  'clock.set': setClock,
  'clock.freeze': freezeClock,
  'clock.resume': resumeClock,
  'projects.list': listProjects,
  'projects.show': showProject,
  'projects.create': createProject,
  'projects.update': updateProject,
  'keys.list': listKeys,
  'keys.create': createKey,
  'keys.revoke': revokeKey,
  'placements.funnel': countFunnel,
  'placements.list': listPlacements,
  'placements.explain': explainPlacement,
  'beacons.list': listBeacons,
  'consent.list': listConsent,
  'billing.report': reportBilling,
  'evidence.list': listEvidence,
  'evidence.export': exportEvidence,
  'evidence.manifest': signEvidence,
  'evidence.verify': verifyEvidence,
  'bundles.list': listBundles,
  'bundles.import': importBundle,
  'demand.replace': replaceDemand,
  'bundles.show': showBundle,
  'requests.list': listRequests,
  'requests.show': getRequest,
  'requests.find': findRequests,
  'requests.count': countRequests,
  'requests.nearest': nearestRequests,
  'requests.replay': replayRequest,
  'callbacks.list': listCallbacks,
  'callbacks.resend': resendCallback,
  'faults.list': listFaults,
  'faults.add': addFault,
  'faults.clear': clearFaults,
  'faults.remove': removeFault,
  'scenario.list': listScenarios,
  'scenario.use': useScenario,
  'scenario.clear': clearScenario,
  'contract.show': getContract,
  'contract.openapi': getOpenapi,
}

/**
 * Called for a request that the pipeline rejects although its credential is valid. `json` is its body without secrets;
 * undefined when it is not JSON, or contains secrets.
 */
export const onRejected: {
  readonly [Id in EndpointId]?: (
    services: Services,
    context: Context,
    reason_code: ReasonCode,
    json: unknown,
  ) => Promise<void>
} = {
  'beacons.send': recordUnreadable,
  'wrapper.beacon': recordUnreadable,
  'browser.beacon': recordUnreadable,
}
