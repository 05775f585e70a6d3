/** Placements: jobs and their slots, each with its decision. */
import { addSlotConditions } from '../list-conditions.ts'
import { decisionColumns, decisionValues, parseRow, required, type StoredSlot, toSlot } from '../rows.ts'
import type { DecisionFacts, JobFacts, JobRow, NewSlot, PlacementStore, SlotRow } from '../store.ts'
import { type Batch, bytesOf, capQueries, type NearJob, nearTo } from './batch.ts'
import { addCallback } from './callbacks.ts'
import { saveConsent } from './consent.ts'
import type { Connection } from './group-commit.ts'
import type { Value } from './open.ts'
import { addActivation, type ProjectTable } from './projects.ts'
import { createFilter, listPart, sessionsNamed, shareReads } from './rows.ts'

const joined = `
  SELECT slot.*, job.project_id, session.session_id, job.job_type, job.mode, job.key_id, job.created_at_ms, job.facts
  FROM slot JOIN job ON job.id = slot.job_id LEFT JOIN session ON session.id = job.session`

export type PlacementTable = ReturnType<typeof placementTable>

export function placementTable(connection: Connection, projects: ProjectTable) {
  const { read, write } = connection

  const toSlots = async (rows: readonly StoredSlot[]): Promise<SlotRow[]> => {
    const known = await projects.projects(rows.map(({ project_id }) => project_id))
    return rows.map((stored) => toSlot(stored, known.get(stored.project_id)!))
  }

  /** Resolves to slots by their numbers. */
  const findAll = async (ids: readonly number[]): Promise<Map<number, SlotRow>> => {
    if (ids.length === 0) return new Map()
    const rows = await read<StoredSlot>(`${joined} WHERE slot.id = ANY($1::bigint[])`, [[...new Set(ids)]])
    return new Map((await toSlots(rows)).map((slot) => [slot.id, slot]))
  }

  const find = shareReads(findAll)

  const methods: PlacementStore = {
    createJob(job, slots, consent, caps) {
      const { project_id, session_id } = job
      const sessions = session_id === null ? [] : [{ project_id, session_id }]
      return write({ projects: [project_id], sessions, caps }, (batch) => {
        const fills = slots.filter((slot) => slot.decision?.outcome.status === 'filled').length
        if (!caps.every((cap) => batch.permits(cap, fills))) return false
        if (consent !== null && saveConsent(batch, consent) === null) return false
        addJob(batch, job, slots)
        return true
      })
    },
    bindDecision: (slot_id, decision, draft, caps, dropsTopic) =>
      write({ slots: [slot_id], caps }, (batch) => {
        const isFill = decision.outcome.status === 'filled'
        if (isFill && !caps.every((cap) => batch.permits(cap, 1))) return 'capped'
        const slot = batch.slot(slot_id)
        if (slot === null) return 'decided'
        if (dropsTopic) {
          const { derived_topic: _, ...facts } = parseRow<JobFacts>(slot.facts)
          batch.droppedTopics.push({ id: slot.job_id, facts: JSON.stringify(facts) })
        }
        if (slot.decided_at_ms !== null) return 'decided'
        const { project_id, job_id } = slot
        const { decided_at_ms } = decision
        batch.bindings.push({ id: slot_id, ...decisionRow(decision) })
        batch.setSlot({ ...slot, decided_at_ms })
        const session_id = caps.find(({ session_id: of }) => of !== null)?.session_id ?? null
        if (isFill) batch.addFill({ project_id, session_id, job_id, decided_at_ms })
        batch.decided.push(slot_id)
        batch.appendEvidence(project_id, slot_id, draft)
        batch.appendEvent({ type: 'placement.decided', at_ms: decided_at_ms, project_id, slot_id, ref: slot_id })
        return 'bound'
      }),
    async findJob(id) {
      const [row] = await read<Omit<JobRow, 'facts'> & { facts: string }>(
        `SELECT job.id, job.project_id, session.session_id, job_type, mode, key_id, job.created_at_ms, facts
         FROM job LEFT JOIN session ON session.id = job.session WHERE job.id = $1`,
        [id],
      )
      return row === undefined ? null : { ...row, facts: parseRow<JobFacts>(row.facts) }
    },
    findSlot: find,
    async listSlots(query) {
      const filter = createFilter()
      filter.add('job.project_id = ?', query.project_id)
      filter.add(`job.session IN (${sessionsNamed})`, query.session_id)
      filter.add('slot.job_id = ?', query.job_id)
      addSlotConditions(filter, query)
      const isIndexed = query.session_id !== undefined || query.job_id !== undefined
      const source = { table: 'slot', select: joined, filter, isIndexed, from_id: query.from_id }
      const page = await listPart<StoredSlot>(connection, source, query)
      return { rows: await toSlots(page.rows), next: page.next }
    },
    pendingSlots: (due_at_ms) =>
      due_at_ms === undefined
        ? read('SELECT id, due_at_ms FROM slot WHERE decided_at_ms IS NULL ORDER BY due_at_ms')
        : read(
            'SELECT id, due_at_ms FROM slot WHERE decided_at_ms IS NULL AND due_at_ms <= $1 ORDER BY due_at_ms LIMIT 2000',
            [due_at_ms],
          ),
    recordFrame: (slot_id, at_ms, token) =>
      write({}, (batch) => {
        if (!batch.firstFrames.has(slot_id)) batch.firstFrames.set(slot_id, { id: slot_id, first_frame_at_ms: at_ms })
        addActivation(batch, token, at_ms)
        batch.appendEvent({ type: 'frame.loaded', at_ms, project_id: token.project_id, slot_id, ref: slot_id })
      }),
    replaceAssetToken: (slot_id, hash, draft) =>
      write({ slots: [slot_id] }, (batch) => {
        const { project_id } = required(batch.slot(slot_id), 'a slot, or its job,')
        batch.assetHashes.set(slot_id, { id: slot_id, asset_token_hash: bytesOf(hash) })
        batch.appendEvidence(project_id, slot_id, draft)
      }),
    async countFills({ project_id, session_id }, since_ms, most) {
      const [row] = await (session_id === null
        ? read<{ fills: number }>(capQueries.projectFills, [project_id, since_ms, most])
        : read<{ fills: number }>(capQueries.sessionFills, [project_id, session_id, since_ms, most]))
      return row?.fills ?? 0
    },
    async filledWithin(interval) {
      const rows = await read<NearJob>(capQueries.nearJobs, nearTo(interval))
      return rows.some(({ is_filled }) => is_filled)
    },
    async catalogue(id) {
      const [row] = await read<{ demand: string }>('SELECT demand FROM catalogue WHERE id = $1', [id])
      return row?.demand ?? null
    },
  }

  return { find, findAll, methods }
}

