/**
 * What clients that exist need beyond the API document, as operations of v1 behind other paths and shapes. With
 * `strict` the pipeline leaves all of it out.
 */
import { generationEvents, type LegacyBeacon } from '../../src/contract/compat.ts'
import type { Endpoint } from '../../src/contract/endpoint.ts'
import { ApiError } from '../../src/contract/errors.ts'
import { decodeId } from '../../src/contract/ids.ts'
import type { CompatEndpointId, Contract } from '../../src/contract/index.ts'
import { type BeaconRequest, canonicalEvent, Measurements } from '../../src/contract/v1/beacons.ts'
import { fillPath } from '../../src/foundation/http.ts'
import { receiveBeacon } from '../operations/beacons.ts'
import { type Context, callerOf, type Operation, type Services } from '../operations/context.ts'
import { createJob } from '../operations/jobs.ts'
import { getLegacyDecision, issueTicket } from './decisions.ts'

/** Beacons of the shape of old clients, as beacons of v1 (C06). */
const sendLegacyBeacon: Operation<Contract['wrapper.beacon']> = async (services, context, { body }) =>
  receiveBeacon(services, context, toBeacon(body), true)

/** Returns the same beacon as POST /v1/beacons takes it. Measurements that it does not have become metadata. */
function toBeacon(body: LegacyBeacon): BeaconRequest {
  const { contract_version, beacon_id, asset_token, beacon_type, occurred_at_ms_client, measurements = {} } = body
  const known: Record<string, unknown> = {}
  const others: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(measurements)) {
    ;(isMeasurement(name, value) ? known : others)[name] = value
  }
  return {
    beacon_id,
    asset_token,
    event: canonicalEvent(beacon_type),
    occurred_at_ms: Math.floor(occurred_at_ms_client),
    ...(Object.keys(known).length === 0 ? {} : { measurements: known }),
    ...(Object.keys(others).length === 0 ? {} : { metadata: others }),
    ...(contract_version === undefined ? {} : { contract_version }),
  }
}

function isMeasurement(name: string, value: unknown): boolean {
  if (!Object.hasOwn(Measurements.shape, name)) return false
  return Measurements.shape[name as keyof Measurements].safeParse(value).success
}

/** Generation events: checked against their job and kept in the journal (C05). */
const reportGeneration: Operation<Contract['generation.report']> = async (services, context, { params }) => {
  if (!(generationEvents as readonly string[]).includes(params.event)) {
    throw new ApiError('not_found', {
      message: 'There is no such generation event.',
      hint: `Report one of ${generationEvents.join(', ')}.`,
    })
  }
  return recordGeneration(services, context, params.job_id)
}

const reportLegacyGeneration: Operation<Contract['wrapper.generation']> = async (
  services,
  context,
  { params, body },
) => {
  if (body.contract_version?.endsWith('/v1') === false) throw new ApiError('contract_version_unsupported')
  const accepted = await recordGeneration(services, context, params.job_id)
  context.headers.link = `</v1/jobs/${params.job_id}/generation/${body.generation_event}>; rel="successor-version"`
  return accepted
}

/** @throws ApiError 404 for a job that is unknown, of another project or of the other mode */
async function recordGeneration(services: Services, context: Context, job_id: string) {
  const caller = callerOf(context)
  const id = decodeId('job', job_id)
  const job = id === null ? null : await services.store.findJob(id)
  if (job === null || job.project_id !== caller.project.id || job.mode !== caller.mode) {
    throw new ApiError('not_found', {
      message: 'There is no such job for this project and mode.',
      hint: 'Use a job_id of this project, with a key of the same mode (test or live) that created it.',
    })
  }
  context.subject.session_id = job.session_id
  return { accepted: true as const }
}

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
