import { declareEndpoints } from '../endpoint.ts'
import { endpoints as jobs } from '../v1/jobs.ts'
import { onWrapper } from './surface.ts'

const { method, body, branch, misplaced, response, response_headers, errors } = jobs['jobs.create']

export const endpoints = declareEndpoints({
  'wrapper.job': {
    ...onWrapper('/v1/jobs'),
    method,
    path: '/public/wrapper/v1/jobs',
    summary: 'Create a job, as an old client of a server',
    description: 'The same as POST /v1/jobs, which replaces it.',
    body,
    branch,
    misplaced,
    status: 201,
    response,
    response_headers: [...response_headers, 'deprecation', 'link'],
    errors,
  },
})
