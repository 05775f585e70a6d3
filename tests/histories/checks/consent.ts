/**
 * Consent: the revisions of a session only grow, in the state and for everybody who asks one after the other; and nothing is
 * filled without the consent that is in force: fail closed.
 */
import { type ActionOf, type History, isBefore, listDone, pickKind } from '../history.ts'
import { type ConsentView, describe, readRevisions, readViews, sessionName } from '../known.ts'
import type { State } from '../state.ts'
import { type Entry, parseEntries } from './chains.ts'

/** The project whose settings require a consent. */
const strict = 'proj_strict'

export function checkConsent(history: History, state: State): string[] {
  const stored = Map.groupBy(state.consents, ({ client_id, session_id }) => `${client_id}/${session_id}`)
  const seen = readRevisions(history)
  return [
    ...[...stored].flatMap(([session, rows]) => checkRevisions(session, rows)),
    ...[...seen].flatMap(([session, views]) => [
      ...checkOrder(session, views),
      ...checkKept(session, views, stored.get(session) ?? []),
    ]),
    ...checkFills(history),
    ...checkReads(history, seen),
    ...checkChains(state),
  ]
}

/** Numbered from 1 without a gap; the newest is the current one. */
function checkRevisions(session: string, rows: State['consents']): string[] {
  const numbers = rows.map(({ revision }) => revision).toSorted((one, other) => one - other)
  if (numbers.some((revision, index) => revision !== index + 1))
    return [`${session} has the revisions ${numbers.join(', ')}`]
  const current = rows.filter(({ is_current }) => is_current).map(({ revision }) => revision)
  if (current.length === 1 && current[0] === numbers.at(-1)) return []
  return [`the current revision of ${session} is ${current.join(', ') || 'none'}`]
}

/** Of two operations one after the other, the later has the same revision or a newer one. */
function checkOrder(session: string, views: readonly ConsentView[]): string[] {
  return views.flatMap(({ operation, revision }) => {
    const newer = views.find((view) => view.revision > revision && isBefore(view.operation, operation))
    if (newer === undefined) return []
    return [
      `${session} is at revision ${revision} for ${describe(operation)}, and was at ${newer.revision} for ${describe(newer.operation)} before`,
    ]
  })
}

/** A consent may expire at any time. */
function checkKept(session: string, views: readonly ConsentView[], rows: State['consents']): string[] {
  return views.flatMap(({ operation, revision, lifecycle_state, purposes }) => {
    if (revision === 0) return []
    const row = rows.find((each) => each.revision === revision)
    if (row === undefined) return [`revision ${revision} of ${session}, of ${describe(operation)}, is lost`]
    const isSame = [lifecycle_state, 'expired'].includes(row.lifecycle_state) || lifecycle_state === 'expired'
    if (isSame && row.semantic_targeting === purposes.semantic_targeting) return []
    return [
      `revision ${revision} of ${session} was ${lifecycle_state} for ${describe(operation)}, and is ${row.lifecycle_state}`,
    ]
  })
}

/** A response with a fill has a consent that permits it, and declares what that one permits. */
function checkFills(history: History): string[] {
  return [...readViews(history).values()].flat().flatMap(({ operation, slot_id, fill, declared, consent }) => {
    if (consent === null) return []
    const problems: string[] = []
    if (fill && consent.lifecycle_state !== 'granted') {
      problems.push(
        `${slot_id} is filled for ${describe(operation)} although its consent is ${consent.lifecycle_state}`,
      )
    }
    const { semantic_targeting, prompt_shared } = consent.purposes
    const flags = `(S${Number(semantic_targeting)}/P${Number(prompt_shared)})`
    if (declared !== null && !declared.endsWith(flags)) {
      problems.push(`${slot_id} declares ${declared} for ${describe(operation)}, and its consent is ${flags}`)
    }
    return problems
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

/**
 * Follows the chain of a project. Each fill names the newest revision of its session, which is granted and has not expired,
 * and each beacon comes while the consent of its decision is still that (A65).
 */
function checkChains({ chains, slots }: State): string[] {
  const sessions = new Map(slots.map(({ slot_id, session_id }) => [slot_id, session_id]))
  return [...chains].flatMap(([project, chain]) => {
    const newest = new Map<string, Entry>()
    /** Of fills: the revision that permitted them. */
    const permitted = new Map<string, number>()
    return parseEntries(chain).flatMap((entry) => {
      const { kind, seq, slot_id, revision } = entry
      if (kind === 'consent') {
        const before = newest.get(entry.session_id)
        newest.set(entry.session_id, entry)
        if (before === undefined || revision >= before.revision) return []
        return [`the chain of ${project} goes back from revision ${before.revision} to ${revision} at ${seq}`]
      }
      if (kind === 'decision' && !entry.fill) return []
      const inForce = newest.get(sessions.get(slot_id) ?? '')
      // A fill before any consent is permitted by the settings, and ends with the first one.
      if (kind === 'decision') permitted.set(slot_id, inForce === undefined ? 0 : entry.consent_revision)
      const reason = whyNot(entry, permitted.get(slot_id), inForce)
      if (reason === null) return []
      return [`${slot_id} ${kind === 'beacon' ? 'has a beacon' : 'is filled'} at ${seq} of ${project} ${reason}`]
    })
  })
}

/** Why the consent in force does not permit a fill or its beacon; null when it does. */
function whyNot({ kind, client_id, at_ms }: Entry, revision: number | undefined, inForce: Entry | undefined) {
  if (inForce === undefined) return kind === 'decision' && client_id === strict ? 'before any consent' : null
  const { lifecycle_state: state, revision: present, expires_at_ms } = inForce
  if (state !== 'granted' || present !== revision) return `by revision ${revision}; in force is ${present}, ${state}`
  return at_ms >= expires_at_ms ? `although revision ${revision} has expired` : null
}
