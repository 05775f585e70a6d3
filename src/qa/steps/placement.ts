import { z } from 'zod'
import { Format, JobType, NativeTemplateId, Position } from '../../contract/fields.ts'
import type { Json } from '../../foundation/json.ts'
import type { CaseState } from '../run/case-state.ts'
import { AnyJson, orVariable } from '../suite/variables.ts'
import { needsOfMembers, stepKind } from './step-kind.ts'

const formats = orVariable(
  z.union([Format, z.array(orVariable(Format, 'a format'))]),
  'banner, clip, native, or a list of them',
)
const whole = (schema: z.ZodNumber) => orVariable(schema, 'a whole number')
const text = z.string()

/** How consent goes with a request: in words, or as the object itself. */
const Consent = orVariable(
  z.union([z.enum(['granted', 'denied', 'none']), z.record(z.string(), AnyJson)]),
  'granted, denied, none, or the object itself',
)

const common = {
  format: formats.optional().describe('Formats that may fill; default all.'),
  job_type: orVariable(JobType, 'a job type').optional().describe('Default chat.'),
  topic: text.optional().describe('Topic of the prompt.'),
  text: text.optional().describe('Text of the prompt.'),
  consent: Consent.optional().describe('Consent that goes with it; default granted.'),
  template: orVariable(NativeTemplateId, 'a template').optional().describe('Layout of native fills.'),
  position: orVariable(Position, 'a position').optional(),
  max_width: whole(z.int()).optional(),
  max_height: whole(z.int()).optional(),
  session: text.optional().describe('Another session than that of the case.'),
  slots: whole(z.int()).optional().describe('How many slots.'),
}

const Placement = z.strictObject({
  ...common,
  wait_ms: whole(z.int()).optional().describe('How long to wait for the decision.'),
  no_fill: z.literal(true).optional().describe('A no-fill, by test_outcome.'),
})
const Job = z.strictObject(common)

export const placement = stepKind({
  name: 'placement',
  summary: 'requests a placement, as a server does',
  shape: { placement: Placement.nullable().describe('What to ask for; nothing: a fill of any format.') },
  isRequest: true,
  needs: (step) => [...(isNoFill(step.placement) ? (['test_key'] as const) : []), ...needsOfMembers(step)],
  moves: () => [],
  title: ({ placement }) => ['placement', formatWords(placement)].filter(Boolean).join(' '),
  run: ({ placement, ...members }, turn) => {
    const { wait_ms, no_fill, ...rest } = placement ?? {}
    return turn.call('placements.create', {
      body: {
        ...bodyOf(rest, turn.state),
        ...(wait_ms === undefined ? {} : { wait_ms }),
        ...(no_fill === undefined ? {} : { test_outcome: 'no_fill' }),
      },
      members,
    })
  },
})

export const job = stepKind({
  name: 'job',
  summary: 'creates a job, whose slots are then polled',
  shape: { job: Job.nullable().describe('What to ask for.') },
  isRequest: true,
  needs: needsOfMembers,
  moves: () => [],
  title: ({ job }) => ['job', formatWords(job)].filter(Boolean).join(' '),
  run: ({ job, ...members }, turn) => turn.call('jobs.create', { body: bodyOf(job ?? {}, turn.state), members }),
})

/** What a correct client sends. */
function bodyOf(wish: z.output<typeof Job>, state: CaseState): Record<string, Json> {
  const {
    format,
    job_type = 'chat',
    topic,
    text,
    consent = 'granted',
    template,
    position,
    max_width,
    max_height,
  } = wish
  const prompt = defined({ topic, text })
  const hint = defined({ position, max_width, max_height })
  const overrides = defined({
    allowed_formats: format === undefined ? undefined : [format].flat(),
    native_template_id: template,
  })
  return {
    client_id: state.client_id,
    session_id: wish.session ?? state.session,
    job_type,
    ...defined({
      prompt: nonEmpty(prompt),
      slot_hint: nonEmpty(hint),
      overrides: nonEmpty(overrides),
      consent: consentOf(consent),
      slots_requested: wish.slots,
    }),
  }
}

function consentOf(consent: z.output<typeof Consent>): Json | undefined {
  if (typeof consent === 'object') return consent
  if (consent === 'none') return undefined
  return { semantic_targeting: consent === 'granted', prompt_shared: consent === 'granted' }
}

function defined(members: Record<string, Json | undefined>): Record<string, Json> {
  return Object.fromEntries(
    Object.entries(members).filter((member): member is [string, Json] => member[1] !== undefined),
  )
}

function nonEmpty(object: Record<string, Json>): Record<string, Json> | undefined {
  return Object.keys(object).length === 0 ? undefined : object
}

function isNoFill(value: Json | undefined): boolean {
  return typeof value === 'object' && value !== null && 'no_fill' in value
}

function formatWords(value: Json | undefined): string {
  const format = typeof value === 'object' && value !== null && 'format' in value ? value.format : undefined
  return format === undefined ? '' : String(format)
}
