/**
 * What clients that exist need beyond the API document, as operations of v1 behind other paths and shapes. With
 * `strict` the pipeline leaves all of it out.
 */
import type { Endpoint } from '../../src/contract/endpoint.ts'
import type { CompatEndpointId, Contract } from '../../src/contract/index.ts'
import { fillPath } from '../../src/foundation/http.ts'
import type { Context, Services } from '../operations/context.ts'
import { createJob } from '../operations/jobs.ts'
import { sendLegacyBeacon } from './beacons.ts'
import { getLegacyDecision, issueTicket } from './decisions.ts'
import { reportGeneration, reportLegacyGeneration } from './generation.ts'

/** Both surfaces have the same shapes: an operation is typed by one of its endpoints. */
type CompatOperation = (services: Services, context: Context, input: never) => Promise<unknown>

/** Their responses are not JSON: the pipeline opens them. */
type SocketEndpointId = { [Id in CompatEndpointId]: Contract[Id]['status'] extends 101 ? Id : never }[CompatEndpointId]

export type CompatOperationId = Exclude<CompatEndpointId, SocketEndpointId>

export const compatOperations: Readonly<Record<CompatOperationId, CompatOperation>> = {
  'generation.report': reportGeneration,
  'wrapper.job': createJob,
  'wrapper.decision': getLegacyDecision,
  'browser.decision': getLegacyDecision,
  'wrapper.ticket': issueTicket('wrapper'),
  'browser.ticket': issueTicket('browser'),
  'wrapper.generation': reportLegacyGeneration,
  'browser.generation': reportLegacyGeneration,
  'wrapper.beacon': sendLegacyBeacon,
  'browser.beacon': sendLegacyBeacon,
}

/** The headers that every response of a deprecated endpoint has: that it is one, and what replaces it. */
export function deprecationHeaders(
  { successor }: Pick<Endpoint, 'successor'>,
  params: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  if (successor === undefined) return {}
  const isComplete = [...successor.matchAll(/\{(\w+)\}/g)].every(([, name]) => params[name!] !== undefined)
  const link = isComplete ? { link: `<${fillPath(successor, params)}>; rel="successor-version"` } : {}
  return { deprecation: 'true', ...link }
}
