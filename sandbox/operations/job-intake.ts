/**
 * What a job asks for, in one canonical form, whatever shape it came in: the placement request, the job request with
 * its flat variants (A34), the browser branch (A35). Prompt text ends here.
 */

import type { ProjectSettings } from '../../src/contract/control/projects.ts'
import { ApiError, type FieldError } from '../../src/contract/errors.ts'
import type { Format, JobType, Overrides, RequestConsent, SlotHint } from '../../src/contract/fields.ts'
import { limits } from '../../src/contract/limits.ts'
import type { BrowserJobRequest, JobRequest } from '../../src/contract/v1/jobs.ts'
import type { PlacementRequest } from '../../src/contract/v1/placements.ts'
import type { JobFacts } from '../store/store.ts'

export interface JobIntake {
  client_id: string | null
  session_id: string | null
  job_type: JobType
  slots_requested: number
  topic: string | null
  /** Raw prompt text: to be processed with consent or forgotten, never stored. */
  text: string | null
  consent: RequestConsent | undefined
  hint: SlotHint
  overrides: Overrides
  country: string | null
  test_forced: boolean
  /** The path of a canonical member in the body as it came, so that errors name what was sent. */
  pathOf: (member: CheckedMember) => string
}

type CheckedMember = 'slots_requested' | 'allowed_formats' | 'native_template_id'

export function intakeOfPlacement(body: PlacementRequest): JobIntake {
  return {
    client_id: body.client_id,
    session_id: body.session_id,
    job_type: body.job_type,
    slots_requested: body.slots_requested ?? 1,
    ...readPrompt(body.prompt),
    consent: body.consent,
    hint: body.slot_hint ?? {},
    overrides: body.overrides ?? {},
    country: null,
    test_forced: body.test_outcome === 'no_fill',
    pathOf: (member) => (member === 'slots_requested' ? member : `overrides.${member}`),
  }
}

/** Canonical members win over their flat variants. */
export function intakeOfJob(body: JobRequest): JobIntake {
  const prompt = readPrompt(body.prompt)
  return {
    client_id: body.client_id ?? null,
    session_id: body.session_id ?? body.chat_session_id ?? null,
    job_type: body.job_type ?? 'chat',
    slots_requested: body.slots_requested ?? 1,
    topic: prompt.topic ?? body.context?.topic ?? null,
    text: prompt.text ?? body.context?.prompt_text ?? null,
    consent: body.consent,
    hint: { ...hintOf(body.slot_config), ...body.slot_hint },
    overrides: defined({
      ...overridesOf(body),
      frequency_cap: body.frequency_cap,
      timing: body.timing ?? body.slot_config?.timing,
      preferred_partner_id: body.ssp_partner_id,
      ...body.overrides,
    }),
    country: countryOf(body.context?.geo),
    test_forced: false,
    pathOf(member) {
      if (member === 'slots_requested') return member
      return `${body.overrides?.[member] === undefined ? 'slot_config' : 'overrides'}.${member}`
    },
  }
}

export function intakeOfBrowserJob(body: BrowserJobRequest): JobIntake {
  const prompt = readPrompt(body.prompt)
  return {
    client_id: body.context?.client_id ?? null,
    session_id: body.context?.chat_session_id ?? null,
    job_type: body.job.job_type,
    slots_requested: body.job.slots_requested ?? 1,
    topic: prompt.topic ?? body.context?.topic ?? null,
    text: prompt.text,
    consent: body.consent,
    hint: hintOf(body.slot_config),
    overrides: defined({ ...overridesOf(body), timing: body.slot_config?.timing }),
    country: null,
    test_forced: false,
    pathOf: (member) => `${member === 'slots_requested' ? 'job' : 'slot_config'}.${member}`,
  }
}

