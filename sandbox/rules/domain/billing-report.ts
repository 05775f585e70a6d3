/** What production would bill for many placements, as a report (A76). */
import { type BillingModel, isBilled } from '#contract/beacon-verdict.ts'
import type { Format } from '#contract/fields.ts'
import type { Metric } from '#contract/resources/beacons.ts'
import type { BillingGroup, BillingLine, BillingReport } from '#contract/resources/billing.ts'
import type { ProjectSettings } from '#contract/resources/projects.ts'

type Reason = BillingReport['not_counted']['reasons'][number]['reason_code']
type Total = BillingReport['totals'][number]

/** Sums verdicts. It is fed slot by slot, so a report over many placements keeps only a few in memory. */
interface Tally {
  /** Adds metrics that counted. */
  count(
    project: TallyProject,
    facts: { format: Format; gross_cpm: number; currency: string; group?: string | null },
    metric: Metric,
    count: number,
  ): void
  /** Adds beacons that did not count. */
  miss(reason: Reason, count: number): void
  /** The counted beacons by project, group, metric and currency; none unless their facts have a group. */
  groups(): BillingGroup[]
  /** The counted beacons by project, format, metric and price, and the others by reason. */
  report(): Omit<BillingReport, 'not_counted'> & { not_counted: Omit<BillingReport['not_counted'], 'beacons'> }
}

interface TallyProject {
  client_id: string
  settings: Pick<ProjectSettings, 'billing_model' | 'publisher_share'>
}

export function createTally(): Tally {
  const lines = new Map<string, { line: BillingLine; project: TallyProject }>()
  const groups = new Map<string, { group: BillingGroup; project: TallyProject }>()
  const reasons = new Map<Reason, number>()
  return {
    count(project, facts, metric, count) {
      const { client_id, settings } = project
      const { format, gross_cpm, currency, group } = facts
      const is_billed = isBilled(settings.billing_model, metric)
      if (group !== undefined) {
        const name = JSON.stringify([client_id, group, metric, currency])
        const none = { client_id, group, metric, is_billed, currency, count: 0, amount: 0, publisher_amount: 0 }
        const known = groups.get(name)?.group ?? none
        const amount = known.amount + (is_billed ? (count * gross_cpm) / 1000 : 0)
        groups.set(name, { group: { ...known, count: known.count + count, amount }, project })
      }
      const name = `${client_id} ${format} ${metric} ${gross_cpm} ${currency}`
      const known = lines.get(name)
      if (known !== undefined) {
        known.line.count += count
        return
      }
      const line = {
        client_id,
        format,
        metric,
        is_billed,
        gross_cpm,
        currency,
        count,
        amount: 0,
        publisher_amount: 0,
      }
      lines.set(name, { line, project })
    },
    miss(reason, count) {
      reasons.set(reason, (reasons.get(reason) ?? 0) + count)
    },
    groups: () =>
      [...groups.entries()]
        .toSorted(([, a], [, b]) => byGroup(a.group, b.group))
        .map(([, { group, project }]) => ({
          ...group,
          amount: roundMoney(group.amount),
          publisher_amount: roundMoney(group.amount * project.settings.publisher_share),
        })),
    report() {
      const priced = [...lines.entries()]
        .toSorted(([one], [other]) => (one < other ? -1 : 1))
        .map(([, { line, project }]) => ({ line: addAmounts(line, project.settings.publisher_share), project }))
      const counted = [...reasons].map(([reason_code, count]) => ({ reason_code, count }))
      return {
        lines: priced.map(({ line }) => line),
        totals: sumTotals(priced),
        not_counted: {
          count: counted.reduce((sum, { count }) => sum + count, 0),
          reasons: counted.toSorted((a, b) => b.count - a.count || (a.reason_code < b.reason_code ? -1 : 1)),
        },
      }
    },
  }
}

/** By group, those without one last, then as lines are sorted. */
function byGroup(one: BillingGroup, other: BillingGroup): number {
  const name = ({ group, client_id, metric, currency }: BillingGroup) =>
    [group === null ? '1' : `0${group}`, client_id, metric, currency].join('\0')
  return name(one) < name(other) ? -1 : 1
}

function addAmounts(line: BillingLine, publisher_share: number): BillingLine {
  const amount = line.is_billed ? (line.count * line.gross_cpm) / 1000 : 0
  return { ...line, amount: roundMoney(amount), publisher_amount: roundMoney(amount * publisher_share) }
}

function sumTotals(lines: readonly { line: BillingLine; project: TallyProject }[]): Total[] {
  const totals = new Map<string, Total>()
  for (const { line, project } of lines) {
    const { client_id, currency } = line
    const billing_model: BillingModel = project.settings.billing_model
    const name = `${client_id} ${currency}`
    const total = totals.get(name) ?? { client_id, billing_model, currency, count: 0, amount: 0, publisher_amount: 0 }
    totals.set(name, {
      ...total,
      count: total.count + (line.is_billed ? line.count : 0),
      amount: roundMoney(total.amount + line.amount),
      publisher_amount: roundMoney(total.publisher_amount + line.publisher_amount),
    })
  }
  return [...totals.values()]
}

/** Rounds to a millionth: one impression at a CPM of 0.01 costs ten of them. */
function roundMoney(amount: number): number {
  return Math.round(amount * 1e6) / 1e6
}
