/**
 * The intake of a job. POST /v1/placements and both branches of POST /v1/jobs are mapped to one canonical form (A34, A35),
 * with the same checks for all three.
 */
import { ApiError } from '#contract/errors.ts'
import {
  type Format,
  type JobType,
  maxTopic,
  type NativeTemplateId,
  type Overrides,
  type RequestConsent,
  type SlotHint,
} from '#contract/fields.ts'
import { limits } from '#contract/limits.ts'
import type { BrowserJobRequest, JobRequest } from '#contract/resources/jobs.ts'
import type { PlacementRequest } from '#contract/resources/placements.ts'
import type { ProjectSettings } from '#contract/resources/projects.ts'
import type { StoredJobFields } from '#store/store.ts'
import { addWarning, type Context, defined, type Services } from './context.ts'

/** The canonical form of a job request. */
export interface JobIntake {
  client_id: string | null
  session_id: string | null
  job_type: JobType
  slots_requested: number
  topic: string | null
  /** Raw prompt text. */
  text: string | null
  consent: RequestConsent | undefined
  /** Whether missing consent is an error; on jobs, where consent is optional, it is a no-fill (A64). */
  needsConsent: boolean
  hint: SlotHint
  overrides: Overrides
  country: string | null
  test_forced: boolean
  /** The URL that each slot's decision is sent to (C07). */
  callback_url: string | null
  /** How long the generation that the placement accompanies takes, milliseconds. */
  predicted_latency_ms: number | null
  /** Returns the path of a canonical field in the original body, for error messages. */
  fieldPath: (field: CheckedField) => string
}

type CheckedField = 'slots_requested' | 'allowed_formats' | 'native_template_id' | 'callback_url'

export function readPlacementIntake(services: Services, context: Context, body: PlacementRequest): JobIntake {
  const { wait_ms: _, test_outcome, ...job } = body
  return { ...readJobIntake(services, context, job), needsConsent: true, test_forced: test_outcome === 'no_fill' }
}

/** Canonical fields take precedence over their flat variants. */
export function readJobIntake(services: Services, context: Context, body: JobRequest): JobIntake {
  const prompt = readPrompt(body.prompt)
  return {
    client_id: body.client_id ?? null,
    session_id: body.session_id ?? body.chat_session_id ?? null,
    job_type: body.job_type ?? 'chat',
    slots_requested: body.slots_requested ?? 1,
    topic: prompt.topic ?? cutTopic(context, body.context?.topic),
    text: prompt.text ?? body.context?.prompt_text ?? null,
    consent: body.consent,
    needsConsent: false,
    hint: { ...readSlotHint(body.slot_config), ...body.slot_hint },
    overrides: defined({
      ...readOverrides(context, body),
      frequency_cap: body.frequency_cap,
      timing: body.timing ?? body.slot_config?.timing,
      preferred_partner_id: body.ssp_partner_id,
      ...body.overrides,
    }),
    country: readCountry(body.context?.geo),
    test_forced: false,
    callback_url: chooseCallback(services, context, body.callback_url ?? body.delivery?.callback_url),
    // In the API document it has no effect (A34, C03).
    predicted_latency_ms: services.strict ? null : (body.predicted_latency_ms ?? null),
    fieldPath(field) {
      if (field === 'slots_requested') return field
      if (field === 'callback_url') return body.callback_url === undefined ? 'delivery.callback_url' : field
      return `${body.overrides?.[field] === undefined ? 'slot_config' : 'overrides'}.${field}`
    },
  }
}

export function readBrowserIntake(services: Services, context: Context, body: BrowserJobRequest): JobIntake {
  const prompt = readPrompt(body.prompt)
  return {
    client_id: body.context?.client_id ?? null,
    session_id: body.context?.chat_session_id ?? null,
    job_type: body.job.job_type ?? 'chat',
    slots_requested: body.job.slots_requested ?? 1,
    topic: prompt.topic ?? cutTopic(context, body.context?.topic),
    text: prompt.text ?? body.context?.prompt_text ?? null,
    consent: body.consent,
    needsConsent: false,
    hint: readSlotHint(body.slot_config),
    overrides: defined({
      ...readOverrides(context, body),
      frequency_cap: body.frequency_cap,
      timing: body.slot_config?.timing,
      preferred_partner_id: body.routing_hint?.preferred_partner_id,
    }),
    country: readCountry(body.context?.geo),
    test_forced: false,
    callback_url: chooseCallback(services, context, body.delivery?.callback_url),
    predicted_latency_ms: body.latency_hint?.predicted_latency_ms ?? null,
    fieldPath: (field) => `${browserParents[field] ?? 'slot_config'}.${field}`,
  }
}

const browserParents: Partial<Record<CheckedField, string>> = { slots_requested: 'job', callback_url: 'delivery' }

