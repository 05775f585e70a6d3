import type Database from 'better-sqlite3'
import {
  decisionColumns,
  decisionValues,
  type StoredDecisionRow,
  type StoredSlot,
  toDecision,
  toSlot,
} from '#store/slot-rows.ts'
import { addSlotConditions } from '../list-conditions.ts'
import { cacheRow, parseRow, required } from '../rows.ts'
import type { IntervalGuard, JobRow, Page, PlacementStore, SlotRow, StoredJobFields } from '../store.ts'
import type { WriteMethods } from '../writes/index.ts'
import type { Transaction } from '../writes/transaction.ts'
import type { ConsentTable } from './consent.ts'
import { keepAssetToken } from './entries.ts'
import type { Connection } from './group-commit.ts'
import type { ProjectTable } from './projects.ts'
import { createFilter, indexedBy, listPart, newestSlotOfSession, sessionsNamed, slotsOfSession } from './rows.ts'

/** Cached slots. */
const cacheSize = 1_024

const selectSlots = `
  SELECT slot.*, job.project_id, session.session_id, job.job_type, job.mode, job.key_id, job.created_at_ms, job.facts
  FROM slot CROSS JOIN job ON job.id = slot.job_id LEFT JOIN session ON session.id = job.session`

export type PlacementTable = ReturnType<typeof placementTable>

export function placementTable(
  { db, read }: Connection,
  { projects, consent }: { projects: ProjectTable; consent: ConsentTable },
) {
  const statements = preparePlacements(db)
  const caps = fillCaps(db, consent)
  const { recent, find, slot, withProject } = cachedSlots(statements, projects)

  const transaction = {
    countFills: (cap) => caps.countFills(cap, cap.since_ms, cap.most),
    hasFillWithin: caps.hasFillWithin,
    insertJob({ id, project_id, session_id, job_type, mode, key_id, created_at_ms, facts }) {
      const session = session_id === null ? null : consent.ensureSession(project_id, session_id)
      statements.insertJob.run(id, project_id, session, job_type, mode, key_id, created_at_ms, JSON.stringify(facts))
    },
    insertSlot(job, { id, due_at_ms, decision }) {
      if (decision === null) {
        statements.insertPending.run(id, job.id, due_at_ms)
        return
      }
      statements.insertSlot.run(id, job.id, due_at_ms, ...decisionValues(decision))
      const { project_id, created_at_ms } = job
      const project = projects.project(project_id)
      cacheRow(recent, cacheSize, id, { id, job, project, created_at_ms, due_at_ms, decision, first_frame_at_ms: null })
    },
    bindSlot(slot_id, decision) {
      recent.delete(slot_id)
      const { changes } = statements.bind.run(...decisionValues(decision), slot_id)
      return changes === 1 ? slot(slot_id).project.id : null
    },
    dropTopic: (slot_id) => void statements.dropTopic.run(slot_id),
    projectOfSlot: (slot_id) => slot(slot_id).project.id,
    setFirstFrame(slot_id, at_ms) {
      recent.delete(slot_id)
      statements.setFirstFrame.run(at_ms, slot_id)
    },
    setAssetHash(slot_id, hash) {
      const outcome = find(slot_id)?.decision?.outcome
      const before = outcome?.status === 'filled' ? outcome.asset_token_hash : hash
      statements.keepAssetToken.run(Buffer.from(before).toString('base64url'), slot_id)
      recent.delete(slot_id)
      statements.setAssetHash.run(hash, slot_id)
    },
  } satisfies Partial<Transaction>

  const methods: Omit<PlacementStore, keyof WriteMethods> = {
    findJob: async (id) => read(() => toJob(statements.findJob.get(id))),
    findSlot: (id) => read(() => find(id)),
    findDecision: async (slot_id) => read(() => toDecision(statements.findDecision.get(slot_id))),
    async listSlots(query) {
      return read(() => {
        const { rows, next } = listSlots(db, query)
        return { rows: rows.map(withProject), next }
      })
    },
    listPendingSlots: async (due_at_ms = Number.MAX_SAFE_INTEGER) => read(() => statements.listPending.all(due_at_ms)),
    countFills: async (scope, since_ms, most) => read(() => caps.countFills(scope, since_ms, most)),
    hasFillWithin: async (interval) => read(() => caps.hasFillWithin(interval)),
    catalogue: async (id) => read(() => statements.findDemand.get(id) ?? null),
    findCatalogueWith: async (text) => read(() => statements.findCatalogueWith.get(text) ?? null),
  }

  return { find, slot, clear: () => recent.clear(), transaction, methods }
}

/** Reads slots. Beacons follow soon after their placement, so recent ones are cached. */
function cachedSlots(statements: ReturnType<typeof preparePlacements>, projects: ProjectTable) {
  const recent = new Map<number, SlotRow>()

  return { recent, find, slot, withProject }

  function find(id: number): SlotRow | null {
    const cached = recent.get(id)
    if (cached !== undefined) return cached
    const stored = statements.find.get(id)
    if (stored === undefined) return null
    const row = withProject(stored)
    cacheRow(recent, cacheSize, id, row)
    return row
  }

  /** Returns a slot that another row belongs to. @throws StorageError when it, or its job, is missing */
  function slot(id: number): SlotRow {
    return required(find(id), 'a slot, or its job,')
  }

  function withProject(stored: StoredSlot): SlotRow {
    return toSlot(stored, projects.project(stored.project_id))
  }
}

type StoredJob = Omit<JobRow, 'facts'> & { facts: string }

