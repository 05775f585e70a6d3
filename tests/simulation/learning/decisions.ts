/** What the responses of placements, polls and consents say. */
import { type KnownConsent, type KnownSlot, sessionKey } from '../acknowledged.ts'
import type { RequestStep } from '../clients/sender.ts'
import { type Decision, decisionProblems, type SentTerms } from '../models/decisions.ts'
import type { Received } from '../virtual/network.ts'
import { type Arrival, type Learning, readBody, readDate } from './arrival.ts'

interface Snapshot {
  lifecycle_state: string
  revision: number
  source: string
  purposes: { semantic_targeting: boolean; prompt_shared: boolean }
}

interface PlacementBody {
  slot_id: string
  status: string
  decision: Decision | null
  authoritative_consent?: Snapshot
}

/** A slot that another state has acknowledged: its event was sent there. */
const earlier = -1

export function createDecisionLearner({ acknowledged, add, isKnown }: Learning) {
  return { learnSlot, learnConsent }

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
    const { slot_id, decision, authoritative_consent } = body
    const isPlaced = step.kind === 'place'
    if (isPlaced) checkPlaced(step, received, body)
    const before = acknowledged.slots.find((slot) => slot.slot_id === slot_id)
    if (step.kind === 'poll' && before === undefined) return
    const slot: KnownSlot = {
      slot_id,
      project: step.kind === 'place' ? step.project : before!.project,
      session: step.kind === 'place' ? step.session : before!.session,
      fill: decision === null ? null : decision.fill,
      format: decision?.format ?? null,
      asset_token: decision?.asset_token ?? null,
      known_at_ms: readDate(received),
      decided_by_ms: isPlaced && decision !== null && isSteady(arrival) ? readDate(received) : null,
      creative:
        decision?.dimensions === undefined
          ? null
          : { ...decision.dimensions, duration_ms: decision.duration_ms ?? null },
      generation: step.kind === 'place' ? acknowledged.generation : earlier,
    }
    if (decision !== null && authoritative_consent !== undefined) {
      checkDecision(slot, decision.cs_declaration, authoritative_consent)
      if (step.kind === 'place') checkPlacedConsent(step, arrival, authoritative_consent)
    }
    if (before === undefined) acknowledged.slots.push(slot)
    else if (before.fill === null) Object.assign(before, slot)
    if (!isKnown(arrival)) return
    const known = acknowledged.known.slots.get(slot_id)
    if (known?.fill !== undefined && known.fill !== null && known.fill !== slot.fill) {
      add({ model: 'writes', text: `${slot_id} was decided, and is answered as ${JSON.stringify(slot.fill)} now` })
    }
    acknowledged.known.slots.set(slot_id, slot)
    if (step.kind === 'place' && step.consent !== null && authoritative_consent !== undefined) {
      keepConsent(step, arrival, authoritative_consent)
    }
  }

  /** Only consent that is granted permits a fill, and the declaration repeats it. */
  function checkDecision({ slot_id, fill }: KnownSlot, declared: string | undefined, snapshot: Snapshot): void {
    const { lifecycle_state, purposes } = snapshot
    if (fill === true && lifecycle_state !== 'granted') {
      add({ model: 'consent', text: `${slot_id} is filled although its consent is ${lifecycle_state}` })
    }
    const flags = `(S${Number(purposes.semantic_targeting)}/P${Number(purposes.prompt_shared)})`
    if (declared !== undefined && !declared.endsWith(flags)) {
      add({ model: 'consent', text: `${slot_id} declares ${declared}, its consent is ${flags}` })
    }
  }

  /** A placement that sends no consent has the newest that was acknowledged before it arrived, or a later one. */
  function checkPlacedConsent(
    { project, session, consent }: Extract<RequestStep, { kind: 'place' }>,
    arrival: Arrival,
    snapshot: Snapshot,
  ): void {
    const known = arrival.known.consents.get(sessionKey(project, session))
    if (known === undefined || !isKnown(arrival)) return
    if (snapshot.revision < known.revision) {
      add({
        model: 'consent',
        text: `a placement has revision ${snapshot.revision} after ${known.revision} was acknowledged`,
      })
    } else if (consent === null && snapshot.revision === known.revision) checkSame(known, snapshot)
  }

  function checkSame(known: KnownConsent, { lifecycle_state, revision, purposes }: Snapshot): void {
    const isExpired = lifecycle_state === 'expired'
    const same = JSON.stringify(purposes) === JSON.stringify(known.purposes)
    if ((lifecycle_state === known.state || isExpired) && same) return
    const text = `revision ${revision} of ${sessionKey(known.project, known.session)} was ${known.state}, and is ${lifecycle_state}`
    add({ model: 'consent', text })
  }

  function keepConsent(
    { project, session }: { project: KnownConsent['project']; session: number },
    arrival: Arrival,
    { lifecycle_state: state, revision, purposes }: Snapshot,
  ): void {
    const key = sessionKey(project, session)
    const before = arrival.known.consents.get(key)
    if (before !== undefined && revision < before.revision) {
      add({ model: 'consent', text: `${key} is at revision ${revision} after ${before.revision} was acknowledged` })
    }
    const newest = acknowledged.known.consents.get(key)
    if (newest !== undefined && newest.revision > revision) return
    if (newest?.revision === revision) checkSame(newest, { lifecycle_state: state, revision, purposes, source: '' })
    acknowledged.known.consents.set(key, { project, session, revision, state, purposes })
  }

  /** What was asked for, and what was decided. */
  function checkPlaced(
    step: SentTerms,
    { headers }: Received,
    { slot_id, decision, authoritative_consent }: PlacementBody,
  ): void {
    for (const id of headers['x-sandbox-slot-ids']?.split(', ') ?? [slot_id]) {
      acknowledged.caps.set(id, { session: step.session_cap, interval: step.interval })
    }
    const problems = decisionProblems(step, decision)
    if (step.wait_ms > 5_000 && headers['x-sandbox-warning']?.includes('wait_ms_clamped') !== true) {
      problems.push('waits less than it was asked to, and does not say so')
    }
    if (step.project === 'proj_strict' && authoritative_consent?.lifecycle_state === 'pending') {
      add({ model: 'consent', text: `${slot_id} has no consent, and its project requires one` })
    }
    for (const text of problems) add({ model: 'decisions', text: `${slot_id} ${text}` })
  }

  function learnConsent(step: Extract<RequestStep, { kind: 'consent' }>, arrival: Arrival, received: Received): void {
    const { authoritative_consent: snapshot } = readBody<{ authoritative_consent: Snapshot }>(received)
    const { expected_revision: expected } = arrival
    const known = arrival.known.consents.get(sessionKey(step.project, step.session))
    const isOld = isKnown(arrival) && (known?.revision ?? 0) > (expected ?? Number.MAX_SAFE_INTEGER)
    if (expected !== null && (isOld || (snapshot.revision !== expected && snapshot.revision !== expected + 1))) {
      add({ model: 'consent', text: `a consent that expects revision ${expected} is written as ${snapshot.revision}` })
    }
    if (isKnown(arrival)) keepConsent(step, arrival, snapshot)
  }
}