/** Checks the rules that have their own reason code and so are not in the schema. @throws ApiError 400 */
export function checkIntake(intake: JobIntake, settings: ProjectSettings): void {
  const { allowed_formats, native_template_id } = intake.overrides
  const { min, max } = limits.slots_requested
  const wrong = (field: CheckedField, message: string, expected: string) => ({
    fields: [{ path: intake.fieldPath(field), message, expected }],
  })
  if (intake.slots_requested < min || intake.slots_requested > max) {
    const expected = `an integer from ${min} to ${max}`
    throw new ApiError('slots_requested_out_of_range', wrong('slots_requested', 'is out of range', expected))
  }
  if (allowed_formats?.length === 0) {
    throw new ApiError('formats_empty', wrong('allowed_formats', 'is empty', 'at least one of banner, clip, native'))
  }
  if (allowed_formats !== undefined && new Set(allowed_formats).size < allowed_formats.length) {
    throw new ApiError('schema_invalid', wrong('allowed_formats', 'names a format twice', 'each format once'))
  }
  const formats = allowed_formats ?? settings.defaults.allowed_formats
  if (native_template_id !== undefined && !formats.includes('native')) {
    throw new ApiError(
      'format_combination_unsupported',
      wrong('native_template_id', 'is set without the native format', 'native in allowed_formats'),
    )
  }
}

/** Returns the stored part of a job: only what differs from the defaults, and never prompt text. */
export function storedFields(
  intake: JobIntake,
  settings: ProjectSettings,
  derived: string | null,
  processed: boolean,
): StoredJobFields {
  const { hint, overrides } = intake
  const { defaults } = settings
  const floors = readFloors(overrides)
  return defined({
    allowed_formats: overrides.allowed_formats,
    native_template_id: overrides.native_template_id,
    position: hint.position,
    timing: overrides.timing,
    max_width: chooseSide(hint.max_width, defaults.max_width),
    max_height: chooseSide(hint.max_height, defaults.max_height),
    floors,
    floor_currency: floors === undefined ? undefined : overrides.bidfloor_currency,
    blocked_categories: overrides.blocked_categories,
    blocked_domains: overrides.blocked_domains,
    preferred_partner_id: overrides.preferred_partner_id,
    country: intake.country ?? undefined,
    gdpr_applies: overrides.gdpr_applies ?? intake.consent?.gdpr_applies,
    topic: intake.topic ?? undefined,
    derived_topic: derived ?? undefined,
    prompt_length: processed && intake.text !== null ? intake.text.length : undefined,
    frequency_cap: overrides.frequency_cap === undefined ? undefined : defined(overrides.frequency_cap),
    test_forced: intake.test_forced ? true : undefined,
    force_campaign_id: overrides.force_campaign_id,
    predicted_latency_ms: intake.predicted_latency_ms ?? undefined,
    callback_url: intake.callback_url ?? undefined,
  })
}

function chooseSide(asked: number | undefined, fallback: number | null): number | undefined {
  return asked ?? fallback ?? undefined
}

function readPrompt(prompt: PlacementRequest['prompt']): { topic: string | null; text: string | null } {
  if (prompt === undefined) return { topic: null, text: null }
  if (typeof prompt === 'string') return { topic: null, text: prompt }
  return { topic: prompt.topic ?? null, text: prompt.text ?? null }
}

/** Returns the topic of a context, which client libraries do not check: an empty one is absent, a long one is cut (C02). */
function cutTopic(context: Context, topic: string | undefined): string | null {
  if (topic === undefined || topic === '') return null
  // In characters, as schemas count: half a surrogate pair would have no canonical JSON.
  const characters = [...topic]
  if (characters.length <= maxTopic) return topic
  addWarning(context, 'topic_cut')
  return characters.slice(0, maxTopic).join('')
}

/** Returns the URL that decisions are sent to: none with `strict`, as the API document has no callbacks (C07). */
function chooseCallback({ strict }: Services, context: Context, url: string | null | undefined): string | null {
  if (url === undefined || url === null) return null
  if (!strict) return url
  addWarning(context, 'callback_ignored')
  return null
}

type SlotConfig = NonNullable<JobRequest['slot_config']>

function readSlotHint(config: SlotConfig | undefined): SlotHint {
  if (config === undefined) return {}
  return defined({ position: config.position_hint, max_width: config.max_width, max_height: config.max_height })
}

function readOverrides(
  context: Context,
  body: Pick<JobRequest, 'slot_config' | 'brand_safety' | 'publisher'>,
): Overrides {
  const { blocked_categories, blocked_domains, ...others } = body.brand_safety ?? {}
  // Public clients send some, and a misspelt one blocks nothing.
  if (Object.keys(others).length > 0) addWarning(context, 'fields_ignored')
  return defined({
    allowed_formats: body.slot_config?.allowed_formats as Format[] | undefined,
    native_template_id: toTemplateId(body.slot_config?.native_template_id),
    bidfloors: body.slot_config?.bidfloors,
    bidfloor: body.slot_config?.bidfloor,
    bidfloor_currency: body.slot_config?.bidfloorcur,
    publisher: body.publisher,
    blocked_categories,
    blocked_domains,
  })
}

function toTemplateId(id: SlotConfig['native_template_id']): NativeTemplateId | undefined {
  return id === 'list-item' ? 'list_item' : id
}

export function readFloors(overrides: Overrides): StoredJobFields['floors'] | undefined {
  const { bidfloor, bidfloors } = overrides
  if (bidfloor === undefined && bidfloors === undefined) return undefined
  const general = bidfloors?.default ?? bidfloor ?? 0
  return {
    banner: bidfloors?.banner ?? general,
    clip: bidfloors?.clip ?? general,
    native: bidfloors?.native ?? general,
  }
}

function readCountry(geo: Record<string, unknown> | undefined): string | null {
  const country = geo?.country
  return typeof country === 'string' && /^[A-Za-z]{2}$/.test(country) ? country.toUpperCase() : null
}
