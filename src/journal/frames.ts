/** Hosted frames: which were loaded, which were refused, and what was heard of them. */
import type { BeaconItem } from '../contract/control/beacons.ts'
import type { PlacementItem } from '../contract/control/placements.ts'
import { type Exchange, pathOf } from './exchange.ts'

export function isFrame(exchange: Exchange): boolean {
  return exchange.method === 'GET' && pathOf(exchange).startsWith('/v1/render/')
}

/** Slots whose frame was loaded, each with the first time. */
export function loadedFrames(exchanges: readonly Exchange[]): Map<string, Exchange> {
  const frames = new Map<string, Exchange>()
  for (const exchange of exchanges) {
    const { slot_id, status } = exchange
    if (isFrame(exchange) && status === 200 && slot_id !== null && !frames.has(slot_id)) frames.set(slot_id, exchange)
  }
  return frames
}

/** Slots that anything became of: a frame was loaded, or a beacon sent. */
export function usedSlots(exchanges: readonly Exchange[], beacons: readonly BeaconItem[]): Set<string> {
  return new Set([...loadedFrames(exchanges).keys(), ...beacons.flatMap(({ slot_id }) => slot_id ?? [])])
}

/** Fills that expired before anything became of them. */
export function wastedFills(placements: readonly PlacementItem[], used: ReadonlySet<string>): PlacementItem[] {
  return placements.filter(({ fill, status, slot_id }) => fill === true && status === 'expired' && !used.has(slot_id))
}

/** Frames loaded before `until_ms` of which nothing was heard, or not that they rendered. */
export function unheardFrames(
  exchanges: readonly Exchange[],
  beacons: readonly BeaconItem[],
  until_ms: number,
): { frames: Exchange[]; silent: Exchange[]; unrendered: Exchange[] } {
  const frames = [...loadedFrames(exchanges).values()].filter(({ at_ms }) => at_ms <= until_ms)
  const sent = new Set(beacons.map(({ slot_id }) => slot_id))
  const rendered = new Set(beacons.filter(({ event }) => event === 'render').map(({ slot_id }) => slot_id))
  return {
    frames,
    silent: frames.filter(({ slot_id }) => !sent.has(slot_id)),
    unrendered: frames.filter(({ slot_id }) => sent.has(slot_id) && !rendered.has(slot_id)),
  }
}
