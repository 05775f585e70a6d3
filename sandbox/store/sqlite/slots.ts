/** Jobs and slots with their decisions. */
import type Database from 'better-sqlite3'
import type { AuthoritativeConsent, Format, JobType, Mode, NativeTemplateId } from '../../../src/contract/fields.ts'
import type { NoFillReason } from '../../../src/contract/no-fill.ts'
import type { DecisionFacts, JobFacts, JobRow, NewSlot, ProjectRow, SlotRow, Store } from '../store.ts'
import { createFilter } from './filter.ts'
import { remember } from './recent.ts'

interface StoredSlot {
  id: number
  job_id: number
  due_at_ms: number
  decided_at_ms: number | null
  format: Format | null
  campaign_id: string | null
  creative_id: string | null
  width: number | null
  height: number | null
  duration_ms: number | null
  gross_cpm: number | null
  currency: string | null
  template_id: NativeTemplateId | null
  asset_token_hash: Buffer | null
  no_fill_reason: NoFillReason | null
  label_text: string | null
  consent: string | null
  trace: string | null
  catalogue: number | null
  topic: string | null
  first_frame_at_ms: number | null
  project_id: number
  session_id: string | null
  job_type: JobType
  mode: Mode
  key_id: number
  created_at_ms: number
  facts: string
}

/** Slots kept at hand. */
const recentSlots = 1_024

type SlotQuery = Parameters<Store['listSlots']>[0]

const joined = `
  SELECT slot.*, job.project_id, session.session_id, job.job_type, job.mode, job.key_id, job.created_at_ms, job.facts
  FROM slot JOIN job ON job.id = slot.job_id LEFT JOIN session ON session.id = job.session`

const decided = [
  'decided_at_ms',
  'format',
  'campaign_id',
  'creative_id',
  'width',
  'height',
  'duration_ms',
  'gross_cpm',
  'currency',
  'template_id',
  'asset_token_hash',
  'no_fill_reason',
  'label_text',
  'consent',
  'trace',
  'catalogue',
  'topic',
] as const

