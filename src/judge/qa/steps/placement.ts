/**
 * The steps that ask for placements, one at once or a job with several slots, and those about a slot that exists: poll,
 * frame, ledger, beacon. Without a name these mean the last placement.
 */
import { z } from 'zod'
import { Format, JobType, NativeTemplateId, Position } from '#contract/fields.ts'
import { type BeaconEvent, BeaconEventInput, beaconEvents } from '#contract/resources/beacons.ts'
import { isObject, type Json, valueAt } from '#foundation/json.ts'
import type { CaseState, Fill } from '../run/case-state.ts'
import { AnyJson, Duration, durationMs, orVariable } from '../suite/variables.ts'
import { definedFields, needsOfRequest, pause, stepKind } from './step-kind.ts'

const Formats = orVariable(
  z.union([Format, z.array(orVariable(Format, 'a format'))]),
  'banner, clip, native, or a list of them',
)
const Whole = orVariable(z.int(), 'a whole number')
const Text = z.string()

/** Consent of a request: in words, or as the object itself. */
const Consent = orVariable(
  z.union([z.enum(['granted', 'denied', 'none']), z.record(z.string(), AnyJson)]),
  'granted, denied, none, or the object itself',
)

const Job = z.strictObject({
  format: Formats.optional().describe('Formats that may fill; default: all.'),
  job_type: orVariable(JobType, 'a job type').optional().describe('Default chat.'),
  topic: Text.optional().describe('Topic of the prompt.'),
  text: Text.optional().describe('Text of the prompt.'),
  consent: Consent.optional().describe('Consent of the request; default granted.'),
  template: orVariable(NativeTemplateId, 'a template').optional().describe('Layout of native fills.'),
  position: orVariable(Position, 'a position').optional(),
  max_width: Whole.optional(),
  max_height: Whole.optional(),
  session: Text.optional().describe("Another session than the case's own."),
  slots: Whole.optional().describe('How many slots.'),
})
const Placement = z.strictObject({
  ...Job.shape,
  wait_ms: Whole.optional().describe('How long to wait for the decision.'),
  no_fill: z.literal(true).optional().describe('Asks for a no-fill, by test_outcome.'),
})

export const placement = stepKind({
  name: 'placement',
  summary: 'requests a placement, as a server does',
  shape: { placement: Placement.nullable().describe('What to ask for; default: a fill of any format.') },
  isRequest: true,
  needs: (step) => [
    ...(isObject(step.placement) && 'no_fill' in step.placement ? (['test_key'] as const) : []),
    ...needsOfRequest(step),
  ],
  title: ({ placement }) => titleWithFormat('placement', placement),
  run: ({ placement, ...fields }, { call, state }) => {
    const { wait_ms, no_fill, ...job } = placement ?? {}
    const test_outcome = no_fill === undefined ? undefined : 'no_fill'
    return call('placements.create', {
      body: { ...buildBody(job, state), ...definedFields({ wait_ms, test_outcome }) },
      fields,
    })
  },
})

export const job = stepKind({
  name: 'job',
  summary: 'creates a job, whose slots are then polled',
  shape: { job: Job.nullable().describe('What to ask for.') },
  isRequest: true,
  title: ({ job }) => titleWithFormat('job', job),
  run: ({ job, ...fields }, { call, state }) => call('jobs.create', { body: buildBody(job ?? {}, state), fields }),
})

/** Returns the body that a correct client sends. */
function buildBody(job: z.output<typeof Job>, state: CaseState): Record<string, Json> {
  const { format, job_type = 'chat', topic, text, consent = 'granted', template } = job
  const { position, max_width, max_height, session = state.session, slots } = job
  const allowed_formats = format === undefined ? undefined : [format].flat()
  return definedFields({
    client_id: state.client_id,
    session_id: session,
    job_type,
    prompt: objectOrNone({ topic, text }),
    slot_hint: objectOrNone({ position, max_width, max_height }),
    overrides: objectOrNone({ allowed_formats, native_template_id: template }),
    consent: buildConsent(consent),
    slots_requested: slots,
  })
}

function buildConsent(consent: z.output<typeof Consent>): Json | undefined {
  if (typeof consent === 'object') return consent
  if (consent === 'none') return undefined
  return { semantic_targeting: consent === 'granted', prompt_shared: consent === 'granted' }
}

function objectOrNone(fields: Record<string, Json | undefined>): Json | undefined {
  const defined = definedFields(fields)
  return Object.keys(defined).length === 0 ? undefined : defined
}

function titleWithFormat(name: string, options: Json | undefined): string {
  return isObject(options) && 'format' in options ? `${name} ${String(options.format)}` : name
}

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
        params: { slot_id: context.state.findSlot(of) },
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
    call('render.frame', { params: { asset_token: state.findAssetToken(frame ?? undefined) }, fields }),
})

export const ledger = stepKind({
  name: 'ledger',
  summary: 'reads what the control plane knows of a slot: beacons, verdicts, billing, evidence',
  shape: { ledger: NameOrId.describe('Name of a step, or a slot_id; default: the last slot.') },
  isRequest: false,
  needs: () => ['control'],
  title: () => 'ledger',
  run: ({ ledger }, { call, state }) =>
    call('placements.explain', { params: { slot_id: state.findSlot(ledger ?? undefined) } }),
})

/** An event, or a variable in its place. In `{ event }` any text may stand, so that a suite can see it refused. */
const Event = orVariable(BeaconEventInput, `an event: ${beaconEvents.join(', ')}; any other text as { event: ... }`)

const Beacon = z.union([
  Event,
  z.strictObject({
    event: z.string().describe(`${beaconEvents.join(', ')}; any other text is sent unchanged.`),
    of: z.string().optional().describe('Name of the placement or poll; default: the last fill.'),
    id: z.string().optional().describe('beacon_id; default: a new one.'),
    after: Duration.optional().describe('How long after now it happened.'),
    before: Duration.optional().describe('How long before now it happened.'),
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
    const fill = state.findFill(of)
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
