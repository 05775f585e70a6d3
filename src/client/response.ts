import type { Endpoint } from '../contract/endpoint.ts'
import { ErrorBody } from '../contract/errors.ts'
import type { ResponseHeader } from '../contract/headers.ts'
import { parseJson } from '../foundation/json.ts'
import { retryAfterMs } from '../foundation/retry-after.ts'
import { ContractError, ServiceError } from './errors.ts'
import type { HttpRequest } from './request.ts'
import type { RawResponse } from './transport.ts'

/** The facts of a response beside its body. */
export interface ResponseMeta {
  /** HTTP status. */
  status: number
  /** Support identifier, from the x-request-id header. */
  request_id: string | null
  /** Warnings of the sandbox, such as `wait_ms_clamped`. */
  warnings: string[]
  /** What production would have billed for this beacon, as the sandbox states it. */
  would_bill: string | null
  /** Every slot of the job, if a placement request asked for several. */
  slot_ids: string[]
  /** Differences from the contract, with `validate: 'report'` only. */
  differences: string[]
}

/** Whether a response that differs from the contract is thrown (`true`), reported in the meta or not noticed. */
export type Validation = boolean | 'report'

/** Parses a response. Throws ServiceError, or ContractError when it is validated. */
export function parseResponse(
  endpoint: Endpoint,
  request: HttpRequest,
  response: RawResponse,
  validate: Validation,
): { data: unknown; meta: ResponseMeta } {
  if (!response.ok) throw serviceError(endpoint, request, response)
  const meta = readMeta(response)
  if ('media_type' in endpoint.response) return { data: response.text, meta }
  const json = parseJson(response.text)
  if (json === undefined) {
    throw new ContractError(endpoint.id, response.status, ['the body is not JSON'], meta.request_id)
  }
  if (validate === false) return { data: json, meta }
  const parsed = endpoint.response.safeParse(json)
  const differences = [
    ...(response.status === endpoint.status ? [] : [`status ${response.status} instead of ${endpoint.status}`]),
    ...(parsed.success
      ? []
      : parsed.error.issues.map((issue) => `${issue.path.join('.') || 'body'}: ${issue.message}`)),
  ]
  if (differences.length > 0 && validate === true) {
    throw new ContractError(endpoint.id, response.status, differences, meta.request_id)
  }
  return { data: parsed.success ? parsed.data : json, meta: { ...meta, differences } }
}

/** Returns the error of a response that is not a success. */
export function serviceError(endpoint: Endpoint, request: HttpRequest, response: RawResponse): ServiceError {
  const body = ErrorBody.safeParse(parseJson(response.text))
  return new ServiceError({
    method: request.method,
    path: endpoint.path,
    status: response.status,
    body: body.success ? body.data : null,
    text: response.text,
    retry_after_s: retryAfterSeconds(response),
    request_id: response.headers.get('x-request-id'),
  })
}

function readMeta({ status, headers }: RawResponse): ResponseMeta {
  const header = (name: ResponseHeader) => headers.get(name)
  return {
    status,
    request_id: header('x-request-id'),
    warnings: list(header('x-sandbox-warning')),
    would_bill: header('x-sandbox-would-bill'),
    slot_ids: list(header('x-sandbox-slot-ids')),
    differences: [],
  }
}

function list(header: string | null): string[] {
  return header === null
    ? []
    : header
        .split(',')
        .map((item) => item.trim())
        .filter((item) => item !== '')
}

/** Returns whole seconds. A date counts from the response's own Date header, so that no local clock is read. */
function retryAfterSeconds({ headers }: RawResponse): number | null {
  const wait_ms = retryAfterMs(headers.get('retry-after'), Date.parse(headers.get('date') ?? ''))
  return wait_ms === null ? null : Math.ceil(wait_ms / 1000)
}
