/**
 * Creates jobs with their slots. Prompt text ends here: it is read with consent or discarded, never stored.
 */

import { ApiError } from '#contract/errors.ts'
import { type AuthoritativeConsent, isIabCategory, type Overrides } from '#contract/fields.ts'
import { encodeId } from '#contract/ids.ts'
import type { Contract } from '#contract/index.ts'
import { type BrowserJobRequest, isBrowserBranch, type JobRequest } from '#contract/resources/jobs.ts'
import { type DeliveryMode, variantFieldNames } from '#contract/variant-fields.ts'
import { type ConsentResolution, mayProcessPrompt, resolveConsent } from '#domain/consent.ts'
import { hasUsdRate } from '#domain/currencies.ts'
import { nearestName } from '#foundation/nearest-name.ts'
import { asksBidders } from '#runtime/bidders/bidders.ts'
import { listCampaignCaps, listCaps } from '#runtime/caps.ts'
import { auctionLatency, decideJobSlot, decisionEvidence, drawLatency } from '#runtime/decisions.ts'
import { describeDecision, type RequestTrace, storeTrace } from '#runtime/traces/request-trace.ts'
import type { JobRow, NewSlot } from '#store/store.ts'
import { acceptCallback } from './callbacks.ts'
import { consentWrite } from './consent.ts'
import { addWarning, type Caller, type Context, type Operation, requireCaller, type Services } from './context.ts'
import {
  checkIntake,
  type JobIntake,
  readBrowserIntake,
  readFloors,
  readJobIntake,
  storedFields,
} from './job-intake.ts'

/** Attempts to create a job while its session changes its consent or reaches its caps. */
const attempts = 32

const decisionPath = '/v1/decisions/{slot_id}'

