import { addSlotConditions } from '../list-conditions.ts'
import { cacheRow, decisionColumns, decisionValues, parseRow, required, type StoredSlot, toSlot } from '../rows.ts'
import type { CapGuard, IntervalGuard, JobFacts, JobRow, NewSlot, PlacementStore, SlotRow } from '../store.ts'
import type { CallbackTable } from './callbacks.ts'
import type { ConsentTable } from './consent.ts'
import type { EventTable } from './events.ts'
import type { EvidenceTable } from './evidence.ts'
import type { Connection } from './group-commit.ts'
import type { ProjectTable } from './projects.ts'
import { createFilter, indexedBy, listPart, newestSlotOfSession, sessionsNamed, slotsOfSession } from './rows.ts'

/** Cached slots. */
const cacheSize = 1_024

const joined = `
  SELECT slot.*, job.project_id, session.session_id, job.job_type, job.mode, job.key_id, job.created_at_ms, job.facts
  FROM slot CROSS JOIN job ON job.id = slot.job_id LEFT JOIN session ON session.id = job.session`

export type PlacementTable = ReturnType<typeof placementTable>

export function placementTable(
  { db, read, write }: Connection,
  tables: {
    projects: ProjectTable
    consent: ConsentTable
    evidence: EvidenceTable
    events: EventTable
    callbacks: CallbackTable
  },
) {
  const { projects, consent, evidence, events, callbacks } = tables
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
  const findStored = db.prepare<[number], StoredSlot>(`${joined} WHERE slot.id = ?`)
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

  const insert = (job: JobRow, slots: readonly NewSlot[]): void => {
    const { id: job_id, project_id, session_id, created_at_ms } = job
    const session = session_id === null ? null : consent.ensureSession(project_id, session_id)
    insertJob.run(
      job_id,
      project_id,
      session,
      job.job_type,
      job.mode,
      job.key_id,
      created_at_ms,
      JSON.stringify(job.facts),
    )
    const { callback_url } = job.facts
    for (const { id, due_at_ms, decision } of slots) {
      if (callback_url !== undefined) callbacks.insert(job, id, callback_url)
      if (decision === null) {
        insertPending.run(id, job_id, due_at_ms)
        continue
      }
      insertSlot.run(id, job_id, due_at_ms, ...decisionValues(decision))
      const project = projects.project(project_id)
      cacheRow(recent, cacheSize, id, { id, job, project, created_at_ms, due_at_ms, decision, first_frame_at_ms: null })
    }
  }

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

  const filledWithin = ({ project_id, session_id, job_id, jobs }: IntervalGuard): boolean => {
    const session = consent.sessionOf(project_id, session_id)
    return session !== null && nearFilled.get({ session, job_id, jobs }) === 1
  }

  /** Whether a cap leaves room for this number of fills. */
  const permits = (cap: CapGuard, fills: number): boolean => {
    if (fills === 0) return true
    return cap.kind === 'interval' ? !filledWithin(cap) : countFills(cap, cap.since_ms, cap.most) + fills <= cap.most
  }

  const withProject = (stored: StoredSlot): SlotRow => toSlot(stored, projects.project(stored.project_id))

  const methods: PlacementStore = {
    createJob: (job, slots, consentWrite, caps) =>
      write(() => {
        const fills = slots.filter((slot) => slot.decision?.outcome.status === 'filled').length
        if (!caps.every((cap) => permits(cap, fills))) return false
        if (consentWrite !== null && consent.save(consentWrite) === null) return false
        insert(job, slots)
        const { project_id, created_at_ms: at_ms } = job
        for (const { id, decision, evidence: draft } of slots) {
          const type = decision === null ? 'job.created' : 'placement.decided'
          if (draft !== null) evidence.append(project_id, id, draft)
          events.append({ type, at_ms, project_id, slot_id: id, ref: id })
        }
        return true
      }),
    bindDecision: (slot_id, decision, draft, caps, dropsTopic) =>
      write(() => {
        const isFill = decision.outcome.status === 'filled'
        if (isFill && !caps.every((cap) => permits(cap, 1))) return 'capped'
        recent.delete(slot_id)
        if (dropsTopic) dropTopic.run(slot_id)
        if (bind.run(...decisionValues(decision), slot_id).changes !== 1) return 'decided'
        const project_id = slot(slot_id).project.id
        evidence.append(project_id, slot_id, draft)
        const { decided_at_ms: at_ms } = decision
        events.append({ type: 'placement.decided', at_ms, project_id, slot_id, ref: slot_id })
        return 'bound'
      }),
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
        const source = { table: 'slot', select: joined, filter, indexed, newest, from_id: query.from_id }
        const { rows, next } = listPart<StoredSlot>(db, source, query)
        return { rows: rows.map(withProject), next }
      })
    },
    pendingSlots: async (due_at_ms = Number.MAX_SAFE_INTEGER) => read(() => pending.all(due_at_ms)),
    recordFrame: (slot_id, at_ms, token) =>
      write(() => {
        recent.delete(slot_id)
        firstFrame.run(at_ms, slot_id)
        projects.insertActivation(token, at_ms)
        events.append({ type: 'frame.loaded', at_ms, project_id: token.project_id, slot_id, ref: slot_id })
      }),
    replaceAssetToken: (slot_id, hash, draft) =>
      write(() => {
        recent.delete(slot_id)
        replaceHash.run(hash, slot_id)
        evidence.append(slot(slot_id).project.id, slot_id, draft)
      }),
    countFills: async (scope, since_ms, most) => read(() => countFills(scope, since_ms, most)),
    filledWithin: async (interval) => read(() => filledWithin(interval)),
    catalogue: async (id) => read(() => demand.get(id) ?? null),
  }

  return {
    find,
    slot,
    clear: () => recent.clear(),
    methods,
  }
}
