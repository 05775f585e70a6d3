/** GET /_sandbox/billing: what production would have billed (A75, A76, A78). */
import type { BeaconItem } from '../../src/contract/control/beacons.ts'
import { notCountedAtMost } from '../../src/contract/control/billing.ts'
import type { Contract } from '../../src/contract/index.ts'
import { createTally } from '../domain/billing.ts'
import { nextTurn } from '../runtime/waiters.ts'
import { acceptedItem, unacceptedItem, verdictsOf } from './beacons.ts'
import { defined, fullPage, type Operation, projectFilter, sinceOf } from './context.ts'

/** Slots whose beacons are judged before other requests get a turn. */
const slotsAtOnce = 25

export const reportBilling: Operation<Contract['billing.report']> = async (services, context, { query }) => {
  const { store } = services
  const { now_ms } = context
  const scope = defined({
    project_id: await projectFilter(services, query.client_id),
    session_id: query.session_id,
    since_ms: sinceOf(query.since, now_ms),
    until_ms: sinceOf(query.until, now_ms),
  })
  const tally = createTally()
  const missed = newestBeacons()
  const { counted, missed: reasons, newest } = await store.countBilling(scope, notCountedAtMost)
  for (const { project_id, metric, count, ...facts } of counted) {
    tally.count(await store.projectById(project_id), facts, metric, count)
  }
  for (const { reason_code, count } of reasons) tally.miss(reason_code, count)
  for (const [index, { slot_id, id }] of newest.entries()) {
    if (index % slotsAtOnce === 0) await nextTurn()
    const slot = await store.findSlot(slot_id)
    const beacons = await store.beaconsOf(slot_id)
    const beacon = beacons.find((candidate) => candidate.id === id)
    if (slot !== null && beacon !== undefined) missed.add(acceptedItem(slot, beacon, verdictsOf(slot, beacons).get(id)))
  }
  for (const verdict of ['rejected', 'duplicate'] as const) {
    const { rows } = await fullPage(context, { limit: notCountedAtMost, before: null }, (part) =>
      store.listBeacons({ ...part, ...scope, verdict }),
    )
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
