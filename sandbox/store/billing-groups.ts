/** What a billing report is divided by: the column of a slot, and the group that follows from its value. */
import type { BillingDimension } from '#contract/resources/billing.ts'
import { parseRow } from './rows.ts'
import type { BillingScope, StoredJobFields } from './store.ts'

const groupColumns: Readonly<Record<BillingDimension, string>> = {
  // Of each beacon, not of its slot.
  day: 'NULL',
  campaign: 'slot.campaign_id',
  format: 'slot.format',
  job_type: 'job.job_type',
  session: '(SELECT session.session_id FROM session WHERE session.id = job.session)',
  country: 'job.facts',
}

/** Returns the column of a slot from which the group of a report follows. */
export function groupColumn({ by }: BillingScope): string {
  return `${by === undefined ? 'NULL' : groupColumns[by]} AS grouping`
}

/** Returns the group of a counted beacon. @param grouping the value of its slot's column */
export function groupName({ by }: BillingScope, grouping: string | null, received_at_ms: number): string | null {
  if (by === 'day') {
    const date = new Date(received_at_ms)
    // Only a damaged file has a time that is no date.
    return Number.isNaN(date.getTime()) ? null : date.toISOString().slice(0, 10)
  }
  if (by === 'country' && grouping !== null) return parseRow<StoredJobFields>(grouping).country ?? null
  return grouping
}
