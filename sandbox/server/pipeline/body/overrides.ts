/** The end of step 11 for a start with overrides: the response becomes that of the recorded service. */
import { applyOverrides } from '#contract/recordings/overrides.ts'
import { parseJson } from '#foundation/json.ts'
import type { Services } from '#operations/context.ts'
import { isApi, type PipelineResponse, type Request, sourceHeader } from '../exchange.ts'

/**
 * Returns a complete response with the rules of its endpoint applied; the same one where there are none, or no JSON. What a
 * recording responds is what the service said already.
 */
export function applyServiceOverrides(
  { overrides, player }: Services,
  request: Request,
  response: PipelineResponse,
): PipelineResponse {
  if (player !== null && isApi(request)) response.headers[sourceHeader] ??= 'emulator'
  if (overrides === null || response.headers[sourceHeader] === 'recording') return response
  const rules = overrides.find(request.method, request.path)
  const json = rules === null || typeof response.body !== 'string' ? undefined : parseJson(response.body)
  if (rules === null || json === undefined) return response
  const { status, body } = applyOverrides(rules, { status: response.status, body: json })
  return { ...response, status, body: JSON.stringify(body) }
}
