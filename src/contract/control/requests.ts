import { z } from 'zod'
import { endpoint, reading } from '../endpoint.ts'
import { reasonCode } from '../errors.ts'
import { EpochMs } from '../fields.ts'
import { assumed } from '../provenance.ts'
import { page, pageQuery, Since } from './paging.ts'

const item = {
  request_id: assumed(z.string(), 'A93', 'Equal to the x-request-id header of the answer.'),
  at_ms: assumed(EpochMs, 'A93', 'When it arrived.'),
  method: assumed(z.string(), 'A93', 'HTTP method.'),
  path: assumed(z.string(), 'A93', 'Path and query, tokens redacted.'),
  status: assumed(z.int(), 'A93', 'HTTP status of the answer.'),
  reason_code: assumed(reasonCode.nullable(), 'A12', 'Cause of a failure.'),
  duration_ms: assumed(z.number(), 'A93', 'From the whole request to the answer, milliseconds.'),
  client_id: assumed(z.string().nullable(), 'A93', 'Project of the credential.'),
  session_id: assumed(z.string().nullable(), 'A93', 'Session, where the body named one.'),
  slot_id: assumed(z.string().nullable(), 'A93', 'Slot that the answer is about.'),
}

export const RequestItem = z.strictObject(item)
export type RequestItem = z.infer<typeof RequestItem>

export const RequestDetail = z.strictObject({
  ...item,
  request_headers: assumed(z.record(z.string(), z.string()), 'A93', 'Credentials redacted.'),
  request_body: assumed(z.string().nullable(), 'A50', 'As received, without prompt text; asset tokens redacted.'),
  response_headers: assumed(z.record(z.string(), z.string()), 'A93', 'Headers of the answer.'),
  response_body: assumed(z.string().nullable(), 'A93', 'As sent; tokens redacted.'),
})
export type RequestDetail = z.infer<typeof RequestDetail>

export const listRequests = endpoint({
  ...reading,
  id: 'requests.list',
  path: '/_sandbox/requests',
  summary: 'List the request journal',
  description: 'Every exchange of the v1 API, newest first. The journal is bounded; info tells how far.',
  query: z.strictObject({
    ...pageQuery,
    method: assumed(z.string().max(10).optional(), 'A93', 'Only this method.'),
    path: assumed(z.string().max(256).optional(), 'A93', 'Only paths that begin with this.'),
    status: assumed(z.coerce.number<number>().pipe(z.int().min(100).max(599)).optional(), 'A93', 'Only this status.'),
    reason: assumed(reasonCode.optional(), 'A93', 'Only this cause.'),
    session_id: assumed(z.string().optional(), 'A93', 'Only this session.'),
    since: assumed(Since.optional(), 'A93', 'Only requests since.'),
  }),
  response: page(RequestItem),
  errors: ['schema_invalid', 'field_unknown', 'origin_refused', 'internal_error'],
})

export const getRequest = endpoint({
  ...reading,
  id: 'requests.show',
  path: '/_sandbox/requests/{request_id}',
  summary: 'Show one exchange',
  description: 'Headers and bodies of both sides, with credentials, tokens and prompt text redacted.',
  params: z.strictObject({ request_id: assumed(z.string(), 'A93', 'Identifier of the request.') }),
  query: z.strictObject({}),
  response: RequestDetail,
  errors: ['not_found', 'origin_refused', 'internal_error'],
})
