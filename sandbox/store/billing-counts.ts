/** Counts what production would bill, slot by slot, in the order in which slots and beacons are given. */
import { type AcceptedBeacon, type BillingModel, judgeBeacons } from '../../src/contract/beacon-verdict.ts'
import type { ProjectSettings } from '../../src/contract/control/projects.ts'
import type { Format } from '../../src/contract/fields.ts'
import type { BeaconScope, BillingCounts, ProjectRow } from './store.ts'

/** The settings of each project that a verdict depends on, by its id. */
export type BillingRules = Readonly<
  Record<number, { billing_model: BillingModel; viewability: ProjectSettings['viewability'] }>
>

/** A filled slot with what its price and its verdicts depend on. */
export interface BilledSlot {
  id: number
  project_id: number
  format: Format
  width: number
  height: number
  duration_ms: number | null
  gross_cpm: number
  currency: string
}

/** Returns the rules of projects. */
export function billingRulesOf(projects: readonly ProjectRow[]): BillingRules {
  return Object.fromEntries(
    projects.map(({ id, settings: { billing_model, viewability } }) => [id, { billing_model, viewability }]),
  )
}

type Missed = BillingCounts['missed'][number]['reason_code']

export interface BeaconCounts {
  /** Judges the beacons of a slot and counts those in scope. */
  judge(slot: BilledSlot, beacons: readonly AcceptedBeacon[]): void
  miss(reason: Missed, count: number): void
  result(): BillingCounts
}

/** @param newest how many of the latest beacons that do not count are named */
export function countBeacons(scope: BeaconScope, rules: BillingRules, newest: number): BeaconCounts {
  const { since_ms = 0, until_ms = Number.MAX_SAFE_INTEGER } = scope
  const counted = new Map<string, BillingCounts['counted'][number]>()
  const missed = new Map<Missed, number>()
  let latest: (BillingCounts['newest'][number] & { received_at_ms: number })[] = []
  const sortLatest = () => {
    latest = latest.sort((a, b) => b.received_at_ms - a.received_at_ms || b.id - a.id).slice(0, newest)
  }
  const miss = (reason: Missed, count: number) => {
    missed.set(reason, (missed.get(reason) ?? 0) + count)
  }
  return {
    judge(slot, beacons) {
      const rule = rules[slot.project_id]
      if (rule === undefined) return
      const { project_id, format, gross_cpm, currency } = slot
      const verdicts = judgeBeacons(rule.billing_model, slot, rule.viewability, beacons)
      for (const { id, received_at_ms } of beacons) {
        const { metric, reason_code } = verdicts.get(id)!
        if (received_at_ms < since_ms || received_at_ms >= until_ms) continue
        if (metric !== null) {
          const name = `${project_id} ${format} ${gross_cpm} ${currency} ${metric}`
          const known = counted.get(name)
          if (known !== undefined) known.count++
          else counted.set(name, { project_id, format, gross_cpm, currency, metric, count: 1 })
        } else if (reason_code !== 'OK') {
          miss(reason_code, 1)
          latest.push({ slot_id: slot.id, id, received_at_ms })
          if (latest.length >= 10 * newest) sortLatest()
        }
      }
    },
    miss,
    result() {
      sortLatest()
      return {
        counted: [...counted.values()],
        missed: [...missed].map(([reason_code, count]) => ({ reason_code, count })),
        newest: latest.map(({ slot_id, id }) => ({ slot_id, id })),
      }
    },
  }
}
