/**
 * Consent: the revisions of a session only grow, in the state and for everybody who asks one after the other; and nothing is
 * filled without the consent that is in force: fail closed.
 */
import type { FinalState } from '../final-state.ts'
import { type ActionOf, type History, isBefore, listDone, pickKind } from '../history.ts'
import { parseEntries } from './chains.ts'
import { type ConsentView, describe, readRevisions, readSlots, sessionName } from './known.ts'

export function checkConsent(history: History, state: FinalState): string[] {
  const stored = Map.groupBy(state.consents, ({ client_id, session_id }) => `${client_id}/${session_id}`)
  const problems: string[] = []
  for (const [session, rows] of stored) {
    const revisions = rows.map(({ revision }) => revision).toSorted((one, other) => one - other)
    if (revisions.some((revision, index) => revision !== index + 1)) {
      problems.push(`${session} has the revisions ${revisions.join(', ')}`)
    }
  }
  const seen = readRevisions(history)
  for (const [session, views] of seen)
    problems.push(...checkOrder(session, views), ...checkKept(session, views, stored.get(session) ?? []))
  return [...problems, ...checkFills(history), ...checkReads(history, seen), ...checkChains(state)]
}

/** Of two operations one after the other, the later has the same revision or a newer one. */
function checkOrder(session: string, views: readonly ConsentView[]): string[] {
  const problems: string[] = []
  for (const { operation, revision } of views) {
    const newer = views.find((view) => view.revision > revision && isBefore(view.operation, operation))
    if (newer === undefined) continue
    problems.push(
      `${session} is at revision ${revision} for ${describe(operation)}, and was at ${newer.revision} for ${describe(newer.operation)} before`,
    )
  }
  return problems
}

function checkKept(session: string, views: readonly ConsentView[], rows: FinalState['consents']): string[] {
  return views.flatMap(({ operation, revision, lifecycle_state, purposes }) => {
    if (revision === 0) return []
    const row = rows.find((each) => each.revision === revision)
    if (row === undefined) return [`revision ${revision} of ${session}, of ${describe(operation)}, is lost`]
    if (row.lifecycle_state === lifecycle_state && row.semantic_targeting === purposes.semantic_targeting) return []
    return [
      `revision ${revision} of ${session} was ${lifecycle_state} for ${describe(operation)}, and is ${row.lifecycle_state}`,
    ]
  })
}

/** A response with a fill has a consent that permits it. With `checkOrder`: one that was in force when it was called, or later. */
function checkFills(history: History): string[] {
  return readSlots(history).flatMap(({ body, ...operation }) => {
    const { decision, authoritative_consent: consent } = body
    if (decision?.fill !== true || consent === undefined || consent.lifecycle_state === 'granted') return []
    return [`${body.slot_id} is filled for ${describe(operation)} although its consent is ${consent.lifecycle_state}`]
  })
}

/** A read of a session has every revision that was acknowledged before it was called. */
function checkReads(history: History, seen: ReadonlyMap<string, readonly ConsentView[]>): string[] {
  const reads = listDone<{ items: { revision: number }[] }, ActionOf<'read_consent'>>(pickKind(history, 'read_consent'))
  return reads.flatMap((read) => {
    const newest = Math.max(0, ...read.body.items.map(({ revision }) => revision))
    const session = sessionName(read.action)
    const missed = seen.get(session)?.find(({ operation, revision }) => revision > newest && isBefore(operation, read))
    if (missed === undefined) return []
    return [
      `${describe(read)} sees ${session} at revision ${newest}, and ${describe(missed.operation)} had ${missed.revision} before`,
    ]
  })
}

/** In the chain no decision fills, and no beacon is accepted, without the consent of its session that is in force there. */
function checkChains({ chains, slots }: FinalState): string[] {
  const sessions = new Map(slots.map(({ slot_id, session_id }) => [slot_id, session_id]))
  return [...chains].flatMap(([project, chain]) => {
    const inForce = new Map<string, { revision: number; lifecycle_state: string }>()
    /** Of fills: the revision that permitted them. */
    const permitted = new Map<string, number>()
    return parseEntries(chain).flatMap((entry) => {
      const { kind, seq, slot_id, fill } = entry
      if (kind === 'consent') {
        const { session_id, revision, lifecycle_state } = entry
        const before = inForce.get(session_id)
        inForce.set(session_id, { revision, lifecycle_state })
        if (before === undefined || revision >= before.revision) return []
        return [`the chain of ${project} goes back from revision ${before.revision} to ${revision} at ${seq}`]
      }
      if (kind === 'decision' && !fill) return []
      if (kind === 'decision') permitted.set(slot_id, entry.consent_revision)
      const present = inForce.get(sessions.get(slot_id) ?? '')
      const revision = permitted.get(slot_id)
      if (present === undefined || (present.lifecycle_state === 'granted' && present.revision === revision)) return []
      const what = kind === 'beacon' ? 'has a beacon' : 'is filled'
      return [
        `${slot_id} ${what} at ${seq} of ${project} by revision ${revision}; in force is ${present.revision}, ${present.lifecycle_state}`,
      ]
    })
  })
}
