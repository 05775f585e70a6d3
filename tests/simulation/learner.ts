/**
 * What each response says about the sandbox: it is compared with what is known, and what it acknowledges is known from then
 * on. Requests that are under way at the same time have no order: only what has been acknowledged before a request arrives
 * is compared with its response.
 */

import {
  type Acknowledged,
  beaconKey,
  copyKnown,
  emptyKnown,
  type Known,
  type KnownConsent,
  type KnownSlot,
  replaceState,
  sessionKey,
} from './acknowledged.ts'
import type { RequestStep } from './client.ts'
import type { RateModel } from './models/rates.ts'
import type { Problem } from './problem.ts'
import type { Project } from './steps.ts'
import type { Received, Sent } from './virtual/network.ts'

/** A request that the process has received, and what was known then. */
export interface Arrival {
  path: string
  generation: number
  known: Known
  /** Whether a replacement of the state was under way at the same time: then nothing is known of its order. */
  isMixed: boolean
  replaces: boolean
  /** Of a beacon. */
  beacon_id: string | null
}

export interface Learner {
  arrive(sent: Sent): Arrival
  /** It has ended. Without a response, from a process that has died, it may have happened or not. */
  leave(arrival: Arrival, isAnswered: boolean): void
  checkResponse(sent: Sent, received: Received): void
  learn(step: RequestStep, arrival: Arrival): (received: Received) => void
  /** Nothing is known of the rate buckets any more. */
  forgetBuckets(): void
  /** A commit is going to fail, or has just failed: responses may say so. */
  mayFail: boolean
}

interface Snapshot {
  lifecycle_state: string
  revision: number
  source: string
  purposes: { semantic_targeting: boolean; prompt_shared: boolean }
}

interface PlacementBody {
  slot_id: string
  status: string
  decision: { fill: boolean; format?: string; asset_token?: string; cs_declaration?: string } | null
  authoritative_consent?: Snapshot
}

/** It may have been acknowledged in another state: its event was sent there. */
const earlier = -1

const replacing = /^\/_sandbox\/(reset|import|snapshots\/[^/]+\/restore)$/

