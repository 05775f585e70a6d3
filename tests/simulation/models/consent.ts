/**
 * Consent: the revisions of a session are numbered from 1, and what was acknowledged is among them. In the chain of a
 * project no decision fills without the consent that is in force there: fail closed.
 */

import type { Acknowledged } from '../acknowledged.ts'
import type { ConsentFact, Facts } from '../facts.ts'
import { projects } from '../steps.ts'

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

/** Follows the chain: each fill names the newest revision of its session, which is granted. */
function checkDecisions({ chains, placements }: Facts, project: (typeof projects)[number]): string[] {
  const sessionOf = new Map(placements.map(({ slot_id, session_id }) => [slot_id, session_id]))
  const newest = new Map<string, Entry>()
  for (const { entry: text } of chains.get(project) ?? []) {
    const entry = JSON.parse(text) as Entry
    if (entry.kind === 'consent') {
      const before = newest.get(entry.session_id)
      if (before !== undefined && entry.revision < before.revision) {
        return [
          `the chain of ${project} goes back from revision ${before.revision} to ${entry.revision} at ${entry.seq}`,
        ]
      }
      newest.set(entry.session_id, entry)
    }
    if (entry.kind !== 'decision' || !entry.fill) continue
    const inForce = newest.get(sessionOf.get(entry.slot_id) ?? '')
    if (inForce === undefined) {
      if (project === 'proj_strict') return [`${entry.slot_id} is filled at ${entry.seq} before any consent`]
      continue
    }
    const { revision, lifecycle_state } = inForce
    if (lifecycle_state !== 'granted' || revision !== entry.consent_revision) {
      return [
        `${entry.slot_id} is filled at ${entry.seq} by revision ${entry.consent_revision}; in force is ${revision}, ${lifecycle_state}`,
      ]
    }
  }
  return []
}
