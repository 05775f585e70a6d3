import { z } from 'zod'
import { declareEndpoints, publicApi } from '../endpoint.ts'
import { ContractVersion } from '../fields.ts'
import { looseObject, strictObject } from '../objects.ts'
import { observed } from '../provenance.ts'
import { onBrowser, onWrapper } from './surface.ts'

/** What happens to a generation. */
export const generationEvents = ['started', 'finished', 'failed'] as const
export type GenerationEvent = (typeof generationEvents)[number]

const text = z.string().max(256)

const jobIdParam = observed(z.string(), 'C05', 'Job identifier, as returned by POST /v1/jobs.')

const fields = () => ({
  generation_id: observed(text.optional(), 'C05', "The integrator's identifier of the generation."),
  model_id: observed(text.optional(), 'C05', 'The model that generates.'),
  usage_json: observed(z.unknown().optional(), 'C05', 'Its usage; journalled.'),
  error: observed(z.unknown().optional(), 'C05', 'Why it failed; journalled.'),
})

export const GenerationReport = looseObject(fields)
export type GenerationReport = z.infer<typeof GenerationReport>

export const LegacyGenerationReport = looseObject(() => ({
  contract_version: observed(ContractVersion.optional(), 'C05', 'csl_wrapper_generation_event/v1.'),
  generation_event: observed(z.enum(generationEvents), 'C05', 'What happened.'),
  ...fields(),
}))
export type LegacyGenerationReport = z.infer<typeof LegacyGenerationReport>

export const GenerationAccepted = strictObject(() => ({ accepted: observed(z.literal(true), 'C05', 'Always true.') }))

const report = {
  method: 'POST',
  params: strictObject(() => ({ job_id: jobIdParam })),
  status: 200,
  response: GenerationAccepted,
} as const

const aliased = {
  ...report,
  description:
    'Records that a generation of a job started, finished or failed. Use POST /v1/jobs/{job_id}/generation/{event}.',
  body: LegacyGenerationReport,
  response_headers: ['deprecation', 'link'],
  errors: ['not_found', 'contract_version_unsupported'],
} as const

const successor = '/v1/jobs/{job_id}/generation/{event}'

export const endpoints = declareEndpoints({
  'generation.report': {
    ...publicApi,
    ...report,
    path: '/v1/jobs/{job_id}/generation/{event}',
    summary: 'Report that a generation started, finished or failed',
    description:
      'Records in the journal what happens to a generation of a job. The API document does not have it; clients that exist send it. Off with --strict.',
    stability: 'advanced',
    provenance: 'observed',
    params: strictObject(() => ({
      job_id: jobIdParam,
      event: observed(z.string(), 'C05', 'started, finished or failed; anything else is a 404.'),
    })),
    body: GenerationReport,
    errors: ['not_found'],
  },
  'wrapper.generation': {
    ...onWrapper(successor),
    ...aliased,
    path: '/public/wrapper/v1/jobs/{job_id}/generation',
    summary: 'Report a generation, as an old client of a server',
  },
  'browser.generation': {
    ...onBrowser(successor),
    ...aliased,
    path: '/public/browser/v1/jobs/{job_id}/generation',
    summary: 'Report a generation, as an old client of a browser',
  },
})
