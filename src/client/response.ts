import type { Endpoint } from '../contract/endpoint.ts'
import { ErrorBody } from '../contract/errors.ts'
import type { ResponseHeader } from '../contract/headers.ts'
import { ContractError, ServiceError } from './errors.ts'
import type { HttpRequest } from './request.ts'
import type { FetchResponse } from './transport.ts'

/** What an answer carries beside its body. */
export interface ResponseMeta {
  /** HTTP status. */
  status: number
  /** Support identifier, of the x-request-id header. */
  request_id: string | null
  /** Warnings of the sandbox, such as `wait_ms_clamped`. */
  warnings: string[]
  /** What production would have billed for this beacon, in the sandbox's words. */
  would_bill: string | null
  /** Every slot of the job, where a placement request asked for several. */
  slot_ids: string[]
  /** How the answer differs from the contract; filled with `validate: 'report'` only. */
  differences: string[]
}

/** An answer read to its end. */
export interface Exchange {
  status: number
  ok: boolean
  text: string
  headers: FetchResponse['headers']
}

/** `true`: an answer off the contract is thrown; `'report'`: told in the meta; `false`: not looked at. */
export type Validation = boolean | 'report'

/** Parses an answer. Throws ServiceError, or ContractError when it is validated. */
export function parseResponse(
  endpoint: Endpoint,
  request: HttpRequest,
  answer: Exchange,
  validate: Validation,
): { data: unknown; meta: ResponseMeta } {
  if (!answer.ok) throw serviceError(endpoint, request, answer)
  const meta = readMeta(answer)
  if ('media_type' in endpoint.response) return { data: answer.text, meta }
  const json = parseJson(answer.text)
  if (json === undefined) {
    throw new ContractError(endpoint.id, answer.status, ['the body is not JSON'], meta.request_id)
  }
  if (validate === false) return { data: json, meta }
  const parsed = endpoint.response.safeParse(json)
  const differences = [
    ...(answer.status === endpoint.status ? [] : [`status ${answer.status} instead of ${endpoint.status}`]),
    ...(parsed.success
      ? []
      : parsed.error.issues.map((issue) => `${issue.path.join('.') || 'body'}: ${issue.message}`)),
  ]
  if (differences.length > 0 && validate === true) {
    throw new ContractError(endpoint.id, answer.status, differences, meta.request_id)
  }
  return { data: parsed.success ? parsed.data : json, meta: { ...meta, differences } }
}

/** The error of an answer that is not a success. */
export function serviceError(endpoint: Endpoint, request: HttpRequest, answer: Exchange): ServiceError {
  const body = ErrorBody.safeParse(parseJson(answer.text))
  return new ServiceError({
    method: request.method,
    path: endpoint.path,
    status: answer.status,
    body: body.success ? body.data : null,
    text: answer.text,
    retry_after_s: retryAfter(answer.headers.get('retry-after'), answer.headers.get('date')),
    request_id: answer.headers.get('x-request-id'),
  })
}

function readMeta({ status, headers }: Exchange): ResponseMeta {
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

/** Seconds; a date counts from the answer's own Date header, so that no local clock is asked. */
function retryAfter(header: string | null, date: string | null): number | null {
  if (header === null) return null
  if (/^\d+$/.test(header)) return Number(header)
  const seconds = (Date.parse(header) - Date.parse(date ?? '')) / 1000
  return Number.isNaN(seconds) ? null : Math.max(0, Math.ceil(seconds))
}

/** undefined when the text is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
