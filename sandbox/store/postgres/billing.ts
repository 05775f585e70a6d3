/**
 * Counts what production would bill, slot by slot, in pieces: each is one statement, and no transaction spans the whole
 * report. One report at a time on a node: those with the same scope that wait share it.
 */
import type { AcceptedBeacon } from '../../../src/contract/beacon-verdict.ts'
import { maxJudged } from '../../../src/contract/beacon-verdict.ts'
import { type BilledSlot, billingRulesOf, countBeacons } from '../billing-counts.ts'
import { parseRow } from '../rows.ts'
import type { BeaconScope, BillingCounts, BillingStore } from '../store.ts'
import type { Connection } from './group-commit.ts'
import type { ProjectTable } from './projects.ts'
import { createFilter, sessionsNamed } from './rows.ts'

/** Slots, with their beacons, and unaccepted beacons of one piece. */
const slotsAtOnce = 300
const unacceptedAtOnce = 20_000

type StoredBeacon = Omit<AcceptedBeacon, 'measurements'> & { slot_id: number; measurements: string | null }

export function billingTable({ read }: Connection, projects: ProjectTable): BillingStore {
  const waiting = new Map<string, Promise<BillingCounts>>()
  let last: Promise<unknown> = Promise.resolve()

  const report = async (scope: BeaconScope, newest: number): Promise<BillingCounts> => {
    const counts = countBeacons(scope, billingRulesOf(await projects.methods.listProjects()), newest)
    const filter = createFilter()
    filter.add('job.project_id = ?', scope.project_id)
    filter.add(`job.session IN (${sessionsNamed})`, scope.session_id)
    const { since_ms, until_ms } = scope
    if (since_ms !== undefined) {
      filter.add(
        'EXISTS (SELECT 1 FROM beacon WHERE beacon.slot_id = slot.id AND received_at_ms >= ? AND received_at_ms < ?)',
        since_ms,
        until_ms ?? Number.MAX_SAFE_INTEGER,
      )
    }
    const slotText = `SELECT slot.id, job.project_id, slot.format, slot.width, slot.height, slot.duration_ms, slot.gross_cpm, slot.currency
      FROM slot JOIN job ON job.id = slot.job_id WHERE slot.id > $1 AND slot.format IS NOT NULL AND ${filter.where(3)} ORDER BY slot.id LIMIT $2`
    for (let after = 0; ; ) {
      const slots = await read<BilledSlot>(slotText, [after, slotsAtOnce, ...filter.values])
      const beacons = await read<StoredBeacon>(
        `SELECT judged.* FROM unnest($1::bigint[]) wanted (slot_id) CROSS JOIN LATERAL
         (SELECT slot_id, id, event, occurred_at_ms, received_at_ms, measurements FROM beacon
          WHERE beacon.slot_id = wanted.slot_id AND event <> 'heartbeat' ORDER BY id LIMIT $2) judged`,
        [slots.map(({ id }) => id), maxJudged],
      )
      const bySlot = new Map<number, AcceptedBeacon[]>(slots.map(({ id }) => [id, []]))
      for (const { slot_id, measurements, ...beacon } of beacons) {
        const parsed = measurements === null ? null : parseRow<AcceptedBeacon['measurements']>(measurements)
        bySlot.get(slot_id)?.push({ ...beacon, measurements: parsed as AcceptedBeacon['measurements'] })
      }
      for (const slot of slots) counts.judge(slot, bySlot.get(slot.id)!)
      if (slots.length < slotsAtOnce) break
      after = slots.at(-1)!.id
    }
    await countUnaccepted(scope, counts.miss)
    return counts.result()
  }

  const countUnaccepted = async (scope: BeaconScope, miss: (reason: Missed, count: number) => void) => {
    const filter = createFilter()
    filter.add('aside_beacon.project_id = ?', scope.project_id)
    filter.add(`job.session IN (${sessionsNamed})`, scope.session_id)
    filter.add('aside_beacon.received_at_ms >= ?', scope.since_ms)
    filter.add('aside_beacon.received_at_ms < ?', scope.until_ms)
    const joins =
      scope.session_id === undefined
        ? ''
        : 'JOIN slot ON slot.id = aside_beacon.slot_id JOIN job ON job.id = slot.job_id'
    const text = `SELECT aside_beacon.reason_code, count(*) AS count FROM aside_beacon ${joins}
      WHERE aside_beacon.id > $1 AND aside_beacon.id <= $2 AND ${filter.where(3)}
      GROUP BY aside_beacon.reason_code ORDER BY aside_beacon.reason_code COLLATE "C"`
    for (let after = 0; after < Number.MAX_SAFE_INTEGER; ) {
      const [nth] = await read<{ id: number }>(
        `SELECT id FROM aside_beacon WHERE id > $1 ORDER BY id LIMIT 1 OFFSET ${unacceptedAtOnce - 1}`,
        [after],
      )
      const end = nth?.id ?? Number.MAX_SAFE_INTEGER
      const rows = await read<{ reason_code: Missed; count: number }>(text, [after, end, ...filter.values])
      for (const { reason_code, count } of rows) miss(reason_code, count)
      after = end
    }
  }

  return {
    countBilling(scope, newest) {
      const name = JSON.stringify([scope, newest])
      const shared = waiting.get(name)
      if (shared !== undefined) return shared
      const counted = last.then(() => {
        waiting.delete(name)
        return report(scope, newest)
      })
      waiting.set(name, counted)
      last = counted.catch(() => {})
      return counted
    },
  }
}

type Missed = BillingCounts['missed'][number]['reason_code']
