import { z } from 'zod'
import type { BeaconEvent } from '../../contract/v1/beacons.ts'
import type { JsonValue } from '../json.ts'
import type { Fill } from '../run/case-state.ts'
import { Duration, durationMs, Json } from '../suite/fields.ts'
import { needsOfMembers } from './effects.ts'
import { stepKind } from './step-kind.ts'

const Beacon = z.union([
  z.string(),
  z.strictObject({
    event: z.string().describe('render, visible, click, play_started, play_completed, completion, heartbeat.'),
    of: z.string().optional().describe('Name of the placement or poll; default: the last fill.'),
    id: z.string().optional().describe('beacon_id; default a new one.'),
    after: Duration.optional().describe('It happened so long after now.'),
    before: Duration.optional().describe('It happened so long before now.'),
    at_ms: Json.optional().describe('When it happened, epoch milliseconds; default the time of the service.'),
    measurements: z.record(z.string(), Json).nullable().optional().describe('Default: what qualifies; null for none.'),
  }),
])

/** A beacon as the renderer sends it: measured so that it qualifies. */
export const beacon = stepKind({
  name: 'beacon',
  summary: 'sends a beacon about a fill, as the renderer does',
  shape: { beacon: Beacon.describe('The event, or { event, of, after, ... }.') },
  isRequest: true,
  needs: needsOfMembers,
  moves: () => [],
  title: ({ beacon }) => `beacon ${typeof beacon === 'string' ? beacon : String((beacon as { event?: string }).event)}`,
  run: async ({ beacon, ...members }, turn) => {
    const wish = typeof beacon === 'string' ? { event: beacon } : beacon
    const fill = turn.state.fillOf(wish.of)
    const moved_ms = durationMs(wish.after ?? 0) - durationMs(wish.before ?? 0)
    const measurements = wish.measurements === undefined ? measured(wish.event, fill) : wish.measurements
    return turn.call('beacons.send', {
      body: {
        beacon_id: wish.id ?? turn.state.newUuid(),
        asset_token: fill.asset_token,
        event: wish.event,
        occurred_at_ms: wish.at_ms ?? (await turn.state.now()) + moved_ms,
        ...(fill.slot_id === null ? {} : { slot_id: fill.slot_id }),
        ...(measurements === null ? {} : { measurements }),
      },
      members,
    })
  },
})

/** What a client measures when all goes well; null for events without a measure. */
function measured(event: BeaconEvent | string, { width, height, format, duration_ms }: Fill): JsonValue {
  const size = width === null || height === null ? {} : { width_px: width, height_px: height }
  if (event === 'visible') {
    const visible_ms = format === 'clip' ? 2_000 : 1_000
    return { visible_ratio: 1, visible_ms, ...size, page_visible: true }
  }
  if (event === 'play_completed' || event === 'completion') {
    return duration_ms === null ? { page_visible: true } : { position_ms: duration_ms, duration_ms }
  }
  return null
}
