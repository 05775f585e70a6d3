/**
 * Routes that existing clients need beyond the API document: operations of v1 behind other paths and shapes. With
 * `strict` the pipeline leaves all of them out.
 */

import { generationEvents, type LegacyBeacon } from '#contract/compat.ts'
import type { Endpoint } from '#contract/endpoint.ts'
import { ApiError } from '#contract/errors.ts'
import { decodeId } from '#contract/ids.ts'
import type { CompatEndpointId, Contract } from '#contract/index.ts'
import { type BeaconRequest, canonicalEvent, Measurements } from '#contract/resources/beacons.ts'
import { fillPath } from '#foundation/http.ts'
import { isExactNumber } from '#foundation/json/exact-numbers.ts'
import { isListed, isTableName } from '#foundation/table-entry.ts'
import { receiveBeacon } from '#operations/beacons/beacons.ts'
import { activateBrowser } from '#operations/browser.ts'
import { type Context, type Operation, requireCaller, type Services } from '#operations/context.ts'
import { getDecision, slotOfCaller } from '#operations/decisions.ts'
import { createJob } from '#operations/jobs.ts'
import type { ClientSide } from '#runtime/tickets.ts'
import { toLegacyDecision } from './decisions.ts'

/** Beacons in the shape of old clients, converted to v1 beacons (C06). */
const sendLegacyBeacon: Operation<Contract['wrapper.beacon']> = async (services, context, { body }) =>
  receiveBeacon(services, context, toBeacon(body), true)

/** Returns the beacon in the shape of POST /v1/beacons. Measurements unknown to v1 become metadata. */
function toBeacon(body: LegacyBeacon): BeaconRequest {
  const { contract_version, beacon_id, asset_token, beacon_type, occurred_at_ms_client, measurements = {} } = body
  const known: Record<string, unknown> = {}
  const others: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(measurements)) {
    const typed = isExactNumber(value) ? Number(value.rawJSON) : value
    if (isMeasurement(name, typed)) known[name] = typed
    else others[name] = value
  }
  return {
    beacon_id,
    asset_token,
    event: canonicalEvent(beacon_type),
    occurred_at_ms: Math.min(Math.floor(occurred_at_ms_client), Number.MAX_SAFE_INTEGER),
    ...(Object.keys(known).length === 0 ? {} : { measurements: known }),
    ...(Object.keys(others).length === 0 ? {} : { metadata: others }),
    ...(contract_version === undefined ? {} : { contract_version }),
  }
}

function isMeasurement(name: string, value: unknown): boolean {
  return isTableName(Measurements.shape, name) && Measurements.shape[name].safeParse(value).success
}

/** Generation events: checked against their job and kept in the journal (C05). */
const reportGeneration: Operation<Contract['generation.report']> = async (services, context, { params }) => {
  if (!isListed(generationEvents, params.event)) {
    throw new ApiError('not_found', {
      message: 'Unknown generation event.',
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
  const caller = requireCaller(context)
  const id = decodeId('job', job_id)
  const job = id === null ? null : await services.store.findJob(id)
  if (job === null || job.project_id !== caller.project.id || job.mode !== caller.mode) {
    throw new ApiError('not_found', {
      message: 'No such job for this project and mode.',
      hint: 'Use a job_id of this project, with a key of the same mode (test or live) that created it.',
    })
  }
  context.subject.session_id = job.session_id
  return { accepted: true as const }
}

/**
 * The decision of a slot as old clients get it: polled, in the shape that they know (C03), or pushed, with a ticket
 * (C04).
 */
const getLegacyDecision: Operation<Contract['wrapper.decision']> = async (services, context, { params, query, body }) =>
  toLegacyDecision(await getDecision(services, context, { params, query, body }))

/** Issues a ticket that is bound to the slot, the side and the origin of its request. */
const issueTicket =
  (side: ClientSide): Operation<Contract['wrapper.ticket']> =>
  async (services, context, { params }) => {
    const slot = await slotOfCaller(services, context, params.slot_id)
    const { origin, now_ms } = context
    const ticket = await services.tickets.issue({ slot_id: slot.id, side, origin }, requireCaller(context), now_ms)
    const subject = { project_id: slot.project.id, slot_id: slot.id, ref: slot.id }
    await services.store.appendEvent({ type: 'ticket.issued', at_ms: now_ms, ...subject })
    return { ticket }
  }

/** Both sides have the same shapes: an operation is typed by one of its endpoints. */
type CompatOperation = (services: Services, context: Context, input: never) => Promise<unknown>

/** Their responses are not JSON: the pipeline opens them. */
type SocketEndpointId = { [Id in CompatEndpointId]: Contract[Id]['status'] extends 101 ? Id : never }[CompatEndpointId]

export type CompatOperationId = Exclude<CompatEndpointId, SocketEndpointId>

export const compatOperations: Readonly<Record<CompatOperationId, CompatOperation>> = {
  'browser.activation': activateBrowser,
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

/** The headers of every response of a deprecated endpoint: the deprecation, and the replacement. */
export function deprecationHeaders(
  { successor }: Pick<Endpoint, 'successor'>,
  params: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  if (successor === undefined) return {}
  const isComplete = [...successor.matchAll(/\{(\w+)\}/g)].every(([, name]) => params[name!] !== undefined)
  const link = isComplete ? { link: `<${fillPath(successor, params)}>; rel="successor-version"` } : {}
  return { deprecation: 'true', ...link }
}
