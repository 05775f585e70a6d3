/** The whole contract in one value: every endpoint by its id. */
import { listBeacons } from './control/beacons.ts'
import { advanceClock, freezeClock, resumeClock, setClock, showClock } from './control/clock.ts'
import { getContract, getOpenapi } from './control/contract.ts'
import { streamEvents } from './control/events.ts'
import { verifyEvidence } from './control/evidence.ts'
import { getInfo, getLiveness, getReadiness } from './control/health.ts'
import { getIntegrity } from './control/integrity.ts'
import { createKey, listKeys, revokeKey } from './control/keys.ts'
import { explainPlacement, listPlacements } from './control/placements.ts'
import { createProject, listProjects, showProject, updateProject } from './control/project-admin.ts'
import { getRequest, listRequests } from './control/requests.ts'
import { resetSandbox } from './control/reset.ts'
import { activateBrowser } from './v1/activation.ts'
import { sendBeacon } from './v1/beacons.ts'
import { getProjectConfig } from './v1/config.ts'
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
  'evidence.verify': verifyEvidence,
  'requests.list': listRequests,
  'requests.show': getRequest,
  'events.stream': streamEvents,
  'contract.show': getContract,
  'contract.openapi': getOpenapi,
} as const

export const contract = { ...v1, ...control } as const
export type Contract = typeof contract
export type EndpointId = keyof Contract
