/** GET /_sandbox/billing: what production would have billed (A75, A76, A78). */
import type { BeaconItem } from '../../src/contract/control/beacons.ts'
import { notCountedAtMost } from '../../src/contract/control/billing.ts'
import type { Contract } from '../../src/contract/index.ts'
import { createTally } from '../domain/billing-report.ts'
import type { Operation } from './context.ts'
import { acceptedItem, filters, projectFilter, sinceOf, unacceptedItem, verdictsOf } from './listing.ts'

/** Slots that are judged between two turns for other requests. */
const piece = 250

export const reportBilling: Operation<Contract['billing.report']> = async (services, { now_ms, signal }, { query }) => {
  const { store } = services
  const wanted = filters({
    project_id: await projectFilter(services, query.client_id),
    session_id: query.session_id,
    since_ms: sinceOf(query.since, now_ms),
    until_ms: sinceOf(query.until, now_ms),
  })
  const tally = createTally()
  const missed = newest()
  for (let after: number | null = 0; after !== null && !signal.aborted; ) {
    const slots = await store.slotsWithBeacons({ ...wanted, after, limit: piece })
    for (const { slot, beacons } of slots) {
      const outcome = slot.decision?.outcome
      if (outcome?.status !== 'filled') continue
      const verdicts = verdictsOf(slot, beacons)
      for (const beacon of beacons) {
        const isInside =
          beacon.received_at_ms >= (wanted.since_ms ?? 0) && beacon.received_at_ms < (wanted.until_ms ?? Infinity)
        const verdict = verdicts.get(beacon.id)
        if (!isInside || verdict === undefined) continue
        if (verdict.metric !== null) tally.count(slot.project, outcome, verdict.metric)
        else if (verdict.reason_code !== 'OK') {
          tally.miss(verdict.reason_code, 1)
          missed.add(acceptedItem(slot, beacon, verdict))
        }
      }
    }
    after = slots.length < piece ? null : slots.at(-1)!.slot.id
    await new Promise((resolve) => setImmediate(resolve))
  }
  for (const { reason_code, count } of await store.countUnaccepted(wanted)) tally.miss(reason_code, count)
  for (const verdict of ['rejected', 'duplicate'] as const) {
    const { rows } = await store.listBeacons({ ...wanted, verdict, limit: notCountedAtMost, before: null })
    for (const row of rows) {
      if (row.kind !== 'unaccepted') continue
      const { client_id } = await store.projectById(row.beacon.project_id)
      missed.add(unacceptedItem(client_id, row.slot, row.beacon))
    }
  }
  const report = tally.report()
  return { ...report, not_counted: { ...report.not_counted, beacons: missed.items() } }
}

/** Keeps the beacons that were received last. */
function newest() {
  let kept: BeaconItem[] = []
  const cut = () => kept.toSorted((a, b) => b.received_at_ms - a.received_at_ms).slice(0, notCountedAtMost)
  return {
    add(item: BeaconItem): void {
      kept.push(item)
      if (kept.length >= 10 * notCountedAtMost) kept = cut()
    },
    items: cut,
  }
}
