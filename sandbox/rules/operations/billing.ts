/** GET /_sandbox/billing: what production would have billed (A75, A76, A78). */

import { acceptMeanings } from '#contract/error-codes.ts'
import type { Contract } from '#contract/index.ts'
import type { BeaconItem, Verdict } from '#contract/resources/beacons.ts'
import { type BillingGroup, type BillingReport, notCountedAtMost } from '#contract/resources/billing.ts'
import { createTally } from '#domain/billing-report.ts'
import { yieldToEventLoop } from '#runtime/event-loop.ts'
import type { BeaconScope, BillingCounts, BillingScope, PageQuery } from '#store/store.ts'
import { acceptedItem, judgeSlotBeacons, unacceptedItem } from './beacons/beacon-items.ts'
import {
  type Context,
  defined,
  encodeCursor,
  fullPage,
  type Operation,
  parsePage,
  parseSinceFilter,
  projectFilter,
  type Services,
} from './context.ts'

/** Slots whose beacons are read together and judged before other requests get a turn. */
const slotsAtOnce = 25

export const reportBilling: Operation<Contract['billing.report']> = async (services, context, { query }) => {
  const { now_ms } = context
  const { by } = query
  const scope = defined({
    project_id: await projectFilter(services, query.client_id),
    session_id: query.session_id,
    since_ms: parseSinceFilter(query.since, now_ms),
    until_ms: parseSinceFilter(query.until, now_ms),
  })
  if (by === 'session') return reportSessions(services, context, scope, parsePage(query))
  return reportScope(services, context, by === undefined ? scope : { ...scope, by })
}

/** Resolves to the undivided report with the counts of a page of sessions: there are as many as users. */
async function reportSessions(
  services: Services,
  context: Context,
  scope: BeaconScope,
  page: PageQuery,
): Promise<BillingReport> {
  const { store } = services
  const report = await reportScope(services, context, scope)
  const { project_id, session_id } = scope
  const { rows, next } = await fullPage(context, page, (part) =>
    store.listSessions({ ...part, ...defined({ project_id, session_id }) }),
  )
  const withNone = next === null && session_id === undefined
  const sessions = [...rows.map(({ id }) => id), ...(withNone ? [null] : [])]
  const { counted } = await store.countBilling({ ...scope, by: 'session', sessions }, 0)
  const tally = createTally()
  for (const { project_id, metric, count, ...facts } of counted) {
    tally.count(await store.findProjectById(project_id), facts, metric, count)
  }
  const places = new Map(rows.map((row, place) => [row.session_id, place]))
  const findPlace = ({ group }: BillingGroup) => places.get(group ?? '') ?? rows.length
  const groups = tally.groups().toSorted((one, other) => findPlace(one) - findPlace(other))
  return { ...report, groups, next_cursor: encodeCursor(next) }
}

async function reportScope(services: Services, context: Context, scope: BillingScope): Promise<BillingReport> {
  const { store } = services
  const counts = await store.countBilling(scope, notCountedAtMost)
  const known = reports.get(counts)
  if (known !== undefined) return known
  const report = await buildReport(services, context, scope, counts)
  if (!context.signal().aborted) reports.set(counts, report)
  return report
}

/** The store resolves to the same counts until something changes that a report shows. */
const reports = new WeakMap<BillingCounts, BillingReport>()

async function buildReport(
  { store }: Services,
  context: Context,
  scope: BillingScope,
  { counted, missed: reasons, newest }: BillingCounts,
): Promise<BillingReport> {
  const tally = createTally()
  const { by: _, ...beaconScope } = scope
  const missed = newestBeacons()
  for (const { project_id, metric, count, ...facts } of counted) {
    tally.count(await store.findProjectById(project_id), facts, metric, count)
  }
  for (const { reason_code, count } of reasons) tally.miss(reason_code, count)
  for (let start = 0; start < newest.length; start += slotsAtOnce) {
    await yieldToEventLoop()
    const next = newest.slice(start, start + slotsAtOnce)
    const slots = await Promise.all(next.map(({ slot_id }) => store.findSlot(slot_id)))
    const beaconsBySlot = await Promise.all(next.map(({ slot_id }) => store.listSlotBeacons(slot_id)))
    for (const [index, { id }] of next.entries()) {
      const [slot, beacons] = [slots[index] ?? null, beaconsBySlot[index]!]
      const beacon = beacons.find((candidate) => candidate.id === id)
      if (slot === null || beacon === undefined) continue
      missed.add(acceptedItem(slot, beacon, judgeSlotBeacons(slot, beacons).get(id)))
    }
  }
  for (const verdict of ['rejected', 'duplicate'] as const) {
    const count = reasons
      .filter(({ reason_code }) => toBillingVerdict(reason_code) === verdict)
      .reduce((sum, reason) => sum + reason.count, 0)
    // No more than the count: looking for one more would read the whole list.
    if (count === 0) continue
    const page = { limit: Math.min(count, notCountedAtMost), before: null }
    const { rows } = await fullPage(context, page, (part) => store.listBeacons({ ...part, ...beaconScope, verdict }))
    for (const row of rows) {
      if (row.kind !== 'unaccepted') continue
      const { client_id } = await store.findProjectById(row.beacon.project_id)
      missed.add(unacceptedItem(client_id, row.slot, row.beacon))
    }
  }
  const report = tally.report()
  const groups = scope.by === undefined ? {} : { groups: tally.groups() }
  return { ...report, ...groups, not_counted: { ...report.not_counted, beacons: missed.items() } }
}

function toBillingVerdict(reason: BillingCounts['missed'][number]['reason_code']): Verdict {
  if (reason === 'DUPLICATE') return 'duplicate'
  return Object.hasOwn(acceptMeanings, reason) ? 'accepted' : 'rejected'
}

/** Collects the most recently received beacons. */
function newestBeacons() {
  let items: BeaconItem[] = []
  const newest = () => items.toSorted((a, b) => b.received_at_ms - a.received_at_ms).slice(0, notCountedAtMost)
  return {
    add(item: BeaconItem): void {
      items.push(item)
      if (items.length >= 10 * notCountedAtMost) items = newest()
    },
    items: newest,
  }
}
