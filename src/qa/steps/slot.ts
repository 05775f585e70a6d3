/** Steps about one slot that exists: poll, frame, ledger, beacon. Without a name they mean the last placement. */
import { z } from 'zod'
import type { BeaconEvent } from '../../contract/v1/beacons.ts'
import type { Json } from '../../foundation/json.ts'
import { valueAt } from '../../foundation/json-path.ts'
import type { Fill } from '../run/case-state.ts'
import { AnyJson, Duration, durationMs, orVariable } from '../suite/variables.ts'
import { pause, stepKind } from './step-kind.ts'

const NameOrId = z.string().nullable()

const Poll = z.union([
  NameOrId,
  z.strictObject({
    of: z.string().optional().describe('Name of a step, or a slot_id; default: the last slot.'),
    wait_ms: orVariable(z.int(), 'a whole number').optional().describe('How long each poll waits.'),
    until: z.enum(['ready', 'expired', 'pending']).optional().describe('Poll again until it has this status.'),
    every: Duration.optional().describe('Time between two polls; default 50ms.'),
  }),
])

export const poll = stepKind({
  name: 'poll',
  summary: 'polls the decision of a slot',
  shape: { poll: Poll.describe('Name of a step, or a slot_id; default: the last slot.') },
  isRequest: true,
  title: () => 'poll',
  run: async ({ poll, ...fields }, context) => {
    const options = typeof poll === 'object' && poll !== null ? poll : { of: poll ?? undefined }
    const { of, wait_ms, until, every = 50 } = options
    const once = () =>
      context.call('decisions.get', {
        params: { slot_id: context.state.slotOf(of) },
        query: wait_ms === undefined ? {} : { wait_ms },
        fields,
      })
    let response = await once()
    while (until !== undefined && response.status === 200 && valueAt(response.body, 'status') !== until) {
      await pause(durationMs(every), context)
      response = await once()
    }
    return response
  },
})

export const frame = stepKind({
  name: 'frame',
  summary: 'loads the hosted frame of a fill, as a browser does',
  shape: { frame: NameOrId.describe('Name of a step, or an asset token; default: the last fill.') },
  isRequest: true,
  title: () => 'frame',
  run: ({ frame, ...fields }, { call, state }) =>
    call('render.frame', { params: { asset_token: state.assetTokenOf(frame ?? undefined) }, fields }),
})

export const ledger = stepKind({
  name: 'ledger',
  summary: 'reads what the control plane knows of a slot: beacons, verdicts, billing, evidence',
  shape: { ledger: NameOrId.describe('Name of a step, or a slot_id; default: the last slot.') },
  isRequest: false,
  needs: () => ['control'],
  title: () => 'ledger',
  run: ({ ledger }, { call, state }) =>
    call('placements.explain', { params: { slot_id: state.slotOf(ledger ?? undefined) } }),
})

const Beacon = z.union([
  z.string(),
  z.strictObject({
    event: z.string().describe('render, visible, click, play_started, play_completed, completion, heartbeat.'),
    of: z.string().optional().describe('Name of the placement or poll; default: the last fill.'),
    id: z.string().optional().describe('beacon_id; default: a new one.'),
    after: Duration.optional().describe('It happened so long after now.'),
    before: Duration.optional().describe('It happened so long before now.'),
    at_ms: AnyJson.optional().describe('When it happened, epoch milliseconds; default: the time of the service.'),
    measurements: z
      .record(z.string(), AnyJson)
      .nullable()
      .optional()
      .describe('Default: measurements that qualify; null for none.'),
  }),
])

/** A beacon as the renderer sends it, with measurements that qualify. */
export const beacon = stepKind({
  name: 'beacon',
  summary: 'sends a beacon about a fill, as the renderer does',
  shape: { beacon: Beacon.describe('The event, or { event, of, after, ... }.') },
  isRequest: true,
  title: ({ beacon }) => `beacon ${typeof beacon === 'string' ? beacon : String((beacon as { event?: string }).event)}`,
  run: async ({ beacon, ...fields }, { call, state }) => {
    const { event, of, id, after, before, at_ms, measurements } =
      typeof beacon === 'string' ? { event: beacon } : beacon
    const fill = state.fillOf(of)
    const measured = measurements === undefined ? qualifyingMeasurements(event, fill) : measurements
    const isNow = after === undefined && before === undefined
    const dwell_ms = isNow && event === 'visible' ? Number(measured?.visible_ms ?? 0) : 0
    return call('beacons.send', {
      body: {
        beacon_id: id ?? state.newUuid(),
        asset_token: fill.asset_token,
        event,
        occurred_at_ms: at_ms ?? (await state.now()) + dwell_ms + durationMs(after ?? 0) - durationMs(before ?? 0),
        ...(fill.slot_id === null ? {} : { slot_id: fill.slot_id }),
        ...(measured === null ? {} : { measurements: measured }),
      },
      fields,
    })
  },
})

/** Returns what a client measures when all goes well, or null for events without measurements. */
function qualifyingMeasurements(
  event: BeaconEvent | string,
  { width, height, format, duration_ms }: Fill,
): Record<string, Json> | null {
  const size = width === null || height === null ? {} : { width_px: width, height_px: height }
  if (event === 'visible') {
    return { visible_ratio: 1, visible_ms: format === 'clip' ? 2_000 : 1_000, ...size, page_visible: true }
  }
  if (event === 'play_completed' || event === 'completion') {
    return duration_ms === null ? { page_visible: true } : { position_ms: duration_ms, duration_ms }
  }
  return null
}
