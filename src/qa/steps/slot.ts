/** Steps about one slot that is there already: poll, frame, ledger. They mean the last placement unless told. */
import { z } from 'zod'
import type { BeaconEvent } from '../../contract/v1/beacons.ts'
import type { Json } from '../../foundation/json.ts'
import { valueAt } from '../../foundation/json-path.ts'
import type { Answer } from '../result.ts'
import type { Fill } from '../run/case-state.ts'
import { AnyJson, Duration, durationMs, orVariable } from '../suite/variables.ts'
import { needsOfMembers, pause, stepKind } from './step-kind.ts'

const what = z.string().nullable()

const Poll = z.union([
  what,
  z.strictObject({
    of: z.string().optional().describe('Name of a step, or a slot_id; default: the last slot.'),
    wait_ms: orVariable(z.int(), 'a whole number').optional().describe('How long each poll waits.'),
    until: z.enum(['ready', 'expired', 'pending']).optional().describe('Poll again until it has this status.'),
    every: Duration.optional().describe('Pause between two polls; default 50ms.'),
  }),
])

export const poll = stepKind({
  name: 'poll',
  summary: 'polls the decision of a slot',
  shape: { poll: Poll.describe('Name of a step, or a slot_id; nothing: the last slot.') },
  isRequest: true,
  needs: needsOfMembers,
  moves: () => [],
  title: () => 'poll',
  run: async ({ poll, ...members }, turn) => {
    const {
      of,
      wait_ms,
      until,
      every = 50,
    } = typeof poll === 'object' && poll !== null ? poll : { of: poll ?? undefined }
    const once = () =>
      turn.call('decisions.get', {
        params: { slot_id: turn.state.slotOf(of) },
        query: wait_ms === undefined ? {} : { wait_ms },
        members,
      })
    let answer = await once()
    while (until !== undefined && answer.status === 200 && valueAt(answer.body, 'status') !== until) {
      await pause(durationMs(every), turn)
      answer = await once()
    }
    return answer
  },
})

export const frame = stepKind({
  name: 'frame',
  summary: 'loads the hosted frame of a fill, as a browser does',
  shape: { frame: what.describe('Name of a step, or an asset token; nothing: the last fill.') },
  isRequest: true,
  needs: needsOfMembers,
  moves: () => [],
  title: () => 'frame',
  run: ({ frame, ...members }, turn): Promise<Answer> =>
    turn.call('render.frame', { params: { asset_token: turn.state.assetTokenOf(frame ?? undefined) }, members }),
})

export const ledger = stepKind({
  name: 'ledger',
  summary: "reads the control plane's page of a slot: beacons, verdicts, billing, evidence",
  shape: { ledger: what.describe('Name of a step, or a slot_id; nothing: the last slot.') },
  isRequest: false,
  needs: () => ['control'],
  moves: () => [],
  title: () => 'ledger',
  run: ({ ledger }, turn) =>
    turn.call('placements.explain', { params: { slot_id: turn.state.slotOf(ledger ?? undefined) } }),
})

const Beacon = z.union([
  z.string(),
  z.strictObject({
    event: z.string().describe('render, visible, click, play_started, play_completed, completion, heartbeat.'),
    of: z.string().optional().describe('Name of the placement or poll; default: the last fill.'),
    id: z.string().optional().describe('beacon_id; default a new one.'),
    after: Duration.optional().describe('It happened so long after now.'),
    before: Duration.optional().describe('It happened so long before now.'),
    at_ms: AnyJson.optional().describe('When it happened, epoch milliseconds; default the time of the service.'),
    measurements: z
      .record(z.string(), AnyJson)
      .nullable()
      .optional()
      .describe('Default: what qualifies; null for none.'),
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
function measured(event: BeaconEvent | string, { width, height, format, duration_ms }: Fill): Json {
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
