/** The whole contract in one value: every endpoint by its id. */
import { listBeacons } from './control/beacons.ts'
import { reportBilling } from './control/billing.ts'
import { advanceClock, freezeClock, resumeClock, setClock, showClock } from './control/clock.ts'
import { listConsent } from './control/consent.ts'
import { getContract, getOpenapi } from './control/contract.ts'
import { streamEvents } from './control/events.ts'
import { exportEvidence, listEvidence, verifyEvidence } from './control/evidence.ts'
import { addFault, clearFaults, listFaults, removeFault } from './control/faults.ts'
import { getInfo, getLiveness, getReadiness } from './control/sandbox.ts'
import { getIntegrity } from './control/integrity.ts'
import { createKey, listKeys, revokeKey } from './control/keys.ts'
import { explainPlacement, listPlacements } from './control/placements.ts'
import { createProject, listProjects, showProject, updateProject } from './control/project-admin.ts'
import { replayRequest } from './control/replay.ts'
import { countRequests, findRequests, getRequest, listRequests, nearestRequests } from './control/requests.ts'
import { resetSandbox } from './control/reset.ts'
import { clearScenario, listScenarios, useScenario } from './control/scenarios.ts'
import {
  deleteSnapshot,
  exportState,
  importState,
  listSnapshots,
  restoreSnapshot,
  saveSnapshot,
} from './control/snapshots.ts'
import { activateBrowser } from './v1/browser.ts'
import { sendBeacon } from './v1/beacons.ts'
import { getProjectConfig } from './v1/projects.ts'
import { setConsent } from './v1/consent.ts'
import { getDecision } from './v1/decisions.ts'
import { createJob } from './v1/jobs.ts'
import { createPlacement } from './v1/placements.ts'
import { getFrame, getRenderScript } from './v1/render.ts'

/** The public API, in the order of its document. */
export const v1 = {
  'placements.create': createPlacement,
  'jobs.create': createJob,
  'decisions.get': getDecision,
  'browser.activate': activateBrowser,
  'beacons.send': sendBeacon,
  'consent.set': setConsent,
  'projects.config': getProjectConfig,
  'render.script': getRenderScript,
  'render.frame': getFrame,
} as const

/** The sandbox's own API, under `/_sandbox/`. */
export const control = {
  'health.live': getLiveness,
  'health.ready': getReadiness,
  'sandbox.info': getInfo,
  'sandbox.integrity': getIntegrity,
  'sandbox.reset': resetSandbox,
  'sandbox.export': exportState,
  'sandbox.import': importState,
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
  'events.stream': streamEvents,
  'faults.list': listFaults,
  'faults.add': addFault,
  'faults.clear': clearFaults,
  'faults.remove': removeFault,
  'scenario.list': listScenarios,
  'scenario.use': useScenario,
  'scenario.clear': clearScenario,
  'contract.show': getContract,
  'contract.openapi': getOpenapi,
} as const

export const contract = { ...v1, ...control } as const
export type Contract = typeof contract
export type EndpointId = keyof Contract
