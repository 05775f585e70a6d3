/** Lists beacons, by what the store can select and by their verdict. */
import { billed, eventMetrics, eventsWith } from '#contract/beacon-verdict.ts'
import type { Parsed } from '#contract/endpoint.ts'
import type { Format } from '#contract/fields.ts'
import type { Contract } from '#contract/index.ts'
import {
  type AcceptCode,
  type BeaconEvent,
  type BeaconItem,
  beaconEvents,
  type Metric,
} from '#contract/resources/beacons.ts'
import { notCountedAtMost } from '#contract/resources/billing.ts'
import type { Page } from '#store/store.ts'
import {
  defined,
  encodeCursor,
  fullPage,
  type Operation,
  parsePage,
  parseSinceFilter,
  projectFilter,
  type Services,
  slotFilter,
} from '../context.ts'
import { beaconItems } from './beacon-items.ts'

export const listBeacons: Operation<Contract['beacons.list']> = async (services, context, { query }) => {
  const metrics = await listCountedMetrics(services, query)
  const filter = defined({
    slot_id: slotFilter(query.slot_id),
    without_slot: query.without_slot === 'true' ? true : undefined,
    beacon_id: query.beacon_id,
    event: query.event,
    verdict: query.verdict,
    format: query.format,
    gross_cpm: query.gross_cpm === undefined ? undefined : Number(query.gross_cpm),
    currency: query.currency,
    session_id: query.session_id,
    project_id: await projectFilter(services, query.client_id),
    since_ms: parseSinceFilter(query.since, context.now_ms),
    until_ms: parseSinceFilter(query.until, context.now_ms),
    ...selectCandidates(query, metrics),
  })
  const { reason, billed: isBilled, metric } = query
  const page = parsePage(query)
  if (reason === undefined && isBilled === undefined && metric === undefined) {
    const { rows, next } = await fullPage(context, page, (part) => services.store.listBeacons({ ...part, ...filter }))
    return { items: await beaconItems(services, rows), next_cursor: encodeCursor(next) }
  }
  const reasons = reason === undefined ? null : new Set(reason.split(','))
  const isListed = (item: BeaconItem) =>
    (reasons === null || reasons.has(item.reason_code)) &&
    (isBilled === undefined || item.would_bill === (isBilled === 'true')) &&
    (metric === undefined || item.metric === metric)
  let parts = 0
  const { rows, next } = await fullPage(context, page, async (part) => {
    if (++parts === partsBeforeCounting && metrics !== null && (await countsNone(services, filter, metrics))) {
      return { rows: [], next: null }
    }
    const { rows, next } = await services.store.listBeacons({ ...part, limit: judgedAtOnce, ...filter })
    const items = await beaconItems(services, rows)
    const judged = rows.map(({ beacon }, index) => ({ id: beacon.id, row: items[index]! }))
    return pageOfJudged(
      judged.filter(({ row }) => isListed(row)),
      next,
      part.limit,
    )
  })
  return { items: rows, next_cursor: encodeCursor(next) }
}

/** Rows that are judged before those that do not match a filter are left out. */
export const judgedAtOnce = 100

/** Parts that are judged before the billing report says whether there is anything to find, which costs more. */
const partsBeforeCounting = 10

/** Whether no beacon counts for one of these metrics: then none that a further filter selects does. */
async function countsNone(
  { store }: Services,
  { project_id, format }: { project_id?: number; format?: Format },
  metrics: readonly Metric[],
): Promise<boolean> {
  const { counted } = await store.countBilling(defined({ project_id }), notCountedAtMost)
  return !counted.some((line) => metrics.includes(line.metric) && (format ?? line.format) === line.format)
}

/** Returns the page of a list whose rows were selected by their verdict, as far as they were read. */
export function pageOfJudged<Row>(
  matching: readonly { id: number; row: Row }[],
  next: number | null,
  limit: number,
): Page<Row> {
  const page = matching.slice(0, limit)
  return { rows: page.map(({ row }) => row), next: matching.length > limit ? page.at(-1)!.id : next }
}

type Query = Parsed<Contract['beacons.list']>['query']

/** Resolves to the metrics that the beacons of a list count for; null where others are listed too. */
async function listCountedMetrics({ store }: Services, { billed: isBilled, client_id, metric }: Query) {
  if (isBilled !== 'true') return metric === undefined ? null : [metric]
  const projects = await store.listProjects()
  const own = projects.filter((project) => client_id === undefined || project.client_id === client_id)
  const metrics = own.map(({ settings }) => billed[settings.billing_model])
  return metrics.filter((each) => (metric ?? each) === each)
}

/**
 * Returns the beacons among which those of a verdict are: what the store can select.
 * @param metrics what they count for; null for any
 */
function selectCandidates({ reason }: Query, metrics: readonly Metric[] | null) {
  const metricEvents =
    metrics === null ? null : beaconEvents.filter((event) => metrics.some((each) => eventMetrics[event] === each))
  const codes = reason?.split(',') ?? null
  const reasonEvents = codes === null ? null : selectEvents(codes)
  const accepted_events =
    metricEvents === null
      ? reasonEvents
      : (reasonEvents?.filter((event) => metricEvents.includes(event)) ?? metricEvents)
  const unaccepted_reasons =
    metricEvents !== null ? [] : (codes?.filter((code) => code === 'DUPLICATE' || !isAcceptCode(code)) ?? null)
  return { accepted_events: accepted_events ?? undefined, unaccepted_reasons: unaccepted_reasons ?? undefined }
}

/** Returns the events whose accepted beacons may have one of these reasons. */
export function selectEvents(codes: readonly string[]): BeaconEvent[] {
  const accept = codes.filter(isAcceptCode)
  return beaconEvents.filter((event) => accept.some((code) => eventsWith[code]?.includes(event) ?? true))
}

export function isAcceptCode(code: string): code is AcceptCode {
  return Object.hasOwn(eventsWith, code)
}
