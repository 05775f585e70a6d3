/** GET /_sandbox/billing: what production would have billed (A75, A76, A78). */
import type { BeaconItem } from '../../src/contract/control/beacons.ts'
import { notCountedAtMost } from '../../src/contract/control/billing.ts'
import type { Contract } from '../../src/contract/index.ts'
import { createTally } from '../domain/billing.ts'
import { nextTurn } from '../runtime/waiters.ts'
import { acceptedItem, unacceptedItem, verdictsOf } from './beacons.ts'
import { defined, type Operation, projectFilter, sinceOf } from './context.ts'

/** Slots that are judged before other requests get a turn. */
const chunk = 250

export const reportBilling: Operation<Contract['billing.report']> = async (services, { now_ms, signal }, { query }) => {
  const { store } = services
  const scope = defined({
    project_id: await projectFilter(services, query.client_id),
    session_id: query.session_id,
    since_ms: sinceOf(query.since, now_ms),
    until_ms: sinceOf(query.until, now_ms),
  })
  const tally = createTally()
  const missed = newestBeacons()
  for (let after: number | null = 0; after !== null && !signal().aborted; ) {
    const slots = await store.slotsWithBeacons({ ...scope, after, limit: chunk })
    for (const { slot, beacons } of slots) {
      const outcome = slot.decision?.outcome
      if (outcome?.status !== 'filled') continue
      const verdicts = verdictsOf(slot, beacons)
      for (const beacon of beacons) {
        const isInScope =
          beacon.received_at_ms >= (scope.since_ms ?? 0) && beacon.received_at_ms < (scope.until_ms ?? Infinity)
        const verdict = verdicts.get(beacon.id)
        if (!isInScope || verdict === undefined) continue
        if (verdict.metric !== null) tally.count(slot.project, outcome, verdict.metric)
        else if (verdict.reason_code !== 'OK') {
          tally.miss(verdict.reason_code, 1)
          missed.add(acceptedItem(slot, beacon, verdict))
        }
      }
    }
    after = slots.length < chunk ? null : slots.at(-1)!.slot.id
    await nextTurn()
  }
  for (const { reason_code, count } of await store.countUnaccepted(scope)) tally.miss(reason_code, count)
  for (const verdict of ['rejected', 'duplicate'] as const) {
    const { rows } = await store.listBeacons({ ...scope, verdict, limit: notCountedAtMost, before: null })
    for (const row of rows) {
      if (row.kind !== 'unaccepted') continue
      const { client_id } = await store.projectById(row.beacon.project_id)
      missed.add(unacceptedItem(client_id, row.slot, row.beacon))
    }
  }
  const report = tally.report()
  return { ...report, not_counted: { ...report.not_counted, beacons: missed.items() } }
}

/** Collects the beacons that were received last. */
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