export const createJob: Operation<Contract['jobs.create']> = async (services, context, { body }) => {
  const caller = requireCaller(context)
  const browser = isBrowserBranch(body) ? (body as BrowserJobRequest) : null
  if (browser !== null && !browser.contract_version.endsWith('/v1')) throw new ApiError('contract_version_unsupported')
  const intake =
    browser === null
      ? readJobIntake(services, context, body as JobRequest)
      : readBrowserIntake(services, context, browser)
  if (intake.client_id === null) {
    const mayOmit = !services.strict && (hasVariantField(body as JobRequest) || context.is_old_client)
    if (browser === null && !mayOmit) {
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
  requested: JobIntake,
): Promise<{ job: JobRow; slots: NewSlot[]; consent: AuthoritativeConsent }> {
  const caller = requireCaller(context)
  const intake = applyForce(services, caller, requested)
  const { project } = caller
  if (intake.client_id !== null && intake.client_id !== project.client_id) throw new ApiError('project_mismatch')
  checkIntake(intake, project.settings)
  if (intake.test_forced && (caller.mode !== 'test' || caller.credential !== 'secret_key')) {
    throw new ApiError('test_outcome_requires_test_key')
  }
  checkForced(services, context, caller, intake.overrides)
  if (intake.callback_url !== null) {
    await acceptCallback(services, context, intake.callback_url, intake.fieldPath('callback_url'))
  }
  context.subject.session_id = intake.session_id
  warnOfCategories(context, intake.overrides)
  warnOfCurrency(context, intake.overrides)
  for (let attempt = 0; attempt < attempts; attempt++) {
    const opened = await tryToOpen(services, context, caller, intake)
    if (opened !== null) return opened
  }
  throw new Error('the consent or the caps of this session change faster than a job can be created')
}

/** A scenario that forces a campaign is an override of every request that has none of its own. */
function applyForce({ scenarios }: Services, { mode }: Caller, intake: JobIntake): JobIntake {
  const { force_campaign_id } = scenarios.changesFor(mode)
  if (force_campaign_id === undefined) return intake
  return { ...intake, overrides: { force_campaign_id, ...intake.overrides } }
}

/** Only test traffic can force a campaign, and only one that there is (A107). @throws ApiError 400, 403 */
function checkForced(
  { markets }: Services,
  context: Context,
  { mode }: Caller,
  { force_campaign_id }: Overrides,
): void {
  if (force_campaign_id === undefined) return
  if (mode !== 'test')
    throw new ApiError('test_outcome_requires_test_key', {
      message: 'overrides.force_campaign_id needs a key of test mode.',
      hint: 'Use a key that begins with sk_test_ or pk_test_, and never send it in production.',
    })
  if (!markets.current.positions.has(force_campaign_id)) {
    const near = nearestName(force_campaign_id, [...markets.current.positions.keys()])
    const expected = near === null ? 'a campaign_id of GET /_sandbox/creatives' : `a campaign, such as ${near}`
    const message = 'names no campaign of this sandbox'
    throw new ApiError('schema_invalid', { fields: [{ path: 'overrides.force_campaign_id', message, expected }] })
  }
  addWarning(context, 'campaign_forced')
}

/** A category that the IAB does not have blocks nothing (C02). */
function warnOfCategories(context: Context, { blocked_categories, publisher }: Overrides): void {
  const isKnown = (categories: readonly string[] | undefined) => categories?.every(isIabCategory) ?? true
  if (!isKnown(blocked_categories) || !isKnown(publisher?.categories)) addWarning(context, 'category_unknown')
}

/** A floor in a currency without a rate counts as USD (A39). */
function warnOfCurrency(context: Context, overrides: Overrides): void {
  const { bidfloor_currency = 'USD' } = overrides
  if (readFloors(overrides) !== undefined && !hasUsdRate(bidfloor_currency))
    addWarning(context, 'currency_without_rate')
}

async function tryToOpen(services: Services, context: Context, caller: Caller, intake: JobIntake) {
  const { store, platform } = services
  const { project } = caller
  const { now_ms } = context
  const latest = intake.session_id === null ? null : store.findLatestConsent(project.id, intake.session_id)
  const stored = latest instanceof Promise ? await latest : latest
  const resolved = withPlayedConsent(context, resolveConsent(project.settings.consent, intake.consent, stored, now_ms))
  if (resolved.isMissing && intake.needsConsent) throw new ApiError('consent_required')
  if (resolved.keepsPurposes) addWarning(context, 'consent_purposes_kept')
  if (resolved.overturns) addWarning(context, 'consent_overturned')
  const { snapshot, draft } = resolved

  const started = performance.now()
  const facts = readFacts(services, context, intake, snapshot)
  if (context.trace !== null) Object.assign(facts, storeTrace(services.tracing, context.trace))
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
  const terms = { caller, consent: snapshot, played: context.played }
  const slots = await decideSlots(services, job, intake.slots_requested, terms)
  const write =
    draft === null || intake.session_id === null
      ? null
      : consentWrite(services, project, intake.session_id, { draft, stored })
  const decisions = slots.map(({ decision }) => decision)
  const caps =
    context.played === null ? [...listCaps(job, now_ms), ...listCampaignCaps(services, job, decisions, now_ms)] : []
  const created = await store.createJob(job, slots, write, caps)
  if (!created) return null
  context.subject.slot_id = slots[0]!.id
  for (const { decision } of slots) services.metrics.countSlot(decision)
  if (context.trace !== null) noteDecisions(context.trace, slots, started)
  followSlots(services, facts, slots)
  return { job, slots, consent: snapshot }
}

/**
 * Returns the consent of a request, decided as the service has decided it where the request is in the place of a recorded
 * one: the service may have had a consent that was not recorded.
 */
function withPlayedConsent({ played }: Context, resolved: ConsentResolution): ConsentResolution {
  const consent = played?.decisions.find((decision) => decision !== null)?.consent ?? null
  if (consent === null) return resolved
  const { isGranted, ...purposes } = consent
  const { snapshot, draft } = resolved
  const lifecycle_state = isGranted ? 'granted' : snapshot.lifecycle_state
  return {
    ...resolved,
    isMissing: false,
    snapshot: { ...snapshot, lifecycle_state, purposes },
    draft: draft === null ? null : { ...draft, ...purposes, state: isGranted ? 'granted' : draft.state },
  }
}

/** Returns the stored fields of a job. Prompt text is read only with consent. */
function readFacts(services: Services, context: Context, intake: JobIntake, snapshot: AuthoritativeConsent) {
  const mayProcess = mayProcessPrompt(snapshot)
  if (intake.text !== null && !mayProcess) addWarning(context, 'prompt_text_discarded')
  const text = mayProcess ? intake.text : null
  const risk = text === null ? null : services.markets.deriveRisk(text)
  const derived = risk ?? (text === null || intake.topic !== null ? null : services.markets.deriveTopic(text))
  return storedFields(intake, requireCaller(context).project.settings, derived, mayProcess)
}

/** Decides each slot that has no latency, by the fills before it. */
async function decideSlots(
  services: Services,
  job: JobRow,
  count: number,
  { caller, consent, played }: { caller: Caller; consent: AuthoritativeConsent; played: Context['played'] },
): Promise<NewSlot[]> {
  const { project, mode } = caller
  const now_ms = job.created_at_ms
  const slots: NewSlot[] = []
  for (let index = 0; index < count; index++) {
    const id = services.platform.newId()
    const recorded = played?.decisions[index] ?? null
    const latency_ms =
      recorded === null ? drawLatency(services, project, mode) + auctionLatency(services, { project, job }, consent) : 0
    const fills = slots.flatMap(({ decision }) =>
      decision?.outcome.status === 'filled' ? [decision.outcome.campaign_id] : [],
    )
    const slot = { project, job, slot_id: id }
    const terms = { consent, now_ms, fills_before: fills, recorded }
    const isLater = latency_ms > 0 || (recorded === null && asksBidders(services, slot, consent))
    const decided = isLater ? null : decideJobSlot(services, slot, terms)
    const decision = decided instanceof Promise ? await decided : decided
    const evidence = decision === null ? null : decisionEvidence(services, slot, decision)
    slots.push({ id, due_at_ms: now_ms + latency_ms, decision, evidence })
  }
  return slots
}

/** Notes each decision as a span within its request, and how many are still to be made. */
function noteDecisions({ steps, attributes }: RequestTrace, slots: readonly NewSlot[], started: number): void {
  const ended = performance.now()
  for (const { id, decision } of slots) {
    const slot_id = encodeId('slot', id)
    if (decision === null) attributes['svc.decision.outcome'] = 'pending'
    else {
      const described = { 'svc.slot_id': slot_id, ...describeDecision(decision) }
      steps.push({ name: 'decision', started, ended, attributes: described })
    }
  }
}

/** Schedules the pending slots, and delivers the decided ones to the callback URL. */
function followSlots(
  { callbacks, pendingDecisions }: Services,
  { callback_url }: JobRow['facts'],
  slots: readonly NewSlot[],
) {
  for (const slot of slots) {
    if (slot.decision === null) {
      if (callback_url !== undefined) callbacks.expect(slot.id)
      pendingDecisions.schedule(slot.id, slot.due_at_ms)
    } else if (callback_url !== undefined) callbacks.deliver(slot.id)
  }
}
