/** One turn as an integration plays it: activation, placement, frame, beacons, and what would be billed. Over HTTP. */
import type { CommandContext } from '#cli/run/command.ts'
import { issuedToken } from '#cli/settings/settings.ts'
import type { Client } from '#client/client.ts'
import { ServiceError } from '#client/errors.ts'
import type { CallInput } from '#client/exchange.ts'
import type { Output } from '#contract/endpoint.ts'
import { type Format, readFormat } from '#contract/facts/formats.ts'
import type { Contract, EndpointId } from '#contract/index.ts'
import type { BeaconEvent } from '#contract/resources/beacons.ts'
import type { PlacementResponse } from '#contract/resources/placements.ts'

/** A step as printed by `-o json`, one per line. */
export interface Step {
  scenario: string
  /** Counts from 1, over all turns of the command. */
  turn: number
  /** `activate`, `placement`, `frame`, `beacon render`, ... */
  step: string
  /** Whether it went as the scenario expects. */
  ok: boolean
  /** The status of the response. */
  status: number
  /** The result: `fill`, `accepted`, the reason of a refusal. */
  result: string
  session_id: string
  slot_id: string | null
  asset_token: string | null
  beacon_id: string | null
  request_id: string | null
}

/** A fill that can be shown. */
export interface Fill {
  slot_id: string
  asset_token: string
  format: Format
  /** Length of a clip; 0 for other formats. */
  duration_ms: number
}

type Called<Id extends EndpointId> =
  | { ok: true; data: Output<Contract[Id]>; status: number; request_id: string | null; reason: null }
  | { ok: false; data: null; status: number; request_id: string | null; reason: string }

export interface Turn {
  readonly client_id: string | null
  readonly session_id: string
  /** Calls an endpoint with the secret key. Refusals of the service are returned. */
  call<Id extends EndpointId>(id: Id, input: CallInput): Promise<Called<Id>>
  /** Reports a step. `expected` is the result that the scenario is about. */
  report(step: string, call: Pick<Called<EndpointId>, 'status' | 'request_id'>, result: string, about: About): void
  /** Activates the page and requests a placement with its token. Null when there is none to show. */
  place(format: Format | null, about?: { body?: object; expected?: string }): Promise<Fill | null>
  frame(fill: Fill, expected?: string): Promise<void>
  /** Sends a beacon that happens `after_ms` after the frame was loaded. */
  beacon(fill: Fill, event: BeaconEvent, after_ms: number, about?: BeaconAbout): Promise<void>
  /** Reports what would be billed, if the service is a sandbox. */
  verdict(fill: Fill, expected: 'bills' | 'bills nothing'): Promise<void>
}

interface About {
  expected: string
  fill?: Fill | null
  slot_id?: string | null
  beacon_id?: string | null
}

interface BeaconAbout {
  expected?: string
  measurements?: object
  /** Fields that replace the beacon's own. */
  with?: object
}

/** A page activates once, and keeps its token for all of its turns. */
export interface Page {
  client: Client | null
}

/** Duration of a view that counts in every format. */
export const viewedMs = 2_500

