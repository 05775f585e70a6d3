/**
 * Jobs. POST /v1/placements and both branches of POST /v1/jobs are mapped to one canonical intake (A34, A35), which
 * `openJob` turns into a job with its slots. Prompt text ends here: it is read with consent or discarded, never stored.
 * One file of more than 400 lines, since all three requests go through the same checks on their way to a job.
 */

import { ApiError } from '#contract/errors.ts'
import {
  type AuthoritativeConsent,
  type Format,
  isIabCategory,
  type JobType,
  maxTopic,
  type NativeTemplateId,
  type Overrides,
  type RequestConsent,
  type SlotHint,
} from '#contract/fields.ts'
import { encodeId } from '#contract/ids.ts'
import type { Contract } from '#contract/index.ts'
import { limits } from '#contract/limits.ts'
import { type BrowserJobRequest, isBrowserBranch, type JobRequest } from '#contract/resources/jobs.ts'
import type { PlacementRequest } from '#contract/resources/placements.ts'
import type { ProjectSettings } from '#contract/resources/projects.ts'
import { type DeliveryMode, variantFieldNames } from '#contract/variant-fields.ts'
import { hasUsdRate } from '#domain/catalogue.ts'
import { mayProcessPrompt, resolveConsent } from '#domain/consent.ts'
import { decideJobSlot, decisionEvidence, drawLatency, listCaps } from '#runtime/decisions.ts'
import type { JobFacts, JobRow, NewSlot } from '#store/store.ts'
import { acceptCallback } from './callbacks.ts'
import { consentWrite } from './consent.ts'
import {
  addWarning,
  type Caller,
  type Context,
  callerOf,
  defined,
  type Operation,
  type Services,
  warnOfPersonalSession,
} from './context.ts'

/** Attempts to create a job while its session changes its consent or reaches its caps. */
const attempts = 32

const decisionPath = '/v1/decisions/{slot_id}'

export const createJob: Operation<Contract['jobs.create']> = async (services, context, { body }) => {
  const caller = callerOf(context)
  const browser = isBrowserBranch(body) ? (body as BrowserJobRequest) : null
  if (browser !== null && !browser.contract_version.endsWith('/v1')) throw new ApiError('contract_version_unsupported')
  const intake =
    browser === null
      ? intakeOfJob(services, context, body as JobRequest)
      : intakeOfBrowserJob(services, context, browser)
  if (intake.client_id === null) {
    if (browser === null && !hasVariantField(body as JobRequest) && !context.is_old_client) {
      throw new ApiError('schema_invalid', {
        fields: [{ path: 'client_id', message: 'is missing', expected: 'a project ID, such as proj_demo' }],
      })
    }
    if (caller.credential === 'secret_key') context.warnings.push('client_id_from_key')
  }
  const { job, slots } = await openJob(services, context, intake)
  return {
    ...(browser === null ? {} : { contract_version: acceptedVersion(browser.contract_version) }),
    job_id: encodeId('job', job.id),
    slot_ids: slots.map((slot) => encodeId('slot', slot.id)),
    status: 'accepted',
    poll_path_template: decisionPath,
    expires_at: new Date(latestExpiry(caller, slots)).toISOString(),
    decision_delivery:
      browser === null
        ? { mode: deliveryMode(intake, 'polling'), poll_path_template: decisionPath }
        : { mode: deliveryMode(intake, browser.delivery?.mode), decision_path_template: decisionPath },
    request_id: context.request_id,
  }
}

/** Returns the requested delivery; `callback` whenever there is a URL to call back (C02). */
function deliveryMode({ callback_url }: JobIntake, wanted: DeliveryMode = 'polling'): DeliveryMode {
  return callback_url === null ? wanted : 'callback'
}

function hasVariantField(body: JobRequest): boolean {
  return variantFieldNames().some((name) => body[name] !== undefined)
}

/** `csl_wrapper_ingress_create/v1` becomes `csl_wrapper_ingress_accepted/v1`; versions of other families are kept. */
function acceptedVersion(contract_version: string): string {
  return contract_version.replace(/_create\/v1$/, '_accepted/v1')
}

function latestExpiry(caller: Caller, slots: readonly NewSlot[]): number {
  return Math.max(...slots.map((slot) => slot.due_at_ms)) + caller.project.settings.decision_ttl_ms
}

/** Creates a job and decides its slots, or leaves them pending for the latency of their decisions. */
export async function openJob(
  services: Services,
  context: Context,
  intake: JobIntake,
): Promise<{ job: JobRow; slots: NewSlot[]; consent: AuthoritativeConsent }> {
  const caller = callerOf(context)
  const { project } = caller
  if (intake.client_id !== null && intake.client_id !== project.client_id) throw new ApiError('project_mismatch')
  checkIntake(intake, project.settings)
  if (intake.test_forced && (caller.mode !== 'test' || caller.credential !== 'secret_key')) {
    throw new ApiError('test_outcome_requires_test_key')
  }
  if (intake.callback_url !== null) {
    await acceptCallback(services, context, intake.callback_url, intake.pathOf('callback_url'))
  }
  context.subject.session_id = intake.session_id
  warnOfPersonalSession(context, intake.session_id)
  warnOfCategories(context, intake.overrides)
  warnOfCurrency(context, intake.overrides)
  for (let attempt = 0; attempt < attempts; attempt++) {
    const opened = await tryToOpen(services, context, caller, intake)
    if (opened !== null) return opened
  }
  throw new Error('the consent or the caps of this session change faster than a job can be created')
}

