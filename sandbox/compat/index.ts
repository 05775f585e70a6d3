/**
 * Routes that existing clients need beyond the API document: operations of v1 behind other paths and shapes. With
 * `strict` the pipeline leaves all of them out.
 */
import { generationEvents, type LegacyBeacon, type LegacyDecision } from '#contract/compat.ts'
import type { Endpoint } from '#contract/endpoint.ts'
import { ApiError } from '#contract/errors.ts'
import { decodeId } from '#contract/ids.ts'
import type { CompatEndpointId, Contract } from '#contract/index.ts'
import { type BeaconRequest, canonicalEvent, Measurements } from '#contract/resources/beacons.ts'
import type { FillDecision, PlacementResponse } from '#contract/resources/placements.ts'
import { isExactNumber } from '#foundation/exact-numbers.ts'
import { fillPath } from '#foundation/http.ts'
import { receiveBeacon } from '#operations/beacons.ts'
import { activateBrowser } from '#operations/browser.ts'
import { type Context, callerOf, type Operation, type Services } from '#operations/context.ts'
import { expiredReason, getDecision, placementResponse, slotOfCaller } from '#operations/decisions.ts'
import { createJob } from '#operations/jobs.ts'
import type { Surface } from '#runtime/access.ts'
import type { SlotRow } from '#store/store.ts'

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
  if (!Object.hasOwn(Measurements.shape, name)) return false
  return Measurements.shape[name as keyof Measurements].safeParse(value).success
}

/** Generation events: checked against their job and kept in the journal (C05). */
const reportGeneration: Operation<Contract['generation.report']> = async (services, context, { params }) => {
  if (!(generationEvents as readonly string[]).includes(params.event)) {
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
  const caller = callerOf(context)
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

/** Issues a ticket that is bound to the slot, the surface and the origin of its request. */
const issueTicket =
  (surface: Surface): Operation<Contract['wrapper.ticket']> =>
  async (services, context, { params }) => {
    const slot = await slotOfCaller(services, context, params.slot_id)
    const { origin, now_ms } = context
    const ticket = await services.tickets.issue({ slot_id: slot.id, surface, origin }, callerOf(context), now_ms)
    const subject = { project_id: slot.project.id, slot_id: slot.id, ref: slot.id }
    await services.store.appendEvent({ type: 'ticket.issued', at_ms: now_ms, ...subject })
    return { ticket }
  }

/** Both surfaces have the same shapes: an operation is typed by one of its endpoints. */
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

/** How long a creative without a length is shown, milliseconds. */
const stillDuration_ms = 3_000

/**
 * Resolves to the decision of a slot as sockets and callbacks send it: null while it is pending, undefined when the
 * slot is gone.
 */
export async function decisionText(services: Services, slot_id: number): Promise<string | null | undefined> {
  const slot = await services.store.findSlot(slot_id)
  if (slot === null) return undefined
  if (slot.decision === null) return null
  const now_ms = Math.max(services.platform.clock.now(), slot.decision.decided_at_ms)
  return JSON.stringify(await legacyDecision(services, slot, now_ms))
}

/** Resolves to the decision of a slot at a time, as it is polled, pushed and called back. */
async function legacyDecision(services: Services, slot: SlotRow, now_ms: number): Promise<LegacyDecision> {
  return toLegacyDecision(await placementResponse(services, slot, now_ms))
}

/** Returns a placement response of v1 in the shape of old clients. An expired one is a ready no-fill. */
function toLegacyDecision({ slot_id, status, decision }: PlacementResponse): LegacyDecision {
  const empty = {
    contract_version: 'csl_wrapper_decision/v1',
    slot_id,
    fill: null,
    reason: null,
    no_fill_reason: null,
    creative: null,
    asset_token: null,
    constraints: null,
    cs_declaration: null,
    revenue_estimate: null,
  } as const
  if (status === 'pending' || decision === null) return { ...empty, status: 'pending' }
  const { cs_declaration } = decision
  if (status === 'expired' || !decision.fill) {
    const no_fill_reason = decision.fill || status === 'expired' ? expiredReason : decision.no_fill_reason
    return { ...empty, status: 'ready', fill: false, reason: 'no_fill', no_fill_reason, cs_declaration }
  }
  const { asset_token, constraints, revenue_estimate, metadata } = decision
  return {
    ...empty,
    status: 'ready',
    fill: true,
    creative: creativeOf(decision),
    asset_token,
    constraints,
    cs_declaration,
    revenue_estimate,
    ...(metadata === undefined ? {} : { metadata }),
  }
}

function creativeOf(decision: FillDecision): NonNullable<LegacyDecision['creative']> {
  const { assets, delivery_url, format, duration_ms, dimensions, mime_type, click_url, sponsor_name } = decision
  return {
    url: assets?.image_url ?? delivery_url ?? '',
    type: format,
    duration_ms: duration_ms ?? stillDuration_ms,
    ...dimensions,
    ...nonEmpty({ mime_type, click_through_url: click_url, sponsor_name }),
    ...(assets === null ? {} : { native_assets: nativeAssetsOf(assets) }),
  }
}

function nativeAssetsOf({ title, image_url, ...optional }: NonNullable<FillDecision['assets']>) {
  return { title, image_url, ...nonEmpty(optional) }
}

/** Optional texts are absent or not empty: such a client treats an empty one as an error. */
function nonEmpty<Texts extends Record<string, string | undefined>>(texts: Texts): { [Name in keyof Texts]?: string } {
  return Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== undefined && text !== '')) as {
    [Name in keyof Texts]?: string
  }
}