export function createLearner(acknowledged: Acknowledged, rates: RateModel, add: (problem: Problem) => void): Learner {
  const open = new Set<Arrival>()
  const json = <Body>(received: Received) => JSON.parse(received.body.toString('utf8')) as Body
  const learner: Learner = {
    mayFail: false,
    arrive({ method, path, body }) {
      const replaces = method === 'POST' && replacing.test(path)
      const { generation } = acknowledged
      const isBeacon = path === '/v1/beacons' && typeof body === 'string'
      const beacon_id = isBeacon ? (JSON.parse(body) as { beacon_id: string }).beacon_id : null
      const isMixed = acknowledged.replacing > 0
      const arrival = { path, generation, known: copyKnown(acknowledged.known), isMixed, replaces, beacon_id }
      if (replaces) {
        for (const other of open) other.isMixed = true
        acknowledged.replacing++
      }
      if (method !== 'GET' && path.startsWith('/_sandbox/')) rates.forget()
      open.add(arrival)
      return arrival
    },
    leave(arrival, isAnswered) {
      const { path, replaces } = arrival
      open.delete(arrival)
      if (path.startsWith('/_sandbox/')) rates.forget()
      if (replaces) {
        acknowledged.replacing--
        rates.forgetLimits()
      }
      if (isAnswered) return
      if (replaces) replaceState(acknowledged, null)
      if (path.startsWith('/_sandbox/projects/')) rates.forgetLimits()
      const name = /^\/_sandbox\/snapshots\/([^/]+)$/.exec(path)?.[1]
      if (name !== undefined) acknowledged.saved.set(name, null)
    },
    checkResponse,
    learn: (step, arrival) => (received) => {
      if (step.kind === 'place' || step.kind === 'poll') return learnSlot(step, arrival, received)
      if (received.status >= 300) return
      if (step.kind === 'consent') return learnConsent(step, arrival, received)
      if (step.kind === 'beacon') return learnBeacon(step, arrival, received)
      if (step.kind === 'activate') return learnActivation(step, received)
      learnState(step, arrival, received)
    },
    forgetBuckets: () => rates.forget(),
  }
  return learner

  function isKnown({ generation, isMixed }: Arrival): boolean {
    return generation === acknowledged.generation && !isMixed
  }

  function checkResponse(sent: Sent, { status, headers, body }: Received): void {
    const { method, path } = sent
    checkRate(sent, { status, headers, body, isWhole: true })
    if (status < 500) return
    const isInjected = headers['x-sandbox-fault'] !== undefined
    if (isInjected || (status === 503 && (learner.mayFail || acknowledged.replacing > 0))) return
    add({
      model: 'responses',
      text: `${method} ${path} is answered with ${status}: ${body.toString('utf8').slice(0, 300)}`,
    })
  }

  function checkRate({ path, headers }: Sent, received: Received): void {
    const project = /^Bearer sk_test_sandbox_(.+)$/.exec(headers.authorization ?? '')?.[1]
    if (project === undefined || path.startsWith('/v1/beacons') || received.headers['x-sandbox-fault'] !== undefined)
      return
    const reason = received.status === 429 ? json<{ reason_code: string }>(received).reason_code : null
    const at_ms = Date.parse(received.headers.date ?? '')
    const problem = rates.note(`proj_${project}` as Project, { status: received.status, at_ms, reason })
    if (problem !== null) add({ model: 'rates', text: problem })
  }

  function learnSlot(
    step: Extract<RequestStep, { kind: 'place' | 'poll' }>,
    arrival: Arrival,
    received: Received,
  ): void {
    if (received.status !== 200 || received.headers['x-sandbox-fault'] !== undefined) return
    const { slot_id, decision, authoritative_consent } = json<PlacementBody>(received)
    const before = acknowledged.slots.find((slot) => slot.slot_id === slot_id)
    if (step.kind === 'poll' && before === undefined) return
    const slot: KnownSlot = {
      slot_id,
      project: step.kind === 'place' ? step.project : before!.project,
      session: step.kind === 'place' ? step.session : before!.session,
      fill: decision === null ? null : decision.fill,
      format: decision?.format ?? null,
      asset_token: decision?.asset_token ?? null,
      known_at_ms: Date.parse(received.headers.date ?? ''),
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

  function learnConsent(step: Extract<RequestStep, { kind: 'consent' }>, arrival: Arrival, received: Received): void {
    if (isKnown(arrival)) {
      keepConsent(step, arrival, json<{ authoritative_consent: Snapshot }>(received).authoritative_consent)
    }
  }

  function learnBeacon(step: Extract<RequestStep, { kind: 'beacon' }>, arrival: Arrival, received: Received): void {
    const { duplicate, billable } = json<{ duplicate: boolean; billable: boolean }>(received)
    if (billable) add({ model: 'billing', text: 'a beacon is answered as billable: the sandbox bills nothing' })
    if (step.changes === 'token') add({ model: 'tokens', text: 'a beacon with a token that was made up is accepted' })
    if (step.changes === 'project' && step.activation === null) {
      add({ model: 'tokens', text: 'a beacon with the key of another project is accepted' })
    }
    const sent = acknowledged.beacons.find(({ beacon_id }) => beacon_id === arrival.beacon_id)
    if (sent === undefined || !isKnown(arrival)) return
    const key = beaconKey(sent.slot_id, sent.beacon_id)
    const isOld = arrival.known.beacons.has(key)
    if (isOld && !duplicate)
      add({ model: 'billing', text: `${sent.beacon_id} was accepted before, and is accepted again` })
    if (isOld && step.changes === 'event' && step.repeats !== null) {
      add({ model: 'billing', text: `another beacon with the id of ${sent.beacon_id} is accepted` })
    }
    if (step.changes !== 'event') {
      const generation = duplicate
        ? (acknowledged.known.beacons.get(key)?.generation ?? earlier)
        : acknowledged.generation
      acknowledged.known.beacons.set(key, { ...sent, generation })
    }
  }

  function learnActivation({ project }: Extract<RequestStep, { kind: 'activate' }>, received: Received): void {
    const { activation_token: token, expires_at_ms } = json<{ activation_token: string; expires_at_ms: number }>(
      received,
    )
    acknowledged.activations.push({ token, project, expires_at_ms })
  }

  function learnState(step: RequestStep, arrival: Arrival, received: Received): void {
    if (step.kind === 'settings' && isKnown(arrival)) {
      const { config_revision } = json<{ config_revision: number }>(received)
      const before = arrival.known.revisions.get(step.project) ?? 0
      if (config_revision < before) {
        add({ model: 'writes', text: `settings are at revision ${config_revision} after ${before} was acknowledged` })
      }
      if (step.rate !== null) rates.setLimit(step.project, step.rate)
      acknowledged.known.revisions.set(
        step.project,
        Math.max(config_revision, acknowledged.known.revisions.get(step.project) ?? 0),
      )
    } else if (step.kind === 'save') acknowledged.saved.set(`snap-${step.name}`, arrival.isMixed ? null : arrival.known)
    else if (step.kind === 'forget') acknowledged.saved.delete(`snap-${step.name}`)
    else if (step.kind === 'export')
      acknowledged.files.push({ bytes: received.body, known: arrival.isMixed ? emptyKnown() : arrival.known })
    else if (step.kind === 'reset') replaceState(acknowledged, emptyKnown())
    else if (step.kind === 'restore')
      replaceState(acknowledged, arrival.isMixed ? null : (acknowledged.saved.get(`snap-${step.name}`) ?? null))
    else if (step.kind === 'import') replaceState(acknowledged, acknowledged.files[step.file]!.known)
  }
}
