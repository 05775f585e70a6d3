/**
 * The name of a schema is the name it is exported by: `PlacementRequest`, `AuthoritativeConsent`. The OpenAPI document
 * uses these as the names of its components, the listing to tell the shapes of a body apart.
 *
 * A new file of the contract is added to `modules`; a test compares that list with the folder.
 */
import { z } from 'zod'
import * as controlBeacons from './control/beacons.ts'
import * as controlBilling from './control/billing.ts'
import * as controlClock from './control/clock.ts'
import * as controlConsent from './control/consent.ts'
import * as controlContract from './control/contract.ts'
import * as controlEvents from './control/events.ts'
import * as controlEvidence from './control/evidence.ts'
import * as controlFaults from './control/faults.ts'
import * as controlHealth from './control/sandbox.ts'
import * as controlIntegrity from './control/integrity.ts'
import * as controlKeys from './control/keys.ts'
import * as controlPaging from './control/paging.ts'
import * as controlPlacements from './control/placements.ts'
import * as controlProjectAdmin from './control/project-admin.ts'
import * as controlProjects from './control/projects.ts'
import * as controlReplay from './control/replay.ts'
import * as controlRequests from './control/requests.ts'
import * as controlReset from './control/reset.ts'
import * as controlScenarios from './control/scenarios.ts'
import * as controlSnapshots from './control/snapshots.ts'
import * as errors from './errors.ts'
import * as fields from './fields.ts'
import * as activation from './v1/browser.ts'
import * as beacons from './v1/beacons.ts'
import * as config from './v1/projects.ts'
import * as consent from './v1/consent.ts'
import * as decisions from './v1/decisions.ts'
import * as jobs from './v1/jobs.ts'
import * as placements from './v1/placements.ts'
import * as render from './v1/render.ts'

/** Every file that exports schemas, by its path. */
export const modules: Readonly<Record<string, object>> = {
  'errors.ts': errors,
  'fields.ts': fields,
  'v1/activation.ts': activation,
  'v1/beacons.ts': beacons,
  'v1/config.ts': config,
  'v1/consent.ts': consent,
  'v1/decisions.ts': decisions,
  'v1/jobs.ts': jobs,
  'v1/placements.ts': placements,
  'v1/render.ts': render,
  'control/beacons.ts': controlBeacons,
  'control/clock.ts': controlClock,
  'control/billing.ts': controlBilling,
  'control/consent.ts': controlConsent,
  'control/contract.ts': controlContract,
  'control/events.ts': controlEvents,
  'control/evidence.ts': controlEvidence,
  'control/faults.ts': controlFaults,
  'control/health.ts': controlHealth,
  'control/integrity.ts': controlIntegrity,
  'control/keys.ts': controlKeys,
  'control/paging.ts': controlPaging,
  'control/placements.ts': controlPlacements,
  'control/project-admin.ts': controlProjectAdmin,
  'control/projects.ts': controlProjects,
  'control/requests.ts': controlRequests,
  'control/replay.ts': controlReplay,
  'control/scenarios.ts': controlScenarios,
  'control/reset.ts': controlReset,
  'control/snapshots.ts': controlSnapshots,
}

const names = new Map<unknown, string>()
for (const module of Object.values(modules)) {
  for (const [name, value] of Object.entries(module)) {
    if (isNameable(value) && /^[A-Z]/.test(name)) names.set(value, name)
  }
}

/** The export name of exactly this schema: an object, a union or an enumeration; null for any other. */
export function schemaName(schema: unknown): string | null {
  return names.get(schema) ?? null
}

function isNameable(value: unknown): boolean {
  return value instanceof z.ZodObject || value instanceof z.ZodUnion || value instanceof z.ZodEnum
}
