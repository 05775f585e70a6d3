import { decisionColumns, decisionValues, type StoredSlot, toSlot } from '#store/slot-rows.ts'
import { addSlotConditions } from '../list-conditions.ts'
import { cacheRow, parseRow, required } from '../rows.ts'
import type { IntervalGuard, JobFacts, JobRow, PlacementStore, SlotRow } from '../store.ts'
import type { WriteMethods } from '../writes/index.ts'
import type { Transaction } from '../writes/transaction.ts'
import type { ConsentTable } from './consent.ts'
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
  const insertJob = db.prepare(
    'INSERT INTO job (id, project_id, session, job_type, mode, key_id, created_at_ms, facts) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
  )
  const insertSlot = db.prepare(
    `INSERT INTO slot (id, job_id, due_at_ms, ${decisionColumns.join(', ')}) VALUES (?, ?, ?, ${decisionColumns.map(() => '?').join(', ')})`,
  )
  const insertPending = db.prepare('INSERT INTO slot (id, job_id, due_at_ms) VALUES (?, ?, ?)')
  const bind = db.prepare(
    `UPDATE slot SET ${decisionColumns.map((name) => `${name} = ?`).join(', ')} WHERE id = ? AND decided_at_ms IS NULL`,
  )
  const dropTopic = db.prepare(
    "UPDATE job SET facts = json_remove(facts, '$.derived_topic') WHERE id = (SELECT job_id FROM slot WHERE id = ?)",
  )
  const findJob = db.prepare<[number], Omit<JobRow, 'facts'> & { facts: string }>(
    `SELECT job.id, job.project_id, session.session_id, job_type, mode, key_id, job.created_at_ms, facts
     FROM job LEFT JOIN session ON session.id = job.session WHERE job.id = ?`,
  )
  const findStored = db.prepare<[number], StoredSlot>(`${selectSlots} WHERE slot.id = ?`)
  const pending = db.prepare<[number], { id: number; due_at_ms: number }>(
    'SELECT id, due_at_ms FROM slot WHERE decided_at_ms IS NULL AND due_at_ms <= ? ORDER BY due_at_ms',
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
  const nearFilled = db
    .prepare<[{ session: number; job_id: number; jobs: number }], number>(
      `SELECT EXISTS (SELECT 1 FROM slot WHERE format IS NOT NULL AND job_id IN (
         SELECT * FROM (SELECT id FROM job WHERE session = @session AND id < @job_id ORDER BY id DESC LIMIT @jobs)
         UNION ALL
         SELECT * FROM (SELECT id FROM job WHERE session = @session AND id > @job_id ORDER BY id LIMIT @jobs)))`,
    )
    .pluck()
  const demand = db.prepare<[number], string>('SELECT demand FROM catalogue WHERE id = ?').pluck()

  const recent = new Map<number, SlotRow>()

  /** Returns a slot. Beacons follow soon after their placement, so recent slots are cached. */
  const find = (id: number): SlotRow | null => {
    const cached = recent.get(id)
    if (cached !== undefined) return cached
    const stored = findStored.get(id)
    if (stored === undefined) return null
    const slot = withProject(stored)
    cacheRow(recent, cacheSize, id, slot)
    return slot
  }

  /** Returns a slot that another row belongs to. @throws StorageError when it, or its job, is missing */
  const slot = (id: number): SlotRow => required(find(id), 'a slot, or its job,')

  const countFills = (
    { project_id, session_id }: { project_id: number; session_id: string | null },
    since_ms: number,
    most: number,
  ): number => {
    const session = session_id === null ? null : consent.sessionOf(project_id, session_id)
    if (session_id !== null && session === null) return 0
    const rows = session === null ? projectFills.iterate(project_id, since_ms) : sessionFills.iterate(session, since_ms)
    let count = 0
    for (const _ of rows) if (++count >= most) break
    return count
  }

  const hasFillWithin = ({ project_id, session_id, job_id, jobs }: IntervalGuard): boolean => {
    const session = consent.sessionOf(project_id, session_id)
    return session !== null && nearFilled.get({ session, job_id, jobs }) === 1
  }

  const withProject = (stored: StoredSlot): SlotRow => toSlot(stored, projects.project(stored.project_id))

  const transaction = {
    countFills: (cap) => countFills(cap, cap.since_ms, cap.most),
    hasFillWithin,
    insertJob({ id, project_id, session_id, job_type, mode, key_id, created_at_ms, facts }) {
      const session = session_id === null ? null : consent.ensureSession(project_id, session_id)
      insertJob.run(id, project_id, session, job_type, mode, key_id, created_at_ms, JSON.stringify(facts))
    },
    insertSlot(job, { id, due_at_ms, decision }) {
      if (decision === null) {
        insertPending.run(id, job.id, due_at_ms)
        return
      }
      insertSlot.run(id, job.id, due_at_ms, ...decisionValues(decision))
      const { project_id, created_at_ms } = job
      const project = projects.project(project_id)
      cacheRow(recent, cacheSize, id, { id, job, project, created_at_ms, due_at_ms, decision, first_frame_at_ms: null })
    },
    bindSlot(slot_id, decision) {
      recent.delete(slot_id)
      const { changes } = bind.run(...decisionValues(decision), slot_id)
      return changes === 1 ? slot(slot_id).project.id : null
    },
    dropTopic: (slot_id) => void dropTopic.run(slot_id),
    projectOfSlot: (slot_id) => slot(slot_id).project.id,
    setFirstFrame(slot_id, at_ms) {
      recent.delete(slot_id)
      firstFrame.run(at_ms, slot_id)
    },
    setAssetHash(slot_id, hash) {
      recent.delete(slot_id)
      replaceHash.run(hash, slot_id)
    },
  } satisfies Partial<Transaction>

  const methods: Omit<PlacementStore, keyof WriteMethods> = {
    findJob: async (id) =>
      read(() => {
        const stored = findJob.get(id)
        return stored === undefined ? null : { ...stored, facts: parseRow<JobFacts>(stored.facts) }
      }),
    findSlot: (id) => read(() => find(id)),
    async listSlots(query) {
      const filter = createFilter()
      filter.add('job.project_id = ?', query.project_id)
      filter.add(`+job.session IN (${sessionsNamed})`, query.session_id)
      filter.add('+slot.job_id = ?', query.job_id)
      addSlotConditions(filter, query)
      const indexed = [
        ...indexedBy('SELECT id FROM slot WHERE job_id = ?', query.job_id),
        ...indexedBy(slotsOfSession, query.session_id),
      ]
      const [newest] = indexedBy(newestSlotOfSession, query.session_id)
      return read(() => {
        const source = { table: 'slot', select: selectSlots, filter, indexed, newest, from_id: query.from_id }
        const { rows, next } = listPart<StoredSlot>(db, source, query)
        return { rows: rows.map(withProject), next }
      })
    },
    pendingSlots: async (due_at_ms = Number.MAX_SAFE_INTEGER) => read(() => pending.all(due_at_ms)),
    countFills: async (scope, since_ms, most) => read(() => countFills(scope, since_ms, most)),
    filledWithin: async (interval) => read(() => hasFillWithin(interval)),
    catalogue: async (id) => read(() => demand.get(id) ?? null),
  }

  return {
    find,
    slot,
    clear: () => recent.clear(),
    transaction,
    methods,
  }
}
