/**
 * Consent: the revisions of a session are numbered from 1, and what was acknowledged is among them. In the chain of a
 * project no decision fills without the consent that is in force there: fail closed.
 */

import type { Acknowledged } from '../acknowledged.ts'
import type { ConsentFact, Facts } from '../history/facts.ts'
import { projects } from '../steps/steps.ts'

interface Entry {
  kind: string
  seq: number
  at_ms: number
  slot_id: string
  session_id: string
  lifecycle_state: string
  revision: number
  consent_revision: number
  expires_at_ms: number
  fill: boolean
}

export function checkConsent(facts: Facts, { known }: Acknowledged): string[] {
  const problems: string[] = []
  const sessions = Map.groupBy(facts.consents, ({ client_id, session_id }) => `${client_id}/${session_id}`)
  for (const [session, revisions] of sessions) problems.push(...checkRevisions(session, revisions.toReversed()))
  for (const { project, session, revision, state, purposes } of known.consents.values()) {
    const rows = sessions.get(`${project}/session-${session}`) ?? []
    const row = rows.find((each) => each.revision === revision)
    // A session whose consent is only implied has no rows.
    if (row === undefined) {
      problems.push(`revision ${revision} of ${project}/session-${session} was acknowledged, and is missing`)
    } else if (
      (row.lifecycle_state !== state && row.lifecycle_state !== 'expired' && state !== 'expired') ||
      row.semantic_targeting !== purposes.semantic_targeting
    ) {
      problems.push(`revision ${revision} of ${project}/session-${session} was ${state}, and is ${row.lifecycle_state}`)
    }
  }
  for (const project of projects) problems.push(...checkDecisions(facts, project))
  return problems
}

function checkRevisions(session: string, revisions: readonly ConsentFact[]): string[] {
  const numbers = revisions.map(({ revision }) => revision)
  if (numbers.some((revision, index) => revision !== index + 1))
    return [`${session} has the revisions ${numbers.join(', ')}`]
  const current = revisions.filter(({ is_current }) => is_current)
  if (current.length === 1 && current[0] === revisions.at(-1)) return []
  return [`the current revision of ${session} is ${current.map(({ revision }) => revision).join(', ') || 'none'}`]
}

/**
 * Follows the chain. Each fill names the newest revision of its session, which is granted and has not expired, and each
 * beacon comes while the consent of its decision is still that (A65).
 */
function checkDecisions({ chains, placements }: Facts, project: (typeof projects)[number]): string[] {
  const sessions = new Map(placements.map(({ slot_id, session_id }) => [slot_id, session_id]))
  const newest = new Map<string, Entry>()
  /** Of each fill, what was in force for it. */
  const bound = new Map<string, Entry | undefined>()
  for (const { entry: text } of chains.get(project) ?? []) {
    const entry = JSON.parse(text) as Entry
    const inForce = newest.get(sessions.get(entry.slot_id) ?? '')
    if (entry.kind === 'consent') {
      const before = newest.get(entry.session_id)
      if (before !== undefined && entry.revision < before.revision) {
        return [
          `the chain of ${project} goes back from revision ${before.revision} to ${entry.revision} at ${entry.seq}`,
        ]
      }
      newest.set(entry.session_id, entry)
    } else if (entry.kind === 'decision' && entry.fill) {
      if (inForce === undefined && project === 'proj_strict')
        return [`${entry.slot_id} is filled at ${entry.seq} before any consent`]
      const reason = whyNot(entry, inForce)
      if (reason !== null) return [`${entry.slot_id} is filled at ${entry.seq} although ${reason}`]
      bound.set(entry.slot_id, inForce)
    } else if (entry.kind === 'beacon') {
      const isNew = bound.has(entry.slot_id) && bound.get(entry.slot_id) === undefined && inForce !== undefined
      const reason = isNew ? 'a consent was stored after its decision' : whyNot(entry, inForce)
      if (reason !== null) return [`a beacon of ${entry.slot_id} is accepted at ${entry.seq} although ${reason}`]
    }
  }
  return []
}

/** Why the consent in force does not permit an entry; null when it does. */
function whyNot({ consent_revision, at_ms }: Entry, inForce: Entry | undefined): string | null {
  if (inForce === undefined) return null
  const { revision, lifecycle_state, expires_at_ms } = inForce
  if (lifecycle_state !== 'granted') return `its consent is ${lifecycle_state}`
  if (revision !== consent_revision) return `it has revision ${consent_revision}, and ${revision} is in force`
  return at_ms >= expires_at_ms ? 'its consent has expired' : null
}
