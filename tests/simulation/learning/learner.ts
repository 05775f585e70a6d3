/**
 * What each response says about the sandbox: it is compared with what is known, and what it acknowledges is known from then
 * on. Requests that are under way at the same time have no order: only what has been acknowledged before a request arrives
 * is compared with its response.
 */
import { type Acknowledged, freshKnown, type Known, type Sent as Operation, replaceState } from '../acknowledged.ts'
import type { RequestStep } from '../clients/sender.ts'
import type { Problem } from '../problem.ts'
import type { Project } from '../steps/steps.ts'
import type { Received, Sent } from '../virtual/network.ts'
import { readAction, readOutcome } from './actions.ts'
import { type Arrival, type Learning, readBody, readDate } from './arrival.ts'
import { createDecisionLearner } from './decisions.ts'
import type { RateModel } from './rates.ts'
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
        ...{ path, replaces, generation: acknowledged.generation, known: acknowledged.known },
        ...{
          isMixed: acknowledged.replacing > 0,
          rates: rates.epoch,
          clocks: acknowledged.movingClocks > 0 ? -1 : acknowledged.clocks,
          operation: note(sent),
          expected_revision: readExpectedRevision(sent),
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
      const project = /^\/_sandbox\/projects\/([^/]+)/.exec(path)?.[1]
      if (project !== undefined) rates.forgetLimits()
      const name = /^\/_sandbox\/snapshots\/([^/]+)$/.exec(path)?.[1]
      if (name !== undefined) acknowledged.saved.set(name, null)
    },
    checkResponse,
    learn: (step, arrival) => (received) => {
      acknowledge(arrival, received)
      if (step.kind === 'place' || step.kind === 'poll') return decisions.learnSlot(step, arrival, received)
      if (step.kind === 'restore') checkSnapshot(arrival, received)
      if (received.status >= 300) return
      if (step.kind === 'consent') return decisions.checkConsent(step, arrival, received)
      if (step.kind === 'beacon') return checkBeacon(step, received)
      if (arrival.path === '/v1/browser/activate') return learnActivation(step, received)
      learnState(step, arrival, received)
    },
    forgetBuckets: () => rates.forget(),
  }
  return learner

  /** Notes what a request does, before anything is known of its outcome. */
  function note(sent: Sent): Operation | null {
    const action = readAction(sent, acknowledged.slots)
    if (action === null) return null
    const operation: Operation = {
      ...{ number: acknowledged.sent.length + 1, client: 0, node: 0, action, generation: acknowledged.generation },
      ...{ called: ++acknowledged.order, ended: Number.POSITIVE_INFINITY },
      outcome: { kind: 'unknown', why: 'no response' },
    }
    acknowledged.sent.push(operation)
    return operation
  }

  function acknowledge(arrival: Arrival, received: Received): void {
    const { operation } = arrival
    const outcome = operation === null ? null : readOutcome(operation.action, received)
    if (operation === null || outcome === null || !isKnown(arrival)) return
    acknowledged.known = [...acknowledged.known, { ...operation, outcome, ended: ++acknowledged.order }]
  }

  /** What is known of the snapshot that is restored, unless it is written or removed at the same time. */
  function findSnapshot(path: string): Known | null {
    const name = /^\/_sandbox\/snapshots\/([^/]+)\/restore$/.exec(path)?.[1]
    const isChanging = [...open].some((other) => other.path === `/_sandbox/snapshots/${name}`)
    return name === undefined || isChanging ? null : (acknowledged.saved.get(name) ?? null)
  }

  function checkSnapshot({ path, snapshot }: Arrival, { status }: Received): void {
    if (status < 400 || status >= 500 || snapshot === null || findSnapshot(path) !== snapshot) return
    add({ check: 'responses', text: `POST ${path} is answered with ${status}, and it was saved` })
  }

  function checkResponse(sent: Sent, arrival: Arrival, received: Received): void {
    const { method, path } = sent
    const { status, headers, body } = received
    checkRate(sent, arrival, received)
    if (headers['x-sandbox-fault'] !== undefined) return
    for (const text of checkTimes(sent, received, acknowledged)) add({ check: 'tokens', text })
    if (status < 500 || (status === 503 && (learner.mayFail || acknowledged.replacing > 0))) return
    add({
      check: 'responses',
      text: `${method} ${path} is answered with ${status}: ${body.toString('utf8').slice(0, 300)}`,
    })
  }

  function checkRate({ path, headers }: Sent, arrival: Arrival, received: Received): void {
    if (received.headers['x-sandbox-fault'] !== undefined) return
    const reason = received.status === 429 ? readBody<{ reason_code: string }>(received).reason_code : null
    if (reason === 'rate_limited' && !/^[1-9]\d*$/.test(received.headers['retry-after'] ?? '')) {
      add({ check: 'rates', text: `${path} is refused, and its response does not say for how long` })
    }
    const project = /^Bearer sk_test_sandbox_(.+)$/.exec(headers.authorization ?? '')?.[1]
    if (project === undefined || path.startsWith('/v1/beacons') || arrival.rates !== rates.epoch) return
    const isOneOfMany = [...open].some((other) => other !== arrival && other.path.startsWith('/v1/'))
    const response = { status: received.status, at_ms: readDate(received), reason, isOneOfMany }
    const problem = rates.note(`proj_${project}` as Project, response)
    if (problem !== null) add({ check: 'rates', text: problem })
  }

  function checkBeacon(step: Extract<RequestStep, { kind: 'beacon' }>, received: Received): void {
    const { billable } = readBody<{ billable: boolean }>(received)
    if (billable) add({ check: 'billing', text: 'a beacon is answered as billable: the sandbox bills nothing' })
    if (step.changes === 'token') add({ check: 'tokens', text: 'a beacon with a token that was made up is accepted' })
    if (step.changes === 'project' && step.activation === null) {
      add({ check: 'tokens', text: 'a beacon with the key of another project is accepted' })
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
    if (step.kind === 'settings') {
      if (isKnown(arrival) && step.rate !== null) rates.setLimit(step.project, step.rate)
    } else if (step.kind === 'save') acknowledged.saved.set(`snap-${step.name}`, arrival.isMixed ? null : arrival.known)
    else if (step.kind === 'forget') acknowledged.saved.delete(`snap-${step.name}`)
    else if (step.kind === 'export')
      acknowledged.files.push({ bytes: received.body, known: arrival.isMixed ? [] : arrival.known })
    else if (step.kind === 'reset') replaceState(acknowledged, freshKnown())
    else if (step.kind === 'restore')
      replaceState(acknowledged, arrival.isMixed ? null : (acknowledged.saved.get(`snap-${step.name}`) ?? null))
    else if (step.kind === 'import') replaceState(acknowledged, acknowledged.files[step.file]!.known)
  }
}

function readExpectedRevision({ path, body }: Sent): number | null {
  if (path !== '/v1/consent' || typeof body !== 'string') return null
  return (JSON.parse(body) as { expected_revision?: number }).expected_revision ?? null
}