function preparePlacements(db: Database.Database) {
  return {
    insertJob: db.prepare(
      'INSERT INTO job (id, project_id, session, job_type, mode, key_id, created_at_ms, facts) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    ),
    insertSlot: db.prepare(
      `INSERT INTO slot (id, job_id, due_at_ms, ${decisionColumns.join(', ')}) VALUES (?, ?, ?, ${decisionColumns.map(() => '?').join(', ')})`,
    ),
    insertPending: db.prepare('INSERT INTO slot (id, job_id, due_at_ms) VALUES (?, ?, ?)'),
    bind: db.prepare(
      `UPDATE slot SET ${decisionColumns.map((name) => `${name} = ?`).join(', ')} WHERE id = ? AND decided_at_ms IS NULL`,
    ),
    dropTopic: db.prepare(
      "UPDATE job SET facts = json_remove(facts, '$.derived_topic') WHERE id = (SELECT job_id FROM slot WHERE id = ?)",
    ),
    findJob: db.prepare<[number], StoredJob>(
      `SELECT job.id, job.project_id, session.session_id, job_type, mode, key_id, job.created_at_ms, facts
       FROM job LEFT JOIN session ON session.id = job.session WHERE job.id = ?`,
    ),
    find: db.prepare<[number], StoredSlot>(`${selectSlots} WHERE slot.id = ?`),
    findDecision: db.prepare<[number], StoredDecisionRow>(
      `SELECT ${decisionColumns.join(', ')} FROM slot
       WHERE id = ? AND EXISTS (SELECT 1 FROM job WHERE job.id = slot.job_id)`,
    ),
    listPending: db.prepare<[number], { id: number; due_at_ms: number }>(
      'SELECT id, due_at_ms FROM slot WHERE decided_at_ms IS NULL AND due_at_ms <= ? ORDER BY due_at_ms',
    ),
    setFirstFrame: db.prepare('UPDATE slot SET first_frame_at_ms = ? WHERE id = ? AND first_frame_at_ms IS NULL'),
    keepAssetToken: db.prepare(keepAssetToken),
    setAssetHash: db.prepare('UPDATE slot SET asset_token_hash = ? WHERE id = ?'),
    findDemand: db.prepare<[number], string>('SELECT demand FROM catalogue WHERE id = ?').pluck(),
    findCatalogueWith: db
      .prepare<[string], number>('SELECT id FROM catalogue WHERE instr(demand, ?) > 0 ORDER BY id DESC LIMIT 1')
      .pluck(),
  }
}

function toJob(stored: StoredJob | undefined): JobRow | null {
  return stored === undefined ? null : { ...stored, facts: parseRow<StoredJobFields>(stored.facts) }
}

function fillCaps(db: Database.Database, consent: ConsentTable) {
  const sessionFills = db.prepare<[number, number], { campaign_id: string }>(
    `SELECT slot.campaign_id FROM job JOIN slot ON slot.job_id = job.id
     WHERE job.session = ? AND slot.format IS NOT NULL AND slot.decided_at_ms >= ? ORDER BY job.id DESC`,
  )
  const projectFills = db.prepare<[number, number], { campaign_id: string }>(
    `SELECT slot.campaign_id FROM slot JOIN job ON job.id = slot.job_id
     WHERE job.project_id = ? AND slot.format IS NOT NULL AND slot.decided_at_ms >= ? ORDER BY slot.id DESC`,
  )
  const nearFilled = db
    .prepare<[{ session: number; job_id: number; jobs: number }], number>(
      `SELECT EXISTS (SELECT 1 FROM slot WHERE format IS NOT NULL AND job_id IN (
         SELECT * FROM (SELECT id FROM job WHERE session = @session AND id < @job_id ORDER BY id DESC LIMIT @jobs)
         UNION ALL
         SELECT * FROM (SELECT id FROM job WHERE session = @session AND id > @job_id ORDER BY id LIMIT @jobs)))`,
    )
    .pluck()

  return { countFills, hasFillWithin }

  function countFills(
    { project_id, session_id, campaign_id }: Parameters<PlacementStore['countFills']>[0],
    since_ms: number,
    most: number,
  ): number {
    const session = session_id === null ? null : consent.findSession(project_id, session_id)
    if (session_id !== null && session === null) return 0
    const rows = session === null ? projectFills.iterate(project_id, since_ms) : sessionFills.iterate(session, since_ms)
    let count = 0
    for (const row of rows) if ((campaign_id ?? row.campaign_id) === row.campaign_id && ++count >= most) break
    return count
  }

  function hasFillWithin({ project_id, session_id, job_id, jobs }: IntervalGuard): boolean {
    const session = consent.findSession(project_id, session_id)
    return session !== null && nearFilled.get({ session, job_id, jobs }) === 1
  }
}

function listSlots(db: Database.Database, query: Parameters<PlacementStore['listSlots']>[0]): Page<StoredSlot> {
  const filter = createFilter()
  filter.add('job.project_id = ?', query.project_id)
  filter.add(`+job.session IN (${sessionsNamed})`, query.session_id)
  filter.add('+slot.job_id = ?', query.job_id)
  addSlotConditions(filter, query)
  const indexed = [
    ...indexedBy('SELECT value FROM json_each(?)', query.slot_ids && JSON.stringify(query.slot_ids)),
    ...indexedBy('SELECT id FROM slot WHERE job_id = ?', query.job_id),
    ...indexedBy(slotsOfSession, query.session_id),
  ]
  const [newest] = indexedBy(newestSlotOfSession, query.session_id)
  const source = { table: 'slot', select: selectSlots, filter, indexed, newest, from_id: query.from_id }
  return listPart<StoredSlot>(db, source, query)
}
