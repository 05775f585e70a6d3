/** The operation behind every endpoint whose answer is JSON. The compiler names the missing one. */

import type { ReasonCode } from '../../src/contract/errors.ts'
import type { Contract, EndpointId } from '../../src/contract/index.ts'
import { keepUnreadable, sendBeacon } from './beacons.ts'
import { reportBilling } from './billing.ts'
import { activateBrowser } from './browser.ts'
import { advanceClock, freezeClock, resumeClock, setClock, showClock } from './clock.ts'
import { listConsent, setConsent } from './consent.ts'
import type { Context, Operation, Services } from './context.ts'
import {
  explainPlacement,
  getContract,
  getInfo,
  getLiveness,
  getOpenapi,
  getReadiness,
  listBeacons,
  listPlacements,
} from './control.ts'
import { verifyEvidence } from './evidence.ts'
import { exportEvidence, listEvidence } from './evidence-export.ts'
import { addFault, clearFaults, listFaults, removeFault } from './faults.ts'
import { checkIntegrity } from './integrity.ts'
import { createJob } from './jobs.ts'
import { createKey, listKeys, revokeKey } from './keys.ts'
import { createPlacement, getDecision } from './placements.ts'
import { createProject, listProjects, showProject, updateProject } from './project-admin.ts'
import { getProjectConfig } from './projects.ts'
import { replayRequest } from './replay.ts'
import { countRequests, findRequests, getRequest, listRequests, nearestRequests } from './requests.ts'
import { clearScenario, listScenarios, useScenario } from './scenarios.ts'
import { deleteSnapshot, listSnapshots, resetSandbox, restoreSnapshot, saveSnapshot } from './snapshots.ts'

/** Endpoints whose body or answer is not JSON: the door serves them itself. */
export type MediaEndpointId = 'render.script' | 'render.frame' | 'events.stream' | 'sandbox.export' | 'sandbox.import'
export type JsonEndpointId = Exclude<EndpointId, MediaEndpointId>

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
  'sandbox.reset': resetSandbox,
  'snapshots.list': listSnapshots,
  'snapshots.save': saveSnapshot,
  'snapshots.restore': restoreSnapshot,
  'snapshots.delete': deleteSnapshot,
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
  'placements.list': listPlacements,
  'placements.explain': explainPlacement,
  'beacons.list': listBeacons,
  'consent.list': listConsent,
  'billing.report': reportBilling,
  'evidence.list': listEvidence,
  'evidence.export': exportEvidence,
  'evidence.verify': verifyEvidence,
  'requests.list': listRequests,
  'requests.show': getRequest,
  'requests.find': findRequests,
  'requests.count': countRequests,
  'requests.nearest': nearestRequests,
  'requests.replay': replayRequest,
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

/** What is kept of a request that the door has refused after its credential was found good. */
export const onRefused: {
  readonly [Id in EndpointId]?: (services: Services, context: Context, reason_code: ReasonCode) => Promise<void>
} = {
  'beacons.send': keepUnreadable,
}
