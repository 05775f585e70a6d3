import { type Exchange, some, type Traffic, times } from '../exchange.ts'
import { isFrame, unheardFrames, usedSlots, wastedFills } from '../frames.ts'
import { type Check, type Outcome, orOk, problem, warning } from './finding.ts'

/** The renderer sends its first beacon well within this time of the frame's load. */
const patienceMs = 5_000

/** Fills whose decision expired before anybody loaded the frame. */
export const expiredDecisions: Check<Traffic> = {
  name: 'expired decisions',
  find: ({ exchanges, placements, beacons }) => {
    const wasted = wastedFills(placements, usedSlots(exchanges, beacons))
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
    const { frames, silent, unrendered } = unheardFrames(exchanges, beacons, now_ms - patienceMs)
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
    const used = usedSlots(exchanges, beacons)
    const fills = placements.filter(
      (slot) => slot.fill === true && slot.status === 'ready' && now_ms - (slot.decided_at_ms ?? now_ms) >= patienceMs,
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

function about(frames: readonly Exchange[], message: (slots: string, count: string) => string, fix: string): Outcome[] {
  const slots = some(frames.map(({ slot_id }) => String(slot_id)))
  return frames.length === 0 ? [] : [problem(message(slots, times(frames.length)), fix)]
}