export function startTurn(
  context: CommandContext,
  { scenario, turn, now, page }: { scenario: string; turn: number; now: () => Promise<number>; page: Page },
  onStep: (step: Step) => void,
): Turn {
  const session_id = `sess_${context.system.randomText(12)}`
  const { settings, signal } = context
  const server = context.client()
  let beacons = 0
  let shown_ms: number | null = null
  /** Returns when the ad was shown, on the clock of the service: however long activation and decision have taken. */
  const shownAt = async () => {
    shown_ms ??= await now()
    return shown_ms
  }

  const self: Turn = {
    client_id: settings.client_id,
    session_id,
    call: (id, input) => callWith(server, id, input, signal),
    report(step, { status, request_id }, result, { expected, fill = null, slot_id = null, beacon_id = null }) {
      const asset_token = fill?.asset_token ?? null
      const ids = { session_id, slot_id: fill?.slot_id ?? slot_id, asset_token, beacon_id, request_id }
      onStep({ scenario, turn, step, ok: result === expected, status, result, ...ids })
    },
    async place(format, { body = {}, expected = 'fill' } = {}) {
      const client = (await activate()) ?? server
      const overrides = format === null ? {} : { overrides: { allowed_formats: [format] } }
      const consent = { semantic_targeting: true }
      const wanted = { client_id: settings.client_id, session_id, job_type: 'chat', prompt: { topic: 'coffee' } }
      // Only a secret key may request an outcome.
      const by = 'test_outcome' in body ? server : client
      const called = await callWith(
        by,
        'placements.create',
        { body: { ...wanted, consent, ...overrides, ...body } },
        signal,
      )
      const slot_id = called.data?.slot_id ?? null
      self.report('placement', called, called.ok ? describeOutcome(called.data) : called.reason, { expected, slot_id })
      return called.ok ? readFill(called.data) : null
    },
    async frame(fill, expected = 'loaded') {
      const called = await self.call('render.frame', { params: { asset_token: fill.asset_token } })
      await shownAt()
      self.report('frame', called, called.ok ? 'loaded' : called.reason, { expected, fill })
    },
    async beacon(fill, event, after_ms, { expected = 'OK', measurements, with: others = {} } = {}) {
      beacons++
      const beacon_id = `${fill.slot_id}:${event}:${beacons}`
      const occurred_at_ms = Math.round((await shownAt()) + after_ms)
      const body = {
        ...{ beacon_id, asset_token: fill.asset_token, event, occurred_at_ms },
        ...(measurements === undefined ? {} : { measurements }),
        ...others,
      }
      const called = await self.call('beacons.send', { body })
      const result = called.ok ? (called.data.duplicate ? 'DUPLICATE' : called.data.reason_code) : called.reason
      const sent_id = (body as { beacon_id: string }).beacon_id
      self.report(`beacon ${event}`, called, result, { expected, fill, beacon_id: sent_id })
    },
    async verdict(fill, expected) {
      if (settings.sandbox === null) return
      const called = await self.call('placements.explain', { params: { slot_id: fill.slot_id } })
      const bills = called.data?.billing?.would_bill === true ? 'bills' : 'bills nothing'
      self.report('verdict', called, called.ok ? bills : called.reason, { expected, fill })
    },
  }
  return self

  /** Returns the client of the page; null without a publishable key. */
  async function activate(): Promise<Client | null> {
    const { publishable_key } = settings
    if (page.client !== null || publishable_key === null) return page.client
    const called = await self.call('browser.activate', { body: { publishable_key } })
    self.report('activate', called, called.ok ? 'activated' : called.reason, { expected: 'activated' })
    if (called.ok) page.client = context.client({ credential: issuedToken(settings, called.data.activation_token) })
    return page.client
  }
}

/** Returns a refusal of the service as well as a response. */
async function callWith<Id extends EndpointId>(
  client: Client,
  id: Id,
  input: CallInput,
  signal: AbortSignal,
): Promise<Called<Id>> {
  try {
    const { data, meta } = await client.call(id, input, { signal })
    const { status, request_id } = meta
    return { ok: true, data: data as Output<Contract[Id]>, status, request_id, reason: null }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    const reason = error.reason_code ?? /\b[a-z]+(?:_[a-z]+)+$/.exec(error.message)?.[0] ?? error.code
    return { ok: false, data: null, status: error.status, request_id: error.request_id, reason }
  }
}

function describeOutcome({ status, decision }: PlacementResponse): string {
  if (decision === null) return status
  return decision.fill ? 'fill' : decision.no_fill_reason
}

/** Returns the fill of a response, or null. */
export function readFill({ slot_id, decision }: PlacementResponse): Fill | null {
  if (decision?.fill !== true) return null
  const { asset_token, format, duration_ms } = decision
  return { slot_id, asset_token, format: format as Format, duration_ms: duration_ms ?? 0 }
}

/** Plays a turn that counts in full: the frame, render, visible, playback of a clip, click, and what would be billed. */
export async function playFill(turn: Turn, fill: Fill): Promise<void> {
  const { duration_ms } = fill
  const measured = (position_ms: number) => ({ measurements: { position_ms, duration_ms } })
  await turn.frame(fill)
  await turn.beacon(fill, 'render', 0)
  if (readFormat(fill.format).plays) await turn.beacon(fill, 'play_started', 0, measured(0))
  await turn.beacon(fill, 'visible', viewedMs, { measurements: seen(viewedMs) })
  if (readFormat(fill.format).plays) {
    await turn.beacon(fill, 'heartbeat', duration_ms / 2, measured(duration_ms / 2))
    await turn.beacon(fill, 'play_completed', duration_ms, measured(duration_ms))
  }
  await turn.beacon(fill, 'click', Math.max(viewedMs, duration_ms) + 500)
  await turn.verdict(fill, 'bills')
}

/** Returns the measurements of a whole creative in view. */
export function seen(visible_ms: number): { visible_ratio: number; visible_ms: number; page_visible: boolean } {
  return { visible_ratio: 1, visible_ms, page_visible: true }
}
