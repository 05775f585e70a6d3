/** The steps that ask for placements: one at once, or a job with several slots. */
import { z } from 'zod'
import { Format, JobType, NativeTemplateId, Position } from '../../contract/fields.ts'
import { isObject, type Json } from '../../foundation/json.ts'
import type { CaseState } from '../run/case-state.ts'
import { AnyJson, orVariable } from '../suite/variables.ts'
import { definedFields, needsOfRequest, stepKind } from './step-kind.ts'

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
  session: Text.optional().describe('Another session than that of the case.'),
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
  title: ({ placement }) => titleOf('placement', placement),
  run: ({ placement, ...fields }, { call, state }) => {
    const { wait_ms, no_fill, ...job } = placement ?? {}
    const test_outcome = no_fill === undefined ? undefined : 'no_fill'
    return call('placements.create', {
      body: { ...bodyOf(job, state), ...definedFields({ wait_ms, test_outcome }) },
      fields,
    })
  },
})

export const job = stepKind({
  name: 'job',
  summary: 'creates a job, whose slots are then polled',
  shape: { job: Job.nullable().describe('What to ask for.') },
  isRequest: true,
  title: ({ job }) => titleOf('job', job),
  run: ({ job, ...fields }, { call, state }) => call('jobs.create', { body: bodyOf(job ?? {}, state), fields }),
})

/** Returns the body that a correct client sends. */
function bodyOf(job: z.output<typeof Job>, state: CaseState): Record<string, Json> {
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
    consent: consentOf(consent),
    slots_requested: slots,
  })
}

function consentOf(consent: z.output<typeof Consent>): Json | undefined {
  if (typeof consent === 'object') return consent
  if (consent === 'none') return undefined
  return { semantic_targeting: consent === 'granted', prompt_shared: consent === 'granted' }
}

function objectOrNone(fields: Record<string, Json | undefined>): Json | undefined {
  const defined = definedFields(fields)
  return Object.keys(defined).length === 0 ? undefined : defined
}

function titleOf(name: string, options: Json | undefined): string {
  return isObject(options) && 'format' in options ? `${name} ${String(options.format)}` : name
}