/** A category that the IAB does not have blocks nothing (C02). */
function warnOfCategories(context: Context, { blocked_categories, publisher }: Overrides): void {
  const isKnown = (categories: readonly string[] | undefined) => categories?.every(isIabCategory) ?? true
  if (!isKnown(blocked_categories) || !isKnown(publisher?.categories)) addWarning(context, 'category_unknown')
}

/** A floor in a currency without a rate counts as USD (A39). */
function warnOfCurrency(context: Context, overrides: Overrides): void {
  const { bidfloor_currency = 'USD' } = overrides
  if (floorsOf(overrides) !== undefined && !hasUsdRate(bidfloor_currency)) addWarning(context, 'currency_without_rate')
}

async function tryToOpen(services: Services, context: Context, caller: Caller, intake: JobIntake) {
  const { store, platform, markets } = services
  const { project } = caller
  const { now_ms } = context
  const latest = intake.session_id === null ? null : store.latestConsent(project.id, intake.session_id)
  const stored = latest instanceof Promise ? await latest : latest
  const resolved = resolveConsent(project.settings.consent, intake.consent, stored, now_ms)
  if (resolved.isMissing && intake.needsConsent) throw new ApiError('consent_required')
  if (resolved.keepsPurposes) addWarning(context, 'consent_purposes_kept')
  const { snapshot, draft } = resolved

  const mayProcess = mayProcessPrompt(snapshot)
  if (intake.text !== null && !mayProcess) addWarning(context, 'prompt_text_discarded')
  const text = mayProcess ? intake.text : null
  const risk = text === null ? null : markets.deriveRisk(text)
  const derived = risk ?? (text === null || intake.topic !== null ? null : markets.deriveTopic(text))
  const facts = factsOf(intake, project.settings, derived, mayProcess)

  const job: JobRow = {
    id: platform.newId(),
    project_id: project.id,
    session_id: intake.session_id,
    job_type: intake.job_type,
    mode: caller.mode,
    key_id: caller.key_id,
    created_at_ms: now_ms,
    facts: intake.session_id === null ? { ...facts, consent: snapshot } : facts,
  }
  const slots: NewSlot[] = []
  for (let index = 0; index < intake.slots_requested; index++) {
    const id = platform.newId()
    const latency_ms = drawLatency(services, project, caller.mode)
    const fills = slots.filter((slot) => slot.decision?.outcome.status === 'filled').length
    const decided = latency_ms > 0 ? null : decideJobSlot(services, project, job, id, snapshot, now_ms, fills)
    const decision = decided instanceof Promise ? await decided : decided
    const evidence = decision === null ? null : decisionEvidence(services, project, job, id, decision)
    slots.push({ id, due_at_ms: now_ms + latency_ms, decision, evidence })
  }
  const write =
    draft === null || intake.session_id === null
      ? null
      : consentWrite(services, project, intake.session_id, draft, stored)
  const created = await store.createJob(job, slots, write, listCaps(job, now_ms))
  if (!created) return null
  context.subject.slot_id = slots[0]!.id
  for (const slot of slots) {
    if (slot.decision === null) {
      if (facts.callback_url !== undefined) services.callbacks.expect(slot.id)
      services.pendingDecisions.schedule(slot.id, slot.due_at_ms)
    } else if (facts.callback_url !== undefined) services.callbacks.deliver(slot.id)
  }
  return { job, slots, consent: snapshot }
}

/** The canonical form of a job request. */
interface JobIntake {
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
  pathOf: (field: CheckedField) => string
}

type CheckedField = 'slots_requested' | 'allowed_formats' | 'native_template_id' | 'callback_url'

export function intakeOfPlacement(services: Services, context: Context, body: PlacementRequest): JobIntake {
  const { wait_ms: _, test_outcome, ...job } = body
  return { ...intakeOfJob(services, context, job), needsConsent: true, test_forced: test_outcome === 'no_fill' }
}

