/** Slots with their jobs and decisions as both adapters store them: decisions are columns. */
import type { AuthoritativeConsent } from '#contract/fields.ts'
import type { NoFillReason } from '#contract/no-fill.ts'
import { parseRow, required, requiredBytes } from './rows.ts'
import type { JobRow, ProjectRow, SlotRow, StoredDecision, StoredJobFields } from './store.ts'

type FilledOutcome = Extract<StoredDecision['outcome'], { status: 'filled' }>

type Nullable<Row> = { [Name in keyof Row]: Row[Name] | null }

/** The columns of a decision; all of them are null while it is pending. */
export interface StoredDecisionRow extends Nullable<Omit<FilledOutcome, 'status'>> {
  decided_at_ms: number | null
  no_fill_reason: NoFillReason | null
  label_text: string | null
  consent: string | null
  trace: string | null
  catalogue: number | null
  topic: string | null
}

/** A slot with its job. */
export interface StoredSlot extends Omit<JobRow, 'facts'>, StoredDecisionRow {
  job_id: number
  due_at_ms: number
  first_frame_at_ms: number | null
  facts: string
}

/** The columns of a decision, in the order of `decisionValues`. */
export const decisionColumns =
  'decided_at_ms, format, campaign_id, creative_id, width, height, duration_ms, gross_cpm, currency, template_id, asset_token_hash, no_fill_reason, label_text, consent, trace, catalogue, topic'.split(
    ', ',
  )

export function decisionValues(decision: StoredDecision): (string | number | null | Uint8Array)[] {
  const { outcome } = decision
  const fill = outcome.status === 'filled' ? outcome : null
  return [
    decision.decided_at_ms,
    fill?.format ?? null,
    fill?.campaign_id ?? null,
    fill?.creative_id ?? null,
    fill?.width ?? null,
    fill?.height ?? null,
    fill?.duration_ms ?? null,
    fill?.gross_cpm ?? null,
    fill?.currency ?? null,
    fill?.template_id ?? null,
    fill?.asset_token_hash ?? null,
    outcome.status === 'no_fill' ? outcome.reason : null,
    decision.label_text,
    JSON.stringify(decision.consent),
    decision.trace,
    decision.catalogue,
    decision.topic,
  ]
}

export function toSlot(stored: StoredSlot, project: ProjectRow): SlotRow {
  const { id, job_id, project_id, session_id, job_type, mode, key_id, created_at_ms } = stored
  const facts = parseRow<StoredJobFields>(stored.facts)
  return {
    id,
    project,
    job: { id: job_id, project_id, session_id, job_type, mode, key_id, created_at_ms, facts },
    created_at_ms,
    due_at_ms: stored.due_at_ms,
    decision: toDecision(stored),
    first_frame_at_ms: stored.first_frame_at_ms,
  }
}

/**
 * Returns a decision; null of a pending slot, and of none.
 * @throws StorageError when a column that every decision has is missing
 */
export function toDecision(stored: StoredDecisionRow | undefined): StoredDecision | null {
  if (stored === undefined || stored.decided_at_ms === null) return null
  const value = <Name extends keyof StoredDecisionRow>(name: Name) => required(stored[name], name)
  return {
    decided_at_ms: stored.decided_at_ms,
    outcome:
      stored.format === null
        ? { status: 'no_fill', reason: value('no_fill_reason') }
        : {
            status: 'filled',
            format: stored.format,
            campaign_id: value('campaign_id'),
            creative_id: value('creative_id'),
            width: value('width'),
            height: value('height'),
            duration_ms: stored.duration_ms,
            gross_cpm: value('gross_cpm'),
            currency: value('currency'),
            template_id: stored.template_id,
            asset_token_hash: requiredBytes(stored.asset_token_hash, 'asset_token_hash'),
          },
    label_text: value('label_text'),
    consent: parseRow<AuthoritativeConsent>(value('consent')),
    trace: value('trace'),
    catalogue: value('catalogue'),
    topic: stored.topic,
  }
}
