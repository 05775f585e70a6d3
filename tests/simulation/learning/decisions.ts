/** What the responses of placements, polls and consents say. */
import type { ConsentSnapshot } from '#tests/histories/known.ts'
import { type KnownSlot, newestRevision } from '../acknowledged.ts'
import type { RequestStep } from '../clients/sender.ts'
import type { Received } from '../virtual/network.ts'
import { type Arrival, type Learning, readBody, readDate } from './arrival.ts'
import { type Decision, decisionProblems, type SentTerms } from './terms.ts'

interface PlacementBody {
  slot_id: string
  status: string
  decision: Decision | null
  authoritative_consent?: ConsentSnapshot
}

export function createDecisionLearner({ acknowledged, add, isKnown }: Learning) {
  return { learnSlot, checkConsent }

  /** Whether the clock has not been moved since a request arrived. */
  function isSteady({ clocks }: Arrival): boolean {
    return clocks === acknowledged.clocks && acknowledged.movingClocks === 0
  }

  function learnSlot(
    step: Extract<RequestStep, { kind: 'place' | 'poll' }>,
    arrival: Arrival,
    received: Received,
  ): void {
    if (received.status !== 200 || received.headers['x-sandbox-fault'] !== undefined) return
    const body = readBody<PlacementBody>(received)
    const { slot_id, decision } = body
    const isPlaced = step.kind === 'place'
    if (isPlaced) checkPlaced(step, received, body)
    const before = acknowledged.slots.find((slot) => slot.slot_id === slot_id)
    if (step.kind === 'poll' && before === undefined) return
    const slot: KnownSlot = {
      slot_id,
      project: step.kind === 'place' ? step.project : before!.project,
      session: step.kind === 'place' ? step.session : before!.session,
      fill: decision === null ? null : decision.fill,
      asset_token: decision?.asset_token ?? null,
      known_at_ms: readDate(received),
      decided_by_ms: isPlaced && decision !== null && isSteady(arrival) ? readDate(received) : null,
    }
    if (before === undefined) acknowledged.slots.push(slot)
    else if (before.fill === null) Object.assign(before, slot)
  }

  /** What was asked for, and what was decided. */
  function checkPlaced(
    step: SentTerms,
    { headers }: Received,
    { slot_id, decision, authoritative_consent }: PlacementBody,
  ): void {
    const problems = decisionProblems(step, decision)
    if (step.wait_ms > 5_000 && headers['x-sandbox-warning']?.includes('wait_ms_clamped') !== true) {
      problems.push('waits less than it was asked to, and does not say so')
    }
    if (step.project === 'proj_strict' && authoritative_consent?.lifecycle_state === 'pending') {
      add({ check: 'consent', text: `${slot_id} has no consent, and its project requires one` })
    }
    for (const text of problems) add({ check: 'decisions', text: `${slot_id} ${text}` })
  }

  /** A consent that expects a revision is written onto that one, or not at all. */
  function checkConsent(step: Extract<RequestStep, { kind: 'consent' }>, arrival: Arrival, received: Received): void {
    const { revision } = readBody<{ authoritative_consent: ConsentSnapshot }>(received).authoritative_consent
    const { expected_revision: expected, known } = arrival
    if (expected === null) return
    const isOld = isKnown(arrival) && newestRevision(known, step.project, step.session) > expected
    if (isOld || (revision !== expected && revision !== expected + 1)) {
      add({ check: 'consent', text: `a consent that expects revision ${expected} is written as ${revision}` })
    }
  }
}
