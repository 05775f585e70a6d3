import { nextCursor } from '#client/client.ts'
import { ServiceError } from '#client/errors.ts'
import { acceptMeanings, reasonCodes } from '#contract/error-codes.ts'
import type { ErrorBody } from '#contract/errors.ts'
import type { BeaconItem, ListedRequest, PlacementItem } from '#contract/exports.ts'
import { noFillReasons } from '#contract/no-fill.ts'
import { describeField } from '#contract/words/error-lines.ts'
import { parseJsonObject } from '#foundation/json.ts'
import { findEntry } from '#foundation/table-entry.ts'
import { type BeaconFilter, sinceQuery, type TestSandbox } from './test-sandbox.ts'

/** Maximum number of lines of each kind in a message. */
const maxLines = 12

/** A beacon that was refused: stored as rejected, or refused before it was read, such as one with an unknown key. */
interface RejectedBeacon {
  event: string
  slot_id: string | null
  reason_code: string
  /** The request that sent it; null when the journal does not have it. */
  request: ListedRequest | null
}

/** Returns the message of a wait for an accepted beacon that never arrived. */
export async function describeMissingBeacon(
  sandbox: TestSandbox,
  event: string,
  filter: BeaconFilter,
  timeout_ms: number,
): Promise<string> {
  const within = timeout_ms > 0 ? ` within ${timeout_ms} ms` : ''
  return `No accepted ${event} beacon${describeFilter(filter)} arrived${within}.\n\n${await describeBeacons(sandbox, filter)}`
}

/** Returns ` of slot_1, session s1`, or nothing for an empty filter. */
export function describeFilter({ slot_id, session_id, client_id, format }: BeaconFilter): string {
  const parts = [
    slot_id,
    session_id === undefined ? undefined : `session ${session_id}`,
    client_id === undefined ? undefined : `project ${client_id}`,
    format === undefined ? undefined : `format ${format}`,
  ].filter((part) => part !== undefined)
  return parts.length === 0 ? '' : ` of ${parts.join(', ')}`
}

/** Returns the decided placements and the beacons that arrived: for a failure that may involve both. */
export async function describeReceived(sandbox: TestSandbox): Promise<string> {
  const parts = await Promise.all([describePlacements(sandbox), beaconLines(sandbox, {})])
  return parts.flat().join('\n')
}

/**
 * Returns which beacons arrived, which were rejected and why, and what would have been billed; the placements when no
 * beacon arrived.
 */
export async function describeBeacons(sandbox: TestSandbox, filter: BeaconFilter): Promise<string> {
  const lines = await beaconLines(sandbox, filter)
  return [...lines, ...(lines.length === 1 ? [await describePlacements(sandbox, filter)] : [])].join('\n')
}

async function beaconLines(sandbox: TestSandbox, filter: BeaconFilter): Promise<string[]> {
  const [beacons, rejected] = await Promise.all([sandbox.beacons(filter), rejectedBeacons(sandbox, filter)])
  const accepted = beacons.filter(({ verdict }) => verdict !== 'rejected').toReversed()
  if (accepted.length === 0 && rejected.length === 0) {
    const elsewhere = (await sandbox.beacons()).length
    const others = elsewhere === 0 ? '' : ` Other beacons: ${elsewhere}.`
    return [`No beacon${describeFilter(filter)} arrived.${others}`]
  }
  const billed = accepted.filter(({ would_bill }) => would_bill)
  return [
    'Beacons that arrived:',
    ...limited(accepted, describeAccepted),
    ...limited(rejected, describeRejected),
    `Would be billed: ${billed.map(({ event, metric }) => `${event} (${metric})`).join(', ') || 'nothing'}.`,
  ]
}

function describeAccepted({ verdict, event, slot_id, reason_code, would_bill }: BeaconItem): string {
  const meaning = findEntry(acceptMeanings, reason_code) ?? reason_code
  const why = reason_code === 'OK' ? (would_bill ? ', would be billed' : '') : `, ${reason_code}: ${meaning}`
  return `  ${verdict.padEnd(9)}  ${event} of ${slot_id}${why}`
}

/** Returns the lines about a rejected beacon: its code, the invalid fields, and the fix. */
export function describeRejected({ event, slot_id, reason_code, request }: RejectedBeacon): string {
  const body = parseJsonObject(request?.response_body ?? '') as Partial<ErrorBody> | null
  const { message, hint } = findEntry(reasonCodes, reason_code) ?? {}
  const fields = body?.fields ?? []
  return [
    `  rejected   ${event}${slot_id === null ? '' : ` of ${slot_id}`}, ${reason_code}: ${body?.message ?? message ?? ''}`.trimEnd(),
    ...fields.map((field) => `             ${describeField(field)}`),
    `             fix: ${body?.hint ?? hint ?? 'See svc beacons list.'}`,
  ].join('\n')
}

/**
 * Returns the rejected beacons of a test, oldest first: stored ones, and ones that were refused before they were read. A
 * beacon of an unknown slot or session passes every filter, because it may belong to any of them.
 */
