/** What every response must be, however bad the request: no failure of ours, and JSON that fits the contract. */
import type { Endpoint } from '#contract/endpoint.ts'
import { ErrorBody, errorCodes, reasonCodes } from '#contract/errors.ts'

export interface Response {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: string
}

/** Returns what is wrong with a response, or null. `endpoint` is null where the request may have reached another. */
export function findProblem(response: Response, endpoint: Endpoint | null): string | null {
  const { status, headers, body } = response
  if (status >= 500) return `${status}: ${body.slice(0, 300)}`
  if (status < 200) return `${status} is not a final response`
  if (!String(headers['content-type'] ?? '').startsWith('application/json') || body === '') return null
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    return `${status} says it is JSON and is not: ${body.slice(0, 300)}`
  }
  if (status >= 400) return errorProblem(response, value)
  if (endpoint === null || !('safeParse' in endpoint.response)) return null
  const parsed = endpoint.response.safeParse(value)
  return parsed.success
    ? null
    : `${status} breaks the contract of ${endpoint.id}: ${parsed.error.message.slice(0, 500)}`
}

function errorProblem({ status, headers, body }: Response, value: unknown): string | null {
  const parsed = ErrorBody.safeParse(value)
  if (!parsed.success) return `${status} is not an error body: ${body.slice(0, 300)}`
  const { error, reason_code, request_id } = parsed.data
  if (errorCodes[error].status !== status) return `${error} came with status ${status}`
  if (reasonCodes[reason_code].error !== error) return `${reason_code} came as ${error}`
  if (headers['x-request-id'] !== request_id) return `request_id ${request_id} is not ${headers['x-request-id']}`
  return null
}
