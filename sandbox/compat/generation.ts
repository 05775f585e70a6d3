/** Generation events: checked against their job and kept in the journal (C05). */
import { generationEvents } from '../../src/contract/compat/generation.ts'
import { ApiError } from '../../src/contract/errors.ts'
import { decodeId } from '../../src/contract/ids.ts'
import type { Contract } from '../../src/contract/index.ts'
import { type Context, callerOf, type Operation, type Services } from '../operations/context.ts'

export const reportGeneration: Operation<Contract['generation.report']> = async (services, context, { params }) => {
  if (!(generationEvents as readonly string[]).includes(params.event)) {
    throw new ApiError('not_found', {
      message: 'There is no such generation event.',
      hint: `Report one of ${generationEvents.join(', ')}.`,
    })
  }
  return recordGeneration(services, context, params.job_id)
}

export const reportLegacyGeneration: Operation<Contract['wrapper.generation']> = async (
  services,
  context,
  { params, body },
) => {
  if (body.contract_version?.endsWith('/v1') === false) throw new ApiError('contract_version_unsupported')
  const accepted = await recordGeneration(services, context, params.job_id)
  context.headers.link = `</v1/jobs/${params.job_id}/generation/${body.generation_event}>; rel="successor-version"`
  return accepted
}

/** @throws ApiError 404 for a job that is unknown, of another project or of the other mode */
async function recordGeneration(services: Services, context: Context, job_id: string) {
  const caller = callerOf(context)
  const id = decodeId('job', job_id)
  const job = id === null ? null : await services.store.findJob(id)
  if (job === null || job.project_id !== caller.project.id || job.mode !== caller.mode) {
    throw new ApiError('not_found', {
      message: 'There is no such job for this project and mode.',
      hint: 'Use a job_id of this project, with a key of the same mode (test or live) that created it.',
    })
  }
  context.subject.session_id = job.session_id
  return { accepted: true as const }
}
