/**
 * The whole contract in one value: every endpoint by its id, and every schema by its name.
 *
 * An endpoint stands in the file of its resource. A new file is added to one of the lists below, and nowhere else.
 */
import { z } from 'zod'
import * as oldClients from './compat.ts'
import * as access from './control/access.ts'
import * as beaconList from './control/beacons.ts'
import * as billing from './control/billing.ts'
import * as callbacks from './control/callbacks.ts'
import * as consentHistory from './control/consent.ts'
import * as events from './control/events.ts'
import * as evidence from './control/evidence.ts'
import * as faults from './control/faults.ts'
import * as placementList from './control/placements.ts'
import * as projects from './control/projects.ts'
import * as requests from './control/requests.ts'
import * as sandbox from './control/sandbox.ts'
import * as errors from './errors.ts'
import * as fields from './fields.ts'
import * as beacons from './v1/beacons.ts'
import * as browser from './v1/browser.ts'
import * as consent from './v1/consent.ts'
import * as jobs from './v1/jobs.ts'
import * as placements from './v1/placements.ts'
import * as projectConfig from './v1/projects.ts'
import * as render from './v1/render.ts'

/** The files of the public API, in the order of its document. */
const v1Files = [placements, jobs, browser, beacons, consent, projectConfig, render] as const

/** The files of the sandbox's own API, under `/_sandbox/`. */
const controlFiles = [
  sandbox,
  access,
  projects,
  placementList,
  beaconList,
  consentHistory,
  billing,
  evidence,
  requests,
  callbacks,
  events,
  faults,
] as const

export const v1 = endpointsOf(v1Files)
/** The routes for clients that exist, which the document does not list. Off with --strict. */
export const compat = oldClients.endpoints
export const control = endpointsOf(controlFiles)
export const contract = { ...v1, ...compat, ...control } as const
export type Contract = typeof contract
export type EndpointId = keyof Contract
export type CompatEndpointId = keyof typeof compat

type File = { readonly endpoints: object }
type IdOf<Group> = Group extends unknown ? keyof Group : never
/** One object with the endpoints of every file. */
type Merged<Group> = { readonly [Id in IdOf<Group>]: Extract<Group, Record<Id, unknown>>[Id] }

function endpointsOf<Files extends readonly File[]>(files: Files): Merged<Files[number]['endpoints']> {
  return Object.assign({}, ...files.map(({ endpoints }) => endpoints)) as Merged<Files[number]['endpoints']>
}

let names: Map<unknown, string> | null = null

/**
 * Returns the name that the file of a schema exports it by, or null when it exports none. OpenAPI components and the
 * variants of a body have these names. The form that a value has in a query is named after the value.
 */
export function schemaName(schema: unknown): string | null {
  names ??= new Map([errors, fields, ...v1Files, oldClients, ...controlFiles].flatMap(namedSchemas))
  return names.get(schema) ?? null
}

function namedSchemas(file: object): [unknown, string][] {
  return Object.entries(file).flatMap(([name, value]): [unknown, string][] =>
    value instanceof z.ZodType && !(value instanceof z.ZodPipe) && /^[A-Z]/.test(name) ? [[value, name]] : [],
  )
}
