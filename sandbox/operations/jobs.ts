/** Creating jobs: the one way in for POST /v1/placements and both branches of POST /v1/jobs. */

import { ApiError } from '../../src/contract/errors.ts'
import type { AuthoritativeConsent } from '../../src/contract/fields.ts'
import { encodeId } from '../../src/contract/ids.ts'
import type { Contract } from '../../src/contract/index.ts'
import {
  type BrowserJobRequest,
  isBrowserBranch,
  type JobRequest,
  variantFieldNames,
} from '../../src/contract/v1/jobs.ts'
import { resolveConsent } from '../domain/consent.ts'
import { capsOf, decideJobSlot, decisionEvidence, drawLatency } from '../runtime/deciding.ts'
import { armPending } from '../runtime/pending-decisions.ts'
import type { JobRow, NewSlot } from '../store/store.ts'
import { consentEvidence } from './consent-evidence.ts'
import { type Caller, type Context, callerOf, type Operation, type Services } from './context.ts'
import { checkIntake, factsOf, intakeOfBrowserJob, intakeOfJob, type JobIntake } from './job-intake.ts'

/** How often a job is tried again when the consent or the caps of its session change under it. */
const attempts = 32

export const createJob: Operation<Contract['jobs.create']> = async (services, context, { body }) => {
  const caller = callerOf(context)
  const browser = isBrowserBranch(body) ? (body as BrowserJobRequest) : null
  if (browser !== null && !browser.contract_version.endsWith('/v1')) throw new ApiError('contract_version_unsupported')
  const intake = browser === null ? intakeOfJob(body as JobRequest) : intakeOfBrowserJob(browser)
  if (intake.client_id === null) {
    if (browser === null && !hasVariantField(body as JobRequest)) {
      throw new ApiError('schema_invalid', {
        fields: [{ path: 'client_id', message: 'is missing', expected: 'a project ID, such as proj_demo' }],
      })
    }
    if (caller.credential === 'secret_key') context.warnings.push('client_id_from_key')
  }
  const { job, slots } = await openJob(services, context, intake)
  const path = '/v1/decisions/{slot_id}'
  return {
    ...(browser === null ? {} : { contract_version: acceptedVersion(browser.contract_version) }),
    job_id: encodeId('job', job.id),
    slot_ids: slots.map((slot) => encodeId('slot', slot.id)),
    status: 'accepted',
    poll_path_template: path,
    expires_at: new Date(latestExpiry(caller, slots)).toISOString(),
    decision_delivery:
      browser === null
        ? { mode: 'polling', poll_path_template: path }
        : { mode: 'polling', decision_path_template: path },
    request_id: context.request_id,
  }
}

/** Creates a job and decides its slots, or leaves them pending for as long as decisions take. */
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
  context.subject.session_id = intake.session_id
  for (let attempt = 0; attempt < attempts; attempt++) {
    const opened = await tryToOpen(services, context, caller, intake)
    if (opened !== null) return opened
  }
  throw new Error('the consent or the caps of this session change faster than a job can be created')
}

async function tryToOpen(services: Services, context: Context, caller: Caller, intake: JobIntake) {
  const { store, platform, markets } = services
  const { project } = caller
  const { now_ms } = context
  const stored = intake.session_id === null ? null : await store.latestConsent(project.id, intake.session_id)
  const resolved = resolveConsent(project.settings.consent, intake.consent, stored, now_ms)
  if (resolved.status === 'required') throw new ApiError('consent_required')
  const { snapshot, draft } = resolved

  const mayProcess = snapshot.lifecycle_state === 'granted' && snapshot.purposes.prompt_shared
  if (intake.text !== null && !mayProcess) addWarning(context, 'prompt_text_discarded')
  const text = mayProcess ? intake.text : null
  const topic = text === null ? intake.topic : (markets.deriveRisk(text) ?? intake.topic ?? markets.deriveTopic(text))
  const facts = factsOf(intake, project.settings, topic, mayProcess)

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
    const decision = latency_ms > 0 ? null : await decideJobSlot(services, project, job, id, snapshot, now_ms, fills)
    const evidence = decision === null ? null : decisionEvidence(services, project, job, id, decision)
    slots.push({ id, due_at_ms: now_ms + latency_ms, decision, evidence })
  }
  const write =
    draft === null || intake.session_id === null
      ? null
      : {
          id: draft.renews && stored !== null ? stored.id : platform.newId(),
          project_id: project.id,
          session_id: intake.session_id,
          draft,
          expected_revision: stored?.revision ?? 0,
        }
  const created = await store.createJob(
    job,
    slots,
    write === null ? null : { ...write, evidence: consentEvidence(project, write) },
    capsOf(job, now_ms),
  )
  if (!created) return null
  context.subject.slot_id = slots[0]!.id
  for (const slot of slots) if (slot.decision === null) armPending(services, slot.id, slot.due_at_ms)
  return { job, slots, consent: snapshot }
}

function addWarning(context: Context, warning: string): void {
  if (!context.warnings.includes(warning)) context.warnings.push(warning)
}

function hasVariantField(body: JobRequest): boolean {
  return variantFieldNames.some((name) => body[name] !== undefined)
}

/** `csl_wrapper_ingress_create/v1` is answered as `csl_wrapper_ingress_accepted/v1`; other families as they came. */
function acceptedVersion(contract_version: string): string {
  return contract_version.replace(/_create\/v1$/, '_accepted/v1')
}

function latestExpiry(caller: Caller, slots: readonly NewSlot[]): number {
  return Math.max(...slots.map((slot) => slot.due_at_ms)) + caller.project.settings.decision_ttl_ms
}
