/** Clients, operators and the computer: what a step does, as requests over the network, and what is learnt from them. */

import { type Acknowledged, sessionKey } from './acknowledged.ts'
import type { Arrival, Learner } from './learner.ts'
import type { Action, Project, Step } from './steps.ts'
import { atOnce, type Network, type Outcome, type Received, type Sent, type Travel } from './virtual/network.ts'
import type { Scheduler } from './virtual/scheduler.ts'

export const origin = 'http://localhost:3000'
const strictOrigin = 'https://app.example.com'

const secretKey = (project: Project) => `sk_test_sandbox_${project.slice('proj_'.length)}`
const publishableKey = (project: Project) => `pk_test_sandbox_${project.slice('proj_'.length)}`
const originOf = (project: Project) => (project === 'proj_strict' ? strictOrigin : origin)

export type RequestStep = Extract<
  Step,
  { kind: Exclude<Action['kind'], 'idle' | 'crash' | 'restart' | 'commit_fault' | 'computer_clock'> }
>

export class NoResponse extends Error {}

export interface Client {
  /** Sends the requests of a step; resolves when all of them have ended. */
  perform(step: RequestStep): Promise<void>
  /** Sends a read of the control plane that nothing disturbs. @throws NoResponse when the process dies */
  read(path: string): Promise<Received>
  /** The time that a client takes for the sandbox's, from the last response. */
  now(): number
}

interface Parts {
  acknowledged: Acknowledged
  network: Network
  scheduler: Scheduler
  learner: Learner
  log(line: string): void
}