/** Adds a job with its slots, their evidence, events and callbacks, to a batch that has locked its project. */
function addJob(batch: Batch, job: JobRow, slots: readonly NewSlot[]): void {
  const { id: job_id, project_id, session_id, job_type, mode, key_id, created_at_ms, facts } = job
  const session = session_id === null ? null : batch.sessionId({ project_id, session_id })
  batch.add('job', {
    ...{ id: job_id, project_id, session, job_type, mode, key_id, created_at_ms },
    facts: JSON.stringify(facts),
  })
  if (session_id !== null) batch.addJob({ id: job_id, project_id, session_id })
  for (const { id: slot_id, due_at_ms, decision, evidence } of slots) {
    if (facts.callback_url !== undefined) addCallback(batch, job, slot_id, facts.callback_url)
    batch.add('slot', { id: slot_id, job_id, due_at_ms, ...(decision === null ? {} : decisionRow(decision)) })
    if (decision?.outcome.status === 'filled') {
      batch.addFill({ project_id, session_id, job_id, decided_at_ms: decision.decided_at_ms })
    }
    if (evidence !== null) batch.appendEvidence(project_id, slot_id, evidence)
    const type = decision === null ? 'job.created' : 'placement.decided'
    batch.appendEvent({ type, at_ms: created_at_ms, project_id, slot_id, ref: slot_id })
  }
}

/** The columns of a decision, with bytes in the form of JSON. */
function decisionRow(decision: DecisionFacts): Record<string, Value> {
  const values = decisionValues(decision)
  return Object.fromEntries(
    decisionColumns.map((name, index) => {
      const value = values[index] ?? null
      return [name, value instanceof Uint8Array ? bytesOf(value) : value]
    }),
  )
}
