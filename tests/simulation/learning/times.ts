/** What has expired: a response that comes later than it may is one that should have been refused. */
import type { Acknowledged } from '../acknowledged.ts'
import type { Received, Sent } from '../virtual/network.ts'
import { readBody, readDate } from './arrival.ts'

/** Milliseconds, of the settings that no step changes: a first load, and later ones (A05); a decision (A30). */
const frame_load_within_ms = 300_000
const beacons_after_load_ms = 1_800_000
const decision_ttl_ms = 600_000
/** What clients know of a time may be too early by this: a response names the second of its request, which may have waited. */
const slack_ms = 20_000

export function checkTimes(sent: Sent, received: Received, { activations, slots }: Acknowledged): string[] {
  const at_ms = readDate(received)
  if (received.status >= 300) return []
  const problems: string[] = []
  const token = /^Bearer (at_.+)$/.exec(sent.headers.authorization ?? '')?.[1]
  const activation = activations.find((each) => each.token === token)
  if (activation !== undefined && at_ms >= activation.expires_at_ms) {
    problems.push(`${sent.path} takes an activation token that has expired`)
  }
  const asset = /^\/v1\/render\/([^/?]+)/.exec(sent.path)?.[1]
  const framed = asset === undefined ? undefined : slots.find(({ asset_token }) => asset_token === asset)
  if (
    framed?.decided_by_ms != null &&
    at_ms > framed.decided_by_ms + slack_ms + frame_load_within_ms + beacons_after_load_ms
  ) {
    problems.push(`the frame of ${framed.slot_id} is shown after its time`)
  }
  const slot_id = /^\/v1\/decisions\/([^/?]+)/.exec(sent.path)?.[1]
  const polled = slots.find((slot) => slot.slot_id === slot_id && slot.fill !== null)
  if (polled?.decided_by_ms != null && at_ms > polled.decided_by_ms + slack_ms + decision_ttl_ms) {
    const { status } = readBody<{ status: string }>(received)
    if (status !== 'expired') problems.push(`the decision of ${slot_id} is ${status} after its time`)
  }
  return problems
}
