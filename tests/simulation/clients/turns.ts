/** Placements, their frames, and the consent of their sessions. */
import { type KnownSlot, newestRevision } from '../acknowledged.ts'
import type { Demand, Project } from '../steps/steps.ts'
import { atOnce } from '../virtual/network.ts'
import type { Beacons } from './beacons.ts'
import { credential, pick, type RequestStep, readJson, type Sender } from './sender.ts'

type Step<Kind extends RequestStep['kind']> = Extract<RequestStep, { kind: Kind }>

export interface Turns {
  /** Sends a placement, and its rivals at the same time. */
  placeAll(step: Step<'place'>): Promise<void>
  /** Sends one placement. Resolves to its slot; null without a response. */
  place(step: Step<'place'>): Promise<KnownSlot | null>
  turn(step: Step<'turn'>): Promise<void>
  frame(step: Step<'frame'>, slot: KnownSlot): Promise<void>
  consent(step: Step<'consent'>): Promise<void>
}

/** The usual terms of a placement that a client sends by the way. */
export const plainTerms = {
  format: 'banner',
  consent: null,
  slots: 1,
  forcesNoFill: false,
  demand: null,
  session_cap: null,
  interval: null,
  rivals: 0,
  isLate: false,
  wait_ms: 5_000,
  calls_back: false,
  activation: null,
} as const

export function createTurns(sender: Sender, beacons: Beacons): Turns {
  const { acknowledged, call } = sender

  /** Each change of the latency is one. */
  let changes = 0

  return { placeAll, place, turn, frame, consent }

  async function placeAll(step: Step<'place'>): Promise<void> {
    if (step.isLate) {
      const terms = { project: step.project, latency_ms: 30, rate: null, view_ms: null, hasRival: false }
      const body = { decision_latency_ms: 30 + ++changes }
      await sender.control({ kind: 'settings', ...terms, travel: atOnce }, `projects/${step.project}`, body, 'PATCH')
    }
    const all = [step, ...Array.from({ length: step.rivals }, () => ({ ...step, travel: atOnce }))]
    await Promise.all(all.map(place))
  }

  async function place(step: Step<'place'>): Promise<KnownSlot | null> {
    const activation = step.activation === null ? null : pick(acknowledged.activations, step.activation)
    const project = activation?.project ?? step.project
    const { session_cap, interval } = step
    const caps = {
      ...(session_cap === null ? {} : { session: session_cap }),
      ...(interval === null ? {} : { prompt_interval: interval }),
    }
    const body = {
      client_id: project,
      session_id: `session-${step.session}`,
      job_type: 'chat',
      prompt: { topic: step.demand === 'risky' ? 'self-harm' : 'garden tools' },
      wait_ms: step.wait_ms,
      slots_requested: step.slots,
      overrides: {
        allowed_formats: [step.format],
        ...(Object.keys(caps).length === 0 ? {} : { frequency_cap: caps }),
        ...overrides(step.demand),
      },
      ...(step.demand === 'tiny' ? { slot_hint: { max_width: 10, max_height: 10 } } : {}),
      ...(step.consent === null ? {} : { consent: { semantic_targeting: step.consent, prompt_shared: step.consent } }),
      ...(step.forcesNoFill && activation === null ? { test_outcome: 'no_fill' } : {}),
      ...(step.calls_back && activation === null ? { callback_url: 'http://127.0.0.1:4999/decisions' } : {}),
    }
    const headers = credential(project, activation)
    const outcome = await call({ ...step, project }, { method: 'POST', path: '/v1/placements', headers, body })
    const slot_id = readJson<{ slot_id?: string }>(outcome)?.slot_id
    return acknowledged.slots.find((slot) => slot.slot_id === slot_id) ?? null
  }

  async function turn(step: Step<'turn'>): Promise<void> {
    let sent = 0
    const travel = () => (sent++ === step.disturbed ? step.travel : { ...atOnce, back_ms: 1 })
    const { project, session, format, consent: given, view } = step
    const slot = await place({
      kind: 'place',
      ...plainTerms,
      project,
      session,
      format,
      consent: given,
      travel: travel(),
    })
    if (slot === null || slot.asset_token === null) return
    await frame({ kind: 'frame', slot: 0, travel: travel() }, slot)
    const work = step.events.map((event, index) => () => {
      // What is seen was rendered a while before: both are stamped when they happened, and sent at once.
      const occurred_in_ms = index + (event === 'render' ? 0 : event === 'play_completed' ? 20_000 : 4_000)
      const terms = { event, occurred_in_ms, view, repeats: null, activation: null, slot: 0 } as const
      return beacons.send({ kind: 'beacon', ...terms, changes: 'nothing', travel: travel() }, slot)
    })
    if (step.isHasty) await Promise.all(work.map((each) => each()))
    else for (const each of work) await each()
  }

  async function frame(step: Step<'frame'>, { asset_token }: KnownSlot): Promise<void> {
    await call(step, { method: 'GET', path: `/v1/render/${asset_token}`, headers: {} })
  }

  async function consent(step: Step<'consent'>): Promise<void> {
    const { rival, project, session } = step
    // With a rival, both arrive at once: in one turn of the event loop, or in two.
    const own = sendConsent(rival === null ? step : { ...step, travel: { ...step.travel, there_ms: 0 } })
    if (rival === 'consent') {
      // Another decision, so that the two make two revisions.
      const decision = step.decision === 'personalized' ? 'denied' : 'personalized'
      await sendConsent({ ...step, decision, expects: null, travel: atOnce })
    } else if (rival === 'place') await place({ kind: 'place', ...plainTerms, project, session, travel: atOnce })
    else if (rival === 'beacon') await sendHeartbeat(project, session)
    await own
  }

  /** For the newest fill of a session. */
  async function sendHeartbeat(project: Project, session: number): Promise<void> {
    const slot = sender.filled().find((each) => each.project === project && each.session === session)
    if (slot === undefined) return
    const terms = { event: 'heartbeat', occurred_in_ms: 0, view: 'good', repeats: null, activation: null } as const
    await beacons.send({ kind: 'beacon', ...terms, slot: 0, changes: 'nothing', travel: atOnce }, slot)
  }

  async function sendConsent(step: Step<'consent'>): Promise<void> {
    const { project, session, expires_in_ms, expects, decision } = step
    const known = newestRevision(acknowledged.known, project, session)
    const body = {
      client_id: project,
      session_id: `session-${session}`,
      decision,
      ...(decision === 'granted' ? { purposes: { semantic_targeting: true } } : {}),
      ...(expires_in_ms === null ? {} : { expires_at_ms: sender.now() + expires_in_ms }),
      ...(expects === null ? {} : { expected_revision: Math.max(0, expects === 'known' ? known : known - 1) }),
    }
    await call(step, { method: 'POST', path: '/v1/consent', headers: credential(project, null), body })
  }
}

/** Of the IAB: every campaign has one of them. */
const categories = Array.from({ length: 26 }, (_, index) => `IAB${index + 1}`)

/** Returns the overrides of what no campaign has. */
function overrides(demand: Demand | null): object {
  if (demand === 'floor') return { bidfloor: 1_000 }
  return demand === 'blocked' ? { blocked_categories: categories } : {}
}