export async function rejectedBeacons(sandbox: TestSandbox, filter: BeaconFilter): Promise<RejectedBeacon[]> {
  const [beacons, refused] = await Promise.all([sandbox.beacons(), refusedRequests(sandbox)])
  const used = new Set<ListedRequest>()
  const stored = beacons
    .filter(({ verdict }) => verdict === 'rejected')
    .map((beacon): RejectedBeacon & BeaconSubject => {
      const request = refused.find((each) => !used.has(each) && isAbout(each, beacon)) ?? null
      if (request !== null) used.add(request)
      const { reason_code, session_id, client_id, format } = beacon
      const slot_id = beacon.slot_id ?? readSlot(request)
      return { event: beacon.event ?? readEvent(request), slot_id, reason_code, request, session_id, client_id, format }
    })
  const early = refused
    .filter((each) => !used.has(each) && isRefusedEarly(each))
    .map((request): RejectedBeacon & BeaconSubject => {
      const reason_code = request.reason_code ?? `status ${request.status}`
      const { client_id, session_id } = request
      return {
        event: readEvent(request),
        slot_id: readSlot(request),
        reason_code,
        request,
        session_id,
        client_id,
        format: null,
      }
    })
  const names = ['slot_id', 'session_id', 'client_id', 'format'] as const
  const isMeant = (beacon: BeaconSubject) =>
    names.every((name) => filter[name] === undefined || beacon[name] === null || beacon[name] === filter[name])
  return [...stored, ...early].filter(isMeant).toReversed()
}

type BeaconSubject = Pick<BeaconItem, 'slot_id' | 'session_id' | 'client_id' | 'format'>

/** Returns the slot that a request names, directly or by its asset token, which contains the number of the slot. */
function readSlot(request: ListedRequest | null): string | null {
  const { slot_id, asset_token } = parseJsonObject(request?.request_body ?? '') ?? {}
  if (typeof slot_id === 'string') return slot_id
  const [, number] = /^ast_([0-9a-z]{11})_/.exec(typeof asset_token === 'string' ? asset_token : '') ?? []
  return number === undefined ? null : `slot_${number}`
}

/** Returns the beacon requests that were refused for good, newest first, including those of pages that no project allows. */
async function refusedRequests(sandbox: TestSandbox): Promise<ListedRequest[]> {
  const query = {
    path: '/v1/beacons',
    status_class: '4xx',
    details: 'true',
    limit: 250,
    ...sinceQuery(sandbox),
  } as const
  const items: ListedRequest[] = []
  // Each response covers a limited part of the journal.
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await sandbox.client.requests.list({ query: cursor === undefined ? query : { ...query, cursor } })
    items.push(...page.items)
    cursor = nextCursor(page, cursor)
  }
  const foreign = await sandbox.client.requests.list({ query: { ...query, foreign: 'true' } })
  return [...items, ...foreign.items].filter(({ method, status }) => method === 'POST' && status !== 429)
}

function isAbout({ reason_code, request_body }: ListedRequest, beacon: BeaconItem): boolean {
  const { beacon_id } = parseJsonObject(request_body ?? '') ?? {}
  return reason_code === beacon.reason_code && (beacon.beacon_id === null || beacon_id === beacon.beacon_id)
}

/** Whether a request was refused before its beacon was read, so that no beacon is stored. */
function isRefusedEarly({ status }: ListedRequest): boolean {
  return [401, 403, 413, 415].includes(status)
}

function readEvent(request: ListedRequest | null): string {
  const { event } = parseJsonObject(request?.request_body ?? '') ?? {}
  return typeof event === 'string' ? event : 'a beacon'
}

/** Returns the decided placements, and the requests that failed. */
async function describePlacements(sandbox: TestSandbox, filter: BeaconFilter = {}): Promise<string> {
  const { client } = sandbox
  const since = sinceQuery(sandbox)
  const { slot_id } = filter
  const [decided, failed] = await Promise.all([
    slot_id === undefined
      ? client.placements.list({ query: { limit: 50, ...since } }).then(({ items }) => items)
      : findPlacement(sandbox, slot_id),
    client.requests.list({ query: { limit: 50, status_class: '4xx', details: 'true', ...since } }),
  ])
  const refused = failed.items.filter(({ path }) => !path.startsWith('/v1/beacons'))
  return [
    ...(decided.length === 0
      ? [slot_id === undefined ? 'No placement was requested.' : `There is no placement ${slot_id}.`]
      : ['Placements:', ...limited(decided.toReversed(), describePlacement)]),
    ...(refused.length === 0 ? [] : ['Requests that failed:', ...limited(refused.toReversed(), describeRequest)]),
  ].join('\n')
}

async function findPlacement({ client }: TestSandbox, slot_id: string): Promise<PlacementItem[]> {
  try {
    return [await client.placements.explain({ params: { slot_id } })]
  } catch (error) {
    if (error instanceof ServiceError && error.status < 500) return []
    throw error
  }
}

function describePlacement({ slot_id, status, fill, format, no_fill_reason }: PlacementItem): string {
  if (fill === true) return `  ${slot_id}  filled, ${format}`
  if (fill === null) return `  ${slot_id}  ${status}`
  const { meaning } = findEntry(noFillReasons, no_fill_reason ?? '') ?? {}
  return `  ${slot_id}  no fill, ${no_fill_reason}${meaning === undefined ? '' : `: ${meaning}`}`
}

/** Returns the lines of a request that failed, with its cause and its fix. */
function describeRequest({ method, path, status, reason_code, response_body }: ListedRequest): string {
  const body = parseJsonObject(response_body ?? '') as Partial<ErrorBody> | null
  const fix = body?.hint === undefined ? '' : `\n    fix: ${body.hint}`
  return `  ${method} ${path}  ${status} ${reason_code ?? ''}${body?.message === undefined ? '' : `: ${body.message}`}${fix}`
}

function limited<Item>(items: readonly Item[], describe: (item: Item) => string): string[] {
  const shown = items.slice(-maxLines).map(describe)
  return items.length > maxLines ? [`  ... ${items.length - maxLines} earlier`, ...shown] : shown
}
