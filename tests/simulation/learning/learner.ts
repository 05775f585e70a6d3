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
  freshKnown,
  type Known,
  replaceState,
} from '../acknowledged.ts'
import type { RequestStep } from '../clients/sender.ts'
import type { RateModel } from '../models/rates.ts'
import type { Problem } from '../problem.ts'
import type { Project } from '../steps/steps.ts'
import type { Received, Sent } from '../virtual/network.ts'
import { type Arrival, type Learning, readBody, readDate } from './arrival.ts'
import { createDecisionLearner } from './decisions.ts'
import { checkTimes } from './times.ts'

export interface Learner {
  arrive(sent: Sent): Arrival
  /** It has ended. Without a response, from a process that has died, it may have happened or not. */
  leave(arrival: Arrival, isAnswered: boolean): void
  checkResponse(sent: Sent, arrival: Arrival, received: Received): void
  learn(step: RequestStep, arrival: Arrival): (received: Received) => void
  /** Nothing is known of the rate buckets any more. */
  forgetBuckets(): void
  /** A commit is going to fail, or has just failed: responses may say so. */
  mayFail: boolean
}

/** It may have been acknowledged in another state: its event was sent there. */
const earlier = -1

const replacing = /^\/_sandbox\/(reset|import|snapshots\/[^/]+\/restore)$/

