/** What every answer must be, however bad the question: no failure of ours, and JSON that fits the contract. */
import type { Endpoint } from '../../src/contract/endpoint.ts'
import { ErrorBody, errorCodes, reasonCodes } from '../../src/contract/errors.ts'

export interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: string
}

/** What is wrong with an answer, or null. `endpoint` is null where the question may not have reached the one it names. */
export function problemOf(answer: Answer, endpoint: Endpoint | null): string | null {
  const { status, headers, body } = answer
  if (status >= 500) return `${status}: ${body.slice(0, 300)}`
  if (status < 200) return `${status} is not an answer`
  if (!String(headers['content-type'] ?? '').startsWith('application/json') || body === '') return null
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    return `${status} says it is JSON and is not: ${body.slice(0, 300)}`
  }
  if (status >= 400) return errorProblem(answer, value)
  if (endpoint === null || !('safeParse' in endpoint.response)) return null
  const parsed = endpoint.response.safeParse(value)
  return parsed.success
    ? null
    : `${status} breaks the contract of ${endpoint.id}: ${parsed.error.message.slice(0, 500)}`
}

function errorProblem({ status, headers, body }: Answer, value: unknown): string | null {
  const parsed = ErrorBody.safeParse(value)
  if (!parsed.success) return `${status} is not an error body: ${body.slice(0, 300)}`
  const { error, reason_code, request_id } = parsed.data
  if (errorCodes[error].status !== status) return `${error} came with status ${status}`
  if (reasonCodes[reason_code].error !== error) return `${reason_code} came as ${error}`
  if (headers['x-request-id'] !== request_id) return `request_id ${request_id} is not ${headers['x-request-id']}`
  return null
}