/** The rules that a schema cannot say with its own reason code. */
export function checkIntake(intake: JobIntake, settings: ProjectSettings): void {
  const { allowed_formats, native_template_id } = intake.overrides
  const { min, max } = limits.slots_requested
  if (intake.slots_requested < min || intake.slots_requested > max) {
    throw new ApiError('slots_requested_out_of_range', {
      fields: [fieldError(intake.pathOf('slots_requested'), 'is out of range', `an integer from ${min} to ${max}`)],
    })
  }
  if (allowed_formats?.length === 0) {
    throw new ApiError('formats_empty', {
      fields: [fieldError(intake.pathOf('allowed_formats'), 'is empty', 'at least one of banner, clip, native')],
    })
  }
  if (allowed_formats !== undefined && new Set(allowed_formats).size < allowed_formats.length) {
    throw new ApiError('schema_invalid', {
      fields: [fieldError(intake.pathOf('allowed_formats'), 'names a format twice', 'each format once')],
    })
  }
  const formats = allowed_formats ?? settings.defaults.allowed_formats
  if (native_template_id !== undefined && !formats.includes('native')) {
    throw new ApiError('format_combination_unsupported', {
      fields: [
        fieldError(
          intake.pathOf('native_template_id'),
          'is set without the native format',
          'native in allowed_formats',
        ),
      ],
    })
  }
}

/** What is stored of a job: only what differs from the defaults, and never prompt text. */
export function factsOf(
  intake: JobIntake,
  settings: ProjectSettings,
  topic: string | null,
  processed: boolean,
): JobFacts {
  const { hint, overrides } = intake
  const floors = floorsOf(overrides)
  return defined({
    allowed_formats: overrides.allowed_formats,
    native_template_id: overrides.native_template_id,
    position: hint.position,
    timing: overrides.timing,
    max_width: hint.max_width ?? settings.defaults.max_width ?? undefined,
    max_height: hint.max_height ?? settings.defaults.max_height ?? undefined,
    floors,
    floor_currency: floors === undefined ? undefined : overrides.bidfloor_currency,
    blocked_categories: overrides.blocked_categories,
    blocked_domains: overrides.blocked_domains,
    preferred_partner_id: overrides.preferred_partner_id,
    country: intake.country ?? undefined,
    gdpr_applies: overrides.gdpr_applies ?? intake.consent?.gdpr_applies,
    topic: topic ?? undefined,
    prompt_length: processed && intake.text !== null ? intake.text.length : undefined,
    frequency_cap: overrides.frequency_cap === undefined ? undefined : defined(overrides.frequency_cap),
    test_forced: intake.test_forced ? true : undefined,
  })
}

function readPrompt(prompt: PlacementRequest['prompt']): { topic: string | null; text: string | null } {
  if (prompt === undefined) return { topic: null, text: null }
  if (typeof prompt === 'string') return { topic: null, text: prompt }
  return { topic: prompt.topic ?? null, text: prompt.text ?? null }
}

type SlotConfig = NonNullable<JobRequest['slot_config']>

function hintOf(config: SlotConfig | undefined): SlotHint {
  if (config === undefined) return {}
  return defined({ position: config.position_hint, max_width: config.max_width, max_height: config.max_height })
}

function overridesOf(body: Pick<JobRequest, 'slot_config' | 'brand_safety' | 'publisher'>): Overrides {
  return defined({
    allowed_formats: body.slot_config?.allowed_formats as Format[] | undefined,
    native_template_id: body.slot_config?.native_template_id,
    bidfloor: body.slot_config?.bidfloor,
    bidfloor_currency: body.slot_config?.bidfloorcur,
    publisher: body.publisher,
    blocked_categories: body.brand_safety?.blocked_categories,
    blocked_domains: body.brand_safety?.blocked_domains,
  })
}

function floorsOf(overrides: Overrides): JobFacts['floors'] | undefined {
  const { bidfloor, bidfloors } = overrides
  if (bidfloor === undefined && bidfloors === undefined) return undefined
  const general = bidfloors?.default ?? bidfloor ?? 0
  return {
    banner: bidfloors?.banner ?? general,
    clip: bidfloors?.clip ?? general,
    native: bidfloors?.native ?? general,
  }
}

function countryOf(geo: Record<string, unknown> | undefined): string | null {
  const country = geo?.country
  return typeof country === 'string' && /^[A-Za-z]{2}$/.test(country) ? country.toUpperCase() : null
}

function fieldError(path: string, message: string, expected: string): FieldError {
  return { path, message, expected }
}

/** Without the members that are undefined. */
function defined<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const result: Partial<T> = {}
  for (const name in value) if (value[name] !== undefined) result[name] = value[name]
  return result as { [K in keyof T]?: Exclude<T[K], undefined> }
}