export function slotStatements(db: Database.Database, project: (id: number) => ProjectRow) {
  const insertJob = db.prepare(
    'INSERT INTO job (id, project_id, session, job_type, mode, key_id, created_at_ms, facts) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
  )
  const insertSlot = db.prepare(
    `INSERT INTO slot (id, job_id, due_at_ms, ${decided.join(', ')}) VALUES (?, ?, ?, ${decided.map(() => '?').join(', ')})`,
  )
  const insertPending = db.prepare('INSERT INTO slot (id, job_id, due_at_ms) VALUES (?, ?, ?)')
  const bind = db.prepare(
    `UPDATE slot SET ${decided.map((name) => `${name} = ?`).join(', ')} WHERE id = ? AND decided_at_ms IS NULL`,
  )
  const find = db.prepare<[number], StoredSlot>(`${joined} WHERE slot.id = ?`)
  const pending = db.prepare<[], { id: number; due_at_ms: number }>(
    'SELECT id, due_at_ms FROM slot WHERE decided_at_ms IS NULL ORDER BY due_at_ms',
  )
  const firstFrame = db.prepare('UPDATE slot SET first_frame_at_ms = ? WHERE id = ? AND first_frame_at_ms IS NULL')
  const replaceHash = db.prepare('UPDATE slot SET asset_token_hash = ? WHERE id = ?')
  const sessionFills = db.prepare<[number, number], { decided_at_ms: number }>(
    `SELECT slot.decided_at_ms FROM job JOIN slot ON slot.job_id = job.id
     WHERE job.session = ? AND slot.format IS NOT NULL AND slot.decided_at_ms >= ? ORDER BY job.id DESC`,
  )
  const projectFills = db.prepare<[number, number], { decided_at_ms: number }>(
    `SELECT slot.decided_at_ms FROM slot JOIN job ON job.id = slot.job_id
     WHERE job.project_id = ? AND slot.format IS NOT NULL AND slot.decided_at_ms >= ? ORDER BY slot.id DESC`,
  )
  const lastFilled = db
    .prepare<[number, number], number>(
      `SELECT EXISTS (SELECT 1 FROM slot WHERE format IS NOT NULL AND job_id IN
       (SELECT id FROM job WHERE session = ? ORDER BY id DESC LIMIT ?))`,
    )
    .pluck()

  const recent = new Map<number, SlotRow>()

  return {
    /** Forgets what is kept at hand, after a rollback or a reset. */
    forget: () => recent.clear(),
    /** Within the running transaction. */
    insert(job: JobRow, session: number | null, slots: readonly NewSlot[]): void {
      insertJob.run(
        job.id,
        job.project_id,
        session,
        job.job_type,
        job.mode,
        job.key_id,
        job.created_at_ms,
        JSON.stringify(job.facts),
      )
      for (const { id, due_at_ms, decision } of slots) {
        if (decision === null) {
          insertPending.run(id, job.id, due_at_ms)
          continue
        }
        insertSlot.run(id, job.id, due_at_ms, ...decidedValues(decision))
        remember(recent, recentSlots, id, {
          id,
          job,
          project: project(job.project_id),
          created_at_ms: job.created_at_ms,
          due_at_ms,
          decision,
          first_frame_at_ms: null,
        })
      }
    },
    bind(id: number, decision: DecisionFacts): boolean {
      recent.delete(id)
      return bind.run(...decidedValues(decision), id).changes === 1
    },
    /** Beacons come soon after their placement, and several of them: recent slots are kept at hand. */
    find(id: number): SlotRow | null {
      const known = recent.get(id)
      if (known !== undefined) return known
      const stored = find.get(id)
      if (stored === undefined) return null
      const slot = toSlot(stored, project)
      remember(recent, recentSlots, id, slot)
      return slot
    },
    pending: () => pending.all(),
    firstFrame(id: number, at_ms: number): boolean {
      recent.delete(id)
      return firstFrame.run(at_ms, id).changes === 1
    },
    replaceHash(id: number, hash: Uint8Array): void {
      recent.delete(id)
      replaceHash.run(hash, id)
    },
    countFills(scope: { session: number } | { project_id: number }, since_ms: number, most: number): number {
      const rows =
        'session' in scope
          ? sessionFills.iterate(scope.session, since_ms)
          : projectFills.iterate(scope.project_id, since_ms)
      let count = 0
      for (const _ of rows) if (++count >= most) break
      return count
    },
    filledWithin: (session: number, jobs: number) => lastFilled.get(session, jobs) === 1,
    list(query: SlotQuery): SlotRow[] {
      const filter = createFilter()
      filter.add('slot.id < ?', query.before)
      filter.add('job.project_id = ?', query.project_id)
      filter.add('session.session_id = ?', query.session_id)
      filter.add('slot.format = ?', query.format)
      filter.add('job.created_at_ms >= ?', query.since_ms)
      if (query.fill !== undefined)
        filter.add(query.fill ? 'slot.format IS NOT NULL' : 'slot.no_fill_reason IS NOT NULL')
      return db
        .prepare<(string | number)[], StoredSlot>(`${joined} WHERE ${filter.where()} ORDER BY slot.id DESC LIMIT ?`)
        .all(...filter.values, query.limit + 1)
        .map((stored) => toSlot(stored, project))
    },
  }
}

function decidedValues(decision: DecisionFacts): (string | number | null | Uint8Array)[] {
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

function toSlot(stored: StoredSlot, project: (id: number) => ProjectRow): SlotRow {
  return {
    id: stored.id,
    project: project(stored.project_id),
    job: {
      id: stored.job_id,
      project_id: stored.project_id,
      session_id: stored.session_id,
      job_type: stored.job_type,
      mode: stored.mode,
      key_id: stored.key_id,
      created_at_ms: stored.created_at_ms,
      facts: JSON.parse(stored.facts) as JobFacts,
    },
    created_at_ms: stored.created_at_ms,
    due_at_ms: stored.due_at_ms,
    decision: stored.decided_at_ms === null ? null : toDecision(stored, stored.decided_at_ms),
    first_frame_at_ms: stored.first_frame_at_ms,
  }
}

function toDecision(stored: StoredSlot, decided_at_ms: number): DecisionFacts {
  return {
    decided_at_ms,
    outcome:
      stored.format === null
        ? { status: 'no_fill', reason: stored.no_fill_reason! }
        : {
            status: 'filled',
            format: stored.format,
            campaign_id: stored.campaign_id!,
            creative_id: stored.creative_id!,
            width: stored.width!,
            height: stored.height!,
            duration_ms: stored.duration_ms,
            gross_cpm: stored.gross_cpm!,
            currency: stored.currency!,
            template_id: stored.template_id,
            asset_token_hash: stored.asset_token_hash!,
          },
    label_text: stored.label_text!,
    consent: JSON.parse(stored.consent!) as AuthoritativeConsent,
    trace: stored.trace!,
    catalogue: stored.catalogue!,
    topic: stored.topic,
  }
}