export function createClient(parts: Parts): Client {
  const { acknowledged, network, scheduler, learner, log } = parts
  let requests = 0
  let beacons = 0
  let clock = { date_ms: 0, at_ms: 0 }
  const now = () => clock.date_ms + (scheduler.now_ms - clock.at_ms)

  async function send(sent: Sent, travel: Travel, learn: (arrival: Arrival) => (received: Received) => void) {
    const number = ++requests
    log(
      `  ${number} ${sent.method} ${sent.path} ${typeof sent.body === 'string' ? sent.body : `${sent.body.length} bytes`}`,
    )
    const outcome = await network.send(sent, travel, () => {
      const arrival = learner.arrive(sent)
      const onReceived = learn(arrival)
      return (received) => {
        learner.leave(arrival, received !== null)
        log(`  ${number} ${describe(received ?? 'lost', sent)}`)
        if (received === null) return
        const date = Date.parse(received.headers.date ?? '')
        if (!Number.isNaN(date)) clock = { date_ms: date, at_ms: scheduler.now_ms }
        learner.checkResponse(sent, received)
        onReceived(received)
      }
    })
    if (outcome === 'lost') log(`  ${number} no response`)
    return outcome
  }

  const call = (action: RequestStep, sent: Omit<Sent, 'body'> & { body?: object | Buffer }) => {
    const body = sent.body === undefined ? '' : Buffer.isBuffer(sent.body) ? sent.body : JSON.stringify(sent.body)
    const headers = { ...(body === '' ? {} : { 'content-type': 'application/json' }), ...sent.headers }
    return send({ ...sent, headers, body }, action.travel, (arrival) => learner.learn(action, arrival))
  }

  const control = (action: RequestStep, path: string, body?: object, method = 'POST') =>
    call(
      { ...action, travel: { ...action.travel, again_ms: null, loses: null, leaves_ms: null } },
      { method, path: `/_sandbox/${path}`, headers: {}, ...(body === undefined ? {} : { body }) },
    )

  const newestFirst = (slots: Acknowledged['slots']) => slots.toReversed()
  const filled = () => newestFirst(acknowledged.slots.filter(({ asset_token }) => asset_token !== null))

  return { perform, read, now }

  async function read(path: string): Promise<Received> {
    const outcome = await scheduler.until(
      network.send({ method: 'GET', path, headers: {}, body: '' }, atOnce),
      20_000,
      `GET ${path}`,
    )
    if (outcome === 'lost') throw new NoResponse(`GET ${path} has no response`)
    return outcome
  }

  async function perform(step: RequestStep): Promise<void> {
    switch (step.kind) {
      case 'place':
        return place(step)
      case 'turn':
        return turn(step)
      case 'consent':
        return consent(step)
      case 'beacon':
        return beacon(step, null)
      case 'poll': {
        const slot = pick(newestFirst(acknowledged.slots), step.slot)
        if (slot === null) return
        const query = step.wait_ms === 0 ? '' : `?wait_ms=${step.wait_ms}`
        const headers = { authorization: `Bearer ${secretKey(slot.project)}` }
        await call(step, { method: 'GET', path: `/v1/decisions/${slot.slot_id}${query}`, headers })
        return
      }
      case 'frame': {
        const slot = pick(filled(), step.slot)
        if (slot !== null) await frame(step, slot)
        return
      }
      case 'activate': {
        const { project } = step
        const body = { publishable_key: publishableKey(project) }
        await call(step, { method: 'POST', path: '/v1/browser/activate', headers: { origin: originOf(project) }, body })
        return
      }
      case 'burst':
        return burst(step)
      default:
        return operate(step)
    }
  }

  async function place(step: Extract<RequestStep, { kind: 'place' }>): Promise<void> {
    const activation = step.activation === null ? null : pick(acknowledged.activations, step.activation)
    const project = activation?.project ?? step.project
    const body = {
      client_id: project,
      session_id: `session-${step.session}`,
      job_type: 'chat',
      prompt: { topic: 'garden tools' },
      wait_ms: step.wait_ms,
      slots_requested: step.slots,
      overrides: {
        allowed_formats: [step.format],
        ...(step.session_cap === null ? {} : { frequency_cap: { session: step.session_cap } }),
      },
      ...(step.consent === null ? {} : { consent: { semantic_targeting: step.consent, prompt_shared: step.consent } }),
      ...(step.forcesNoFill && activation === null ? { test_outcome: 'no_fill' } : {}),
      ...(step.calls_back && activation === null ? { callback_url: 'http://127.0.0.1:4999/decisions' } : {}),
    }
    const headers = credential(project, activation)
    await call({ ...step, project }, { method: 'POST', path: '/v1/placements', headers, body })
  }

  async function turn(step: Extract<RequestStep, { kind: 'turn' }>): Promise<void> {
    let sent = 0
    const travel = () => (sent++ === step.disturbed ? step.travel : { ...atOnce, back_ms: 1 })
    const { project, session, format, consent, seed, turns } = step
    const before = acknowledged.slots.length
    const terms = {
      project,
      session,
      format,
      consent,
      slots: 1,
      forcesNoFill: false,
      session_cap: null,
      wait_ms: 5_000,
    }
    await place({ kind: 'place', ...terms, calls_back: false, activation: null, seed, turns, travel: travel() })
    const slot = acknowledged.slots[before]
    if (slot === undefined || slot.asset_token === null) return
    await frame({ kind: 'frame', slot: 0, seed, turns, travel: travel() }, slot)
    const work = step.events.map((event, index) => () => {
      // What is seen was rendered a moment before: both are stamped when they happened, and sent later.
      const occurred_in_ms = event === 'render' ? index : 2_500 + index
      const terms = { event, occurred_in_ms, isViewable: true, repeats: null, activation: null, slot: 0 } as const
      return beacon({ kind: 'beacon', ...terms, changes: 'nothing', seed, turns, travel: travel() }, slot)
    })
    if (step.isHasty) await Promise.all(work.map((each) => each()))
    else for (const each of work) await each()
  }

  async function frame(
    step: Extract<RequestStep, { kind: 'frame' }>,
    slot: Acknowledged['slots'][number],
  ): Promise<void> {
    await call(step, { method: 'GET', path: `/v1/render/${slot.asset_token}`, headers: {} })
  }

  async function consent(step: Extract<RequestStep, { kind: 'consent' }>): Promise<void> {
    const { rival, seed, turns } = step
    const own = sendConsent(step)
    if (rival === 'consent') {
      // Another decision, so that the two make two revisions.
      const decision = step.decision === 'personalized' ? 'denied' : 'personalized'
      await sendConsent({ ...step, decision, expects: null, travel: atOnce })
    } else if (rival === 'place') {
      const { project, session } = step
      const terms = { project, session, format: 'banner', consent: null, slots: 1, forcesNoFill: false } as const
      const others = { session_cap: null, wait_ms: 5_000, calls_back: false, activation: null }
      await place({ kind: 'place', ...terms, ...others, seed, turns, travel: atOnce })
    }
    await own
  }

  async function sendConsent(step: Extract<RequestStep, { kind: 'consent' }>): Promise<void> {
    const { project, session, expires_in_ms, expects, decision } = step
    const known = acknowledged.known.consents.get(sessionKey(project, session))?.revision ?? 0
    const body = {
      client_id: project,
      session_id: `session-${session}`,
      decision,
      ...(decision === 'granted' ? { purposes: { semantic_targeting: true } } : {}),
      ...(expires_in_ms === null ? {} : { expires_at_ms: now() + expires_in_ms }),
      ...(expects === null ? {} : { expected_revision: Math.max(0, expects === 'known' ? known : known - 1) }),
    }
    await call(step, { method: 'POST', path: '/v1/consent', headers: credential(project, null), body })
  }

  /** @param own the slot that it is about; null: the one that the step names */
  async function beacon(
    step: Extract<RequestStep, { kind: 'beacon' }>,
    own: Acknowledged['slots'][number] | null,
  ): Promise<void> {
    const repeated = step.repeats === null ? null : pick(acknowledged.beacons, step.repeats)
    const slot = own ?? (repeated === null ? pick(filled(), step.slot) : null)
    if (repeated === null && slot === null) return
    const project = repeated?.project ?? slot!.project
    const body = repeated === null ? newBeacon(step, slot!) : changedBeacon(step, JSON.parse(repeated.body))
    const token = typeof body.asset_token === 'string' ? body.asset_token : ''
    const asset_token = step.changes === 'token' ? token.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')) : token
    const sent = { ...body, asset_token }
    if (repeated === null && step.changes !== 'token') {
      const { event, isViewable } = step
      const kept = { beacon_id: String(body.beacon_id), slot_id: slot!.slot_id, project, event, isViewable }
      acknowledged.beacons.push({ ...kept, body: JSON.stringify(sent) })
    }
    const activation = step.activation === null ? null : pick(acknowledged.activations, step.activation)
    const other = step.changes === 'project' ? (project === 'proj_demo' ? 'proj_other' : 'proj_demo') : project
    const headers = credential(activation?.project ?? other, activation)
    await call(step, { method: 'POST', path: '/v1/beacons', headers, body: sent })
  }

  function newBeacon(step: Extract<RequestStep, { kind: 'beacon' }>, slot: Acknowledged['slots'][number]) {
    return {
      beacon_id: `beacon-${++beacons}`,
      asset_token: slot.asset_token,
      event: step.event,
      occurred_at_ms: occurredAt(step, slot),
      ...(step.event === 'visible'
        ? { measurements: { visible_ratio: step.isViewable ? 1 : 0.1, visible_ms: step.isViewable ? 2_000 : 100 } }
        : {}),
    } as Record<string, unknown>
  }

  /** Not before the decision, of whose time the client knows the second, unless it is to be out of time. */
  function occurredAt(
    { occurred_in_ms }: Extract<RequestStep, { kind: 'beacon' }>,
    slot: Acknowledged['slots'][number],
  ): number {
    const wanted = Math.floor(now() + occurred_in_ms)
    return Math.abs(occurred_in_ms) > 5_000 ? wanted : Math.max(wanted, slot.known_at_ms + 1_000)
  }

  function changedBeacon({ changes }: Extract<RequestStep, { kind: 'beacon' }>, body: Record<string, unknown>) {
    if (changes !== 'event') return body
    return { ...body, event: body.event === 'click' ? 'heartbeat' : 'click', measurements: undefined }
  }

  /** Reads of one key, all at once. */
  async function burst(step: Extract<RequestStep, { kind: 'burst' }>): Promise<void> {
    const path = `/v1/projects/${step.project}/config`
    const headers = { authorization: `Bearer ${secretKey(step.project)}` }
    await Promise.all(Array.from({ length: step.count }, () => call(step, { method: 'GET', path, headers })))
  }

  async function operate(step: RequestStep): Promise<void> {
    switch (step.kind) {
      case 'settings': {
        const body = {
          ...(step.latency_ms === null ? {} : { decision_latency_ms: step.latency_ms }),
          ...(step.rate === null ? {} : { rate_limits: { default: step.rate } }),
        }
        await control(step, `projects/${step.project}`, body, 'PATCH')
        return
      }
      case 'fault': {
        const { effect, served, times } = step
        const isServed = effect === 'drop' || effect === 'reset' || effect === 'truncate' ? { served } : {}
        await control(step, 'faults', { effect, times, ...isServed, ...(effect === 'delay' ? { latency_ms: 50 } : {}) })
        return
      }
      case 'clear_faults':
        await control(step, 'faults', undefined, 'DELETE')
        return
      case 'clock':
        await moveClock(step)
        return
      case 'save':
        await control(step, `snapshots/snap-${step.name}`, { replace: true })
        return
      case 'restore':
        await control(step, `snapshots/snap-${step.name}/restore`, {})
        return
      case 'forget':
        await control(step, `snapshots/snap-${step.name}`, undefined, 'DELETE')
        return
      case 'reset':
        await control(step, 'reset', {})
        return
      case 'export':
        await control(step, 'export', undefined, 'GET')
        return
      case 'import': {
        const file = step.file % Math.max(1, acknowledged.files.length)
        const archive = acknowledged.files[file]
        if (archive === undefined) return
        const headers = { 'content-type': 'application/gzip' }
        const travel = { ...step.travel, again_ms: null, loses: null, leaves_ms: null }
        await call(
          { ...step, file, travel },
          { method: 'POST', path: '/_sandbox/import', headers, body: archive.bytes },
        )
      }
    }
  }

  async function moveClock(step: Extract<RequestStep, { kind: 'clock' }>): Promise<void> {
    const { move, by_ms } = step
    if (move === 'advance') await control(step, 'clock/advance', { by_ms })
    else if (move === 'back') await control(step, 'clock/set', { to_ms: Math.floor(now() - by_ms) })
    else if (move === 'system') await control(step, 'clock/set', { to_ms: null })
    else await control(step, `clock/${move}`, {})
  }
}

function credential(project: Project, activation: { token: string; project: Project } | null): Record<string, string> {
  if (activation === null) return { authorization: `Bearer ${secretKey(project)}` }
  return { authorization: `Bearer ${activation.token}`, origin: originOf(activation.project) }
}

function pick<Item>(items: readonly Item[], position: number): Item | null {
  return items.length === 0 ? null : items[position % items.length]!
}

/** A response as the history has it: the whole of what is JSON, without the tokens of no interest. */
function describe(outcome: Outcome, { path }: Sent): string {
  if (outcome === 'lost') return 'ended without a response'
  const { status, headers, body } = outcome
  const isText = headers['content-type']?.startsWith('application/json') === true
  // A snapshot has the time of a real file.
  if (!isText || path.startsWith('/_sandbox/snapshots')) return String(status)
  return `${status} ${body.toString('utf8').slice(0, 400)}`
}
