import type { PlacementItem } from '../../contract/control/placements.ts'
import { type Check, type Outcome, orOk, problem, warning } from './finding.ts'
import { type Exchange, pathOf, some, type Traffic, times } from './traffic.ts'

/** The renderer sends its first beacon well within this time of the frame's load. */
const patienceMs = 5_000

/** Fills whose decision expired before anybody loaded the frame. */
export const expiredDecisions: Check<Traffic> = {
  name: 'expired decisions',
  find: ({ exchanges, placements, beacons }) => {
    const used = new Set([...loadedFrames(exchanges).keys(), ...beacons.map(({ slot_id }) => slot_id)])
    const wasted = placements.filter((slot) => isFilled(slot) && slot.status === 'expired' && !used.has(slot.slot_id))
    return orOk(
      [
        ...(wasted.length === 0
          ? []
          : [
              warning(
                `A fill expired before its frame was loaded, ${times(wasted.length)}: ${some(wasted.map(({ slot_id }) => slot_id))}.`,
                'Mount placement.render.frame_url as soon as the answer is there, and ask anew for the next turn; do not keep fills.',
              ),
            ]),
        ...refusedFrames(exchanges),
      ],
      'No fill expired unseen, and no frame was refused.',
    )
  },
}

function refusedFrames(exchanges: readonly Exchange[]): Outcome[] {
  const refused = exchanges.filter((exchange) => isFrame(exchange) && exchange.status >= 400)
  const last = refused.at(-1)
  if (last === undefined) return []
  return [
    problem(
      `A frame was refused ${times(refused.length)}, last with ${last.status} (${last.request_id}).`,
      'Load the frame_url of the newest answer, unchanged, within constraints.max_render_delay_ms of its decision.',
    ),
  ]
}

/** Frames that were loaded and of which nothing was heard, or not that they rendered. */
export const renderBeacons: Check<Traffic> = {
  name: 'render beacons',
  find: ({ exchanges, beacons, now_ms }) => {
    const frames = [...loadedFrames(exchanges)].filter(([, at_ms]) => now_ms - at_ms >= patienceMs)
    const sent = new Set(beacons.map(({ slot_id }) => slot_id))
    const rendered = new Set(beacons.filter(({ event }) => event === 'render').map(({ slot_id }) => slot_id))
    const silent = frames.filter(([slot_id]) => !sent.has(slot_id))
    const unrendered = frames.filter(([slot_id]) => sent.has(slot_id) && !rendered.has(slot_id))
    return orOk(
      [
        ...about(
          silent,
          (slots, count) => `A frame was loaded and no beacon came, ${count}: ${slots}.`,
          'Mount it with render.js, which sends them, and let the page reach the service: see its console, CSP and CORS.',
        ),
        ...about(
          unrendered,
          (slots, count) => `Beacons came of a frame, but no render, ${count}: ${slots}.`,
          'Send render first: without it nothing else counts.',
        ),
      ],
      frames.length === 0 ? 'No frame was loaded yet.' : 'Every loaded frame told that it rendered.',
    )
  },
}

/** Fills that were used without their frame: drawn by hand, and never told. */
export const unusedFills: Check<Traffic> = {
  name: 'fills',
  find: ({ exchanges, placements, beacons, now_ms }) => {
    const used = new Set([...loadedFrames(exchanges).keys(), ...beacons.map(({ slot_id }) => slot_id)])
    const fills = placements.filter(
      (slot) => isFilled(slot) && slot.status === 'ready' && now_ms - (slot.decided_at_ms ?? now_ms) >= patienceMs,
    )
    const unused = fills.filter(({ slot_id }) => !used.has(slot_id))
    return orOk(
      unused.length === 0 || unused.length < fills.length
        ? []
        : [
            warning(
              `${fills.length === 1 ? 'The only fill was not' : `None of ${fills.length} fills was`} followed by a frame or a beacon.`,
              'Mount placement.render.frame_url in an iframe; a creative drawn by hand needs beacons of its own.',
            ),
          ],
      fills.length === 0 ? 'No fill is older than a few seconds.' : 'Fills are shown.',
    )
  },
}

function about(
  frames: readonly (readonly [slot_id: string, at_ms: number])[],
  message: (slots: string, count: string) => string,
  fix: string,
): Outcome[] {
  const slots = some(frames.map(([slot_id]) => slot_id))
  return frames.length === 0 ? [] : [problem(message(slots, times(frames.length)), fix)]
}

/** Slots whose frame was loaded, and when first. */
function loadedFrames(exchanges: readonly Exchange[]): Map<string, number> {
  const frames = new Map<string, number>()
  for (const exchange of exchanges) {
    const { slot_id, at_ms, status } = exchange
    if (isFrame(exchange) && status === 200 && slot_id !== null && !frames.has(slot_id)) frames.set(slot_id, at_ms)
  }
  return frames
}

function isFrame(exchange: Exchange): boolean {
  return exchange.method === 'GET' && pathOf(exchange).startsWith('/v1/render/')
}

function isFilled(slot: PlacementItem): boolean {
  return slot.fill === true
}
