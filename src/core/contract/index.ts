/**
 * The whole contract in one value: every endpoint by its id, and every schema by its name.
 *
 * An endpoint is in the file of its resource: in `v1` of that file when it is in the API document, in `control` when it is
 * the sandbox's own, under `/_sandbox/`. A new file is added to the lists below, and nowhere else.
 */
import { z } from 'zod'
import * as oldClients from './compat.ts'
import * as errors from './errors.ts'
import * as fields from './fields.ts'
import * as beacons from './resources/beacons.ts'
import * as billing from './resources/billing.ts'
import * as browser from './resources/browser.ts'
import * as bundles from './resources/bundles.ts'
import * as callbacks from './resources/callbacks.ts'
import * as consent from './resources/consent.ts'
import * as decisions from './resources/decisions.ts'
import * as events from './resources/events.ts'
import * as evidence from './resources/evidence.ts'
import * as funnel from './resources/funnel.ts'
import * as jobs from './resources/jobs.ts'
import * as keys from './resources/keys.ts'
import * as placements from './resources/placements.ts'
import * as projects from './resources/projects.ts'
import * as render from './resources/render.ts'
import * as requests from './resources/requests.ts'
import * as audit from './resources/sandbox/audit.ts'
import * as clock from './resources/sandbox/clock.ts'
import * as pageConsole from './resources/sandbox/console.ts'
import * as shownContract from './resources/sandbox/contract.ts'
import * as demand from './resources/sandbox/demand.ts'
import * as faults from './resources/sandbox/faults.ts'
import * as health from './resources/sandbox/health.ts'
import * as metrics from './resources/sandbox/metrics.ts'
import * as namespaces from './resources/sandbox/namespaces.ts'
import * as sandbox from './resources/sandbox/sandbox.ts'
import * as scenarios from './resources/sandbox/scenarios.ts'
import * as snapshots from './resources/sandbox/snapshots.ts'
import * as tokens from './resources/sandbox/tokens.ts'
import * as variants from './variant-fields.ts'

/** The public API, in the order of its document. */
const v1Files = [placements, jobs, decisions, browser, beacons, consent, projects, render] as const

/** The sandbox's own API. */
const controlFiles = [
  health,
  sandbox,
  metrics,
  snapshots,
  clock,
  shownContract,
  tokens,
  audit,
  namespaces,
  demand,
  pageConsole,
  projects,
  keys,
  placements,
  beacons,
  consent,
  billing,
  evidence,
  bundles,
  requests,
  callbacks,
  events,
  faults,
  scenarios,
] as const

export const v1 = merged(v1Files.map(({ v1 }) => v1))
/** The routes for existing clients, which the document does not list. Off with --strict. */
export const compat = oldClients.endpoints
export const control = merged(controlFiles.map(({ control }) => control))
export const contract = { ...v1, ...compat, ...control } as const
export type Contract = typeof contract
export type EndpointId = keyof Contract
export type CompatEndpointId = keyof typeof compat

type IdOf<Group> = Group extends unknown ? keyof Group : never
/** One object with the endpoints of every group. */
type Merged<Group> = { readonly [Id in IdOf<Group>]: Extract<Group, Record<Id, unknown>>[Id] }

function merged<Group extends object>(groups: readonly Group[]): Merged<Group> {
  return Object.assign({}, ...groups) as Merged<Group>
}

let names: Map<unknown, string> | null = null

/**
 * Returns the name that a schema's file exports it by, or null when it is not exported. OpenAPI components and the
 * variants of a body have these names. The query form of a value is named after the value.
 */
export function schemaName(schema: unknown): string | null {
  names ??= new Map([errors, fields, variants, funnel, ...v1Files, oldClients, ...controlFiles].flatMap(namedSchemas))
  return names.get(schema) ?? null
}

function namedSchemas(file: object): [unknown, string][] {
  return Object.entries(file).flatMap(([name, value]): [unknown, string][] =>
    value instanceof z.ZodType && !(value instanceof z.ZodPipe) && /^[A-Z]/.test(name) ? [[value, name]] : [],
  )
}