export function createLearner(acknowledged: Acknowledged, rates: RateModel, add: (problem: Problem) => void): Learner {
  const open = new Set<Arrival>()
  const isKnown = ({ generation, isMixed }: Arrival) => generation === acknowledged.generation && !isMixed
  const learning: Learning = { acknowledged, add, isKnown }
  const decisions = createDecisionLearner(learning)
  const learner: Learner = {
    mayFail: false,
    arrive(sent) {
      const { method, path } = sent
      const replaces = method === 'POST' && replacing.test(path)
      if (method !== 'GET' && path.startsWith('/_sandbox/')) rates.forget()
      if (path.startsWith('/_sandbox/clock/')) acknowledged.movingClocks++
      const arrival: Arrival = {
        snapshot: method === 'POST' ? findSnapshot(path) : null,
        ...{ path, replaces, generation: acknowledged.generation, known: copyKnown(acknowledged.known) },
        ...{
          isMixed: acknowledged.replacing > 0,
          rates: rates.epoch,
          clocks: acknowledged.movingClocks > 0 ? -1 : acknowledged.clocks,
          ...readNames(sent),
        },
      }
      if (replaces) {
        for (const other of open) other.isMixed = true
        acknowledged.replacing++
      }
      open.add(arrival)
      return arrival
    },
    leave(arrival, isAnswered) {
      const { path, replaces } = arrival
      open.delete(arrival)
      if (path.startsWith('/_sandbox/')) rates.forget()
      if (path.startsWith('/_sandbox/clock/')) {
        acknowledged.clocks++
        acknowledged.movingClocks--
      }
      if (replaces) {
        acknowledged.replacing--
        rates.forgetLimits()
      }
      if (isAnswered) return
      if (replaces) replaceState(acknowledged, null)
      const project = /^\/_sandbox\/projects\/([^/]+)/.exec(path)?.[1] as Project | undefined
      if (project !== undefined) {
        rates.forgetLimits()
        acknowledged.known.settings.delete(project)
      }
      const name = /^\/_sandbox\/snapshots\/([^/]+)$/.exec(path)?.[1]
      if (name !== undefined) acknowledged.saved.set(name, null)
    },
    checkResponse,
    learn: (step, arrival) => (received) => {
      if (step.kind === 'place' || step.kind === 'poll') return decisions.learnSlot(step, arrival, received)
      if (step.kind === 'restore') checkSnapshot(arrival, received)
      if (received.status >= 300) return
      if (step.kind === 'consent') return decisions.learnConsent(step, arrival, received)
      if (step.kind === 'beacon') return learnBeacon(step, arrival, received)
      if (arrival.path === '/v1/browser/activate') return learnActivation(step, received)
      learnState(step, arrival, received)
    },
    forgetBuckets: () => rates.forget(),
  }
  return learner

  /** What is known of the snapshot that is restored, unless it is written or removed at the same time. */
  function findSnapshot(path: string): Known | null {
    const name = /^\/_sandbox\/snapshots\/([^/]+)\/restore$/.exec(path)?.[1]
    const isChanging = [...open].some((other) => other.path === `/_sandbox/snapshots/${name}`)
    return name === undefined || isChanging ? null : (acknowledged.saved.get(name) ?? null)
  }

  function checkSnapshot({ path, snapshot }: Arrival, { status }: Received): void {
    if (status < 400 || status >= 500 || snapshot === null || findSnapshot(path) !== snapshot) return
    add({ model: 'writes', text: `POST ${path} is answered with ${status}, and it was saved` })
  }

  function checkResponse(sent: Sent, arrival: Arrival, received: Received): void {
    const { method, path } = sent
    const { status, headers, body } = received
    checkRate(sent, arrival, received)
    if (headers['x-sandbox-fault'] !== undefined) return
    for (const text of checkTimes(sent, received, acknowledged)) add({ model: 'tokens', text })
    if (status < 500 || (status === 503 && (learner.mayFail || acknowledged.replacing > 0))) return
    add({
      model: 'responses',
      text: `${method} ${path} is answered with ${status}: ${body.toString('utf8').slice(0, 300)}`,
    })
  }

  function checkRate({ path, headers }: Sent, arrival: Arrival, received: Received): void {
    if (received.headers['x-sandbox-fault'] !== undefined) return
    const reason = received.status === 429 ? readBody<{ reason_code: string }>(received).reason_code : null
    if (reason === 'rate_limited' && !/^[1-9]\d*$/.test(received.headers['retry-after'] ?? '')) {
      add({ model: 'rates', text: `${path} is refused, and its response does not say for how long` })
    }
    const project = /^Bearer sk_test_sandbox_(.+)$/.exec(headers.authorization ?? '')?.[1]
    if (project === undefined || path.startsWith('/v1/beacons') || arrival.rates !== rates.epoch) return
    const isOneOfMany = [...open].some((other) => other !== arrival && other.path.startsWith('/v1/'))
    const response = { status: received.status, at_ms: readDate(received), reason, isOneOfMany }
    const problem = rates.note(`proj_${project}` as Project, response)
    if (problem !== null) add({ model: 'rates', text: problem })
  }

  function learnBeacon(step: Extract<RequestStep, { kind: 'beacon' }>, arrival: Arrival, received: Received): void {
    const { duplicate, billable } = readBody<{ duplicate: boolean; billable: boolean }>(received)
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

  function learnActivation(step: RequestStep, received: Received): void {
    if (!('project' in step)) return
    const { activation_token: token, expires_at_ms } = readBody<{ activation_token: string; expires_at_ms: number }>(
      received,
    )
    acknowledged.activations.push({ token, project: step.project, expires_at_ms })
  }

  function learnState(step: RequestStep, arrival: Arrival, received: Received): void {
    if (step.kind === 'settings') learnSettings(step, arrival, received)
    else if (step.kind === 'save') acknowledged.saved.set(`snap-${step.name}`, arrival.isMixed ? null : arrival.known)
    else if (step.kind === 'forget') acknowledged.saved.delete(`snap-${step.name}`)
    else if (step.kind === 'export')
      acknowledged.files.push({ bytes: received.body, known: arrival.isMixed ? emptyKnown() : arrival.known })
    else if (step.kind === 'reset') replaceState(acknowledged, freshKnown())
    else if (step.kind === 'restore')
      replaceState(acknowledged, arrival.isMixed ? null : (acknowledged.saved.get(`snap-${step.name}`) ?? null))
    else if (step.kind === 'import') replaceState(acknowledged, acknowledged.files[step.file]!.known)
  }

  /** Every change has a revision of its own: two that have the same one were written over each other. */
  function learnSettings(step: Extract<RequestStep, { kind: 'settings' }>, arrival: Arrival, received: Received): void {
    if (!isKnown(arrival)) return
    const { project, rate } = step
    const { config_revision: revision, settings } = readBody<{
      config_revision: number
      settings: { viewability: { duration_ms: number } }
    }>(received)
    const before = arrival.known.settings.get(project)
    const now = acknowledged.known.settings.get(project)
    if (revision <= (before?.revision ?? 0)) {
      const text = `settings are at revision ${revision} after ${before?.revision} was acknowledged`
      add({ model: 'writes', text })
    } else if (revision === now?.revision) {
      add({ model: 'writes', text: `two changes of the settings of ${project} are both revision ${revision}` })
    }
    if (rate !== null) rates.setLimit(project, rate)
    if (revision <= (now?.revision ?? 0)) return
    acknowledged.known.settings.set(project, { revision, view_ms: settings.viewability.duration_ms })
  }
}

function readNames({ path, body }: Sent): Pick<Arrival, 'beacon_id' | 'expected_revision'> {
  const isRead = (path === '/v1/beacons' || path === '/v1/consent') && typeof body === 'string'
  const { beacon_id = null, expected_revision = null } = isRead
    ? (JSON.parse(body) as { beacon_id?: string; expected_revision?: number })
    : {}
  return { beacon_id, expected_revision }
}
