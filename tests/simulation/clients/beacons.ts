/** Beacons of fills: new ones, those that were sent before, and changed ones. */
import type { KnownSlot } from '../acknowledged.ts'
import type { View } from '../steps/steps.ts'
import type { Outcome } from '../virtual/network.ts'
import { credential, pick, type RequestStep, type Sender } from './sender.ts'

type BeaconStep = Extract<RequestStep, { kind: 'beacon' }>

export interface Beacons {
  /**
   * Sends the beacon of a step, or one that was sent before. Resolves to null when there is nothing that it is about.
   * @param own the slot that it is about; null: the one that the step names
   */
  send(step: BeaconStep, own: KnownSlot | null): Promise<Outcome | null>
  /** Returns the body of a new beacon that nobody has sent yet. */
  create(step: BeaconStep, slot: KnownSlot): Record<string, unknown>
}

/** What a view has measured. */
const measurements: Readonly<Record<View, object | undefined>> = {
  good: { visible_ratio: 1, visible_ms: 2_000 },
  large: { visible_ratio: 0.35, visible_ms: 2_000, width_px: 970, height_px: 250 },
  brief: { visible_ratio: 1, visible_ms: 100 },
  partial: { visible_ratio: 0.1, visible_ms: 2_000 },
  hidden: { visible_ratio: 1, visible_ms: 2_000, page_visible: false },
  pixel: { visible_ratio: 1, visible_ms: 2_000, width_px: 1, height_px: 1 },
  unchecked: { visible_ratio: 1, visible_ms: 2_000, visibility_check: 'none' },
  impossible: { visible_ratio: 1, visible_ms: 3_600_000 },
  unmeasured: undefined,
}

export function createBeacons(sender: Sender): Beacons {
  const { acknowledged, call, now } = sender
  let count = 0

  return { send, create }

  async function send(step: BeaconStep, own: KnownSlot | null): Promise<Outcome | null> {
    const repeated = step.repeats === null ? null : pick(acknowledged.beacons, step.repeats)
    const slot = own ?? (repeated === null ? pick(sender.filled(), step.slot) : null)
    if (repeated === null && slot === null) return null
    const project = repeated?.project ?? slot!.project
    const body = repeated === null ? create(step, slot!) : changed(step, JSON.parse(repeated.body))
    const token = typeof body.asset_token === 'string' ? body.asset_token : ''
    const asset_token = step.changes === 'token' ? token.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')) : token
    const sent = { ...body, asset_token }
    if (repeated === null && step.changes !== 'token') {
      const kept = { beacon_id: String(body.beacon_id), slot_id: slot!.slot_id, project, event: step.event }
      acknowledged.beacons.push({ ...kept, body: JSON.stringify(sent) })
    }
    const activation = step.activation === null ? null : pick(acknowledged.activations, step.activation)
    const other = step.changes === 'project' ? (project === 'proj_demo' ? 'proj_other' : 'proj_demo') : project
    const headers = credential(activation?.project ?? other, activation)
    return call(step, { method: 'POST', path: '/v1/beacons', headers, body: sent })
  }

  function create(step: BeaconStep, slot: KnownSlot): Record<string, unknown> {
    const seen = step.event === 'visible' ? measurements[step.view] : undefined
    return {
      beacon_id: `beacon-${++count}`,
      asset_token: slot.asset_token,
      event: step.event,
      occurred_at_ms: occurredAt(step, slot),
      ...(seen === undefined ? {} : { measurements: seen }),
    }
  }

  /** Not before the decision, of whose time the client knows the second, unless it is to be out of time. */
  function occurredAt({ occurred_in_ms }: BeaconStep, slot: KnownSlot): number {
    const wanted = Math.floor(now() + occurred_in_ms)
    return Math.abs(occurred_in_ms) > 5_000 ? wanted : Math.max(wanted, slot.known_at_ms + 1_000)
  }

  function changed({ changes }: BeaconStep, body: Record<string, unknown>): Record<string, unknown> {
    if (changes !== 'event') return body
    return { ...body, event: body.event === 'click' ? 'heartbeat' : 'click', measurements: undefined }
  }
}

/** Returns the headers of a frame that sends a beacon itself. */
export function frameCredential(token: string, origin: string): Record<string, string> {
  return { authorization: `Bearer ${token}`, origin }
}