/** Canonical fields take precedence over their flat variants. */
function intakeOfJob(services: Services, context: Context, body: JobRequest): JobIntake {
  const prompt = readPrompt(body.prompt)
  return {
    client_id: body.client_id ?? null,
    session_id: body.session_id ?? body.chat_session_id ?? null,
    job_type: body.job_type ?? 'chat',
    slots_requested: body.slots_requested ?? 1,
    topic: prompt.topic ?? topicOf(context, body.context?.topic),
    text: prompt.text ?? body.context?.prompt_text ?? null,
    consent: body.consent,
    needsConsent: false,
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
    callback_url: callbackOf(services, context, body.callback_url ?? body.delivery?.callback_url),
    // In the API document it has no effect (A34, C03).
    predicted_latency_ms: services.strict ? null : (body.predicted_latency_ms ?? null),
    pathOf(field) {
      if (field === 'slots_requested') return field
      if (field === 'callback_url') return body.callback_url === undefined ? 'delivery.callback_url' : field
      return `${body.overrides?.[field] === undefined ? 'slot_config' : 'overrides'}.${field}`
    },
  }
}

function intakeOfBrowserJob(services: Services, context: Context, body: BrowserJobRequest): JobIntake {
  const prompt = readPrompt(body.prompt)
  return {
    client_id: body.context?.client_id ?? null,
    session_id: body.context?.chat_session_id ?? null,
    job_type: body.job.job_type ?? 'chat',
    slots_requested: body.job.slots_requested ?? 1,
    topic: prompt.topic ?? topicOf(context, body.context?.topic),
    text: prompt.text ?? body.context?.prompt_text ?? null,
    consent: body.consent,
    needsConsent: false,
    hint: hintOf(body.slot_config),
    overrides: defined({
      ...overridesOf(body),
      frequency_cap: body.frequency_cap,
      timing: body.slot_config?.timing,
      preferred_partner_id: body.routing_hint?.preferred_partner_id,
    }),
    country: countryOf(body.context?.geo),
    test_forced: false,
    callback_url: callbackOf(services, context, body.delivery?.callback_url),
    predicted_latency_ms: body.latency_hint?.predicted_latency_ms ?? null,
    pathOf: (field) => `${browserParents[field] ?? 'slot_config'}.${field}`,
  }
}

const browserParents: Partial<Record<CheckedField, string>> = { slots_requested: 'job', callback_url: 'delivery' }

/** Checks the rules that have their own reason code and so are not in the schema. @throws ApiError 400 */
function checkIntake(intake: JobIntake, settings: ProjectSettings): void {
  const { allowed_formats, native_template_id } = intake.overrides
  const { min, max } = limits.slots_requested
  const wrong = (field: CheckedField, message: string, expected: string) => ({
    fields: [{ path: intake.pathOf(field), message, expected }],
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
function factsOf(intake: JobIntake, settings: ProjectSettings, derived: string | null, processed: boolean): JobFacts {
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
    topic: intake.topic ?? undefined,
    derived_topic: derived ?? undefined,
    prompt_length: processed && intake.text !== null ? intake.text.length : undefined,
    frequency_cap: overrides.frequency_cap === undefined ? undefined : defined(overrides.frequency_cap),
    test_forced: intake.test_forced ? true : undefined,
    predicted_latency_ms: intake.predicted_latency_ms ?? undefined,
    callback_url: intake.callback_url ?? undefined,
  })
}

function readPrompt(prompt: PlacementRequest['prompt']): { topic: string | null; text: string | null } {
  if (prompt === undefined) return { topic: null, text: null }
  if (typeof prompt === 'string') return { topic: null, text: prompt }
  return { topic: prompt.topic ?? null, text: prompt.text ?? null }
}

/** Returns the topic of a context, which client libraries do not check: an empty one is absent, a long one is cut (C02). */
function topicOf(context: Context, topic: string | undefined): string | null {
  if (topic === undefined || topic === '') return null
  // In characters, as schemas count: half a surrogate pair would have no canonical JSON.
  const characters = [...topic]
  if (characters.length <= maxTopic) return topic
  addWarning(context, 'topic_cut')
  return characters.slice(0, maxTopic).join('')
}

/** Returns the URL that decisions are sent to: none with `strict`, as the API document has no callbacks (C07). */
function callbackOf({ strict }: Services, context: Context, url: string | null | undefined): string | null {
  if (url === undefined || url === null) return null
  if (!strict) return url
  addWarning(context, 'callback_ignored')
  return null
}

type SlotConfig = NonNullable<JobRequest['slot_config']>

function hintOf(config: SlotConfig | undefined): SlotHint {
  if (config === undefined) return {}
  return defined({ position: config.position_hint, max_width: config.max_width, max_height: config.max_height })
}

function overridesOf(body: Pick<JobRequest, 'slot_config' | 'brand_safety' | 'publisher'>): Overrides {
  return defined({
    allowed_formats: body.slot_config?.allowed_formats as Format[] | undefined,
    native_template_id: templateOf(body.slot_config?.native_template_id),
    bidfloors: body.slot_config?.bidfloors,
    bidfloor: body.slot_config?.bidfloor,
    bidfloor_currency: body.slot_config?.bidfloorcur,
    publisher: body.publisher,
    blocked_categories: body.brand_safety?.blocked_categories,
    blocked_domains: body.brand_safety?.blocked_domains,
  })
}

function templateOf(id: SlotConfig['native_template_id']): NativeTemplateId | undefined {
  return id === 'list-item' ? 'list_item' : id
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
