/** The end of step 11 for a start with overrides: the response becomes that of the recorded service. */
import { applyOverrides, type Overrides } from '#contract/recordings/overrides.ts'
import { parseJson } from '#foundation/json.ts'
import { type PipelineResponse, type Request, sourceHeader } from '../exchange.ts'

/**
 * Returns the response with the rules of its endpoint applied; the same one where there are none, or no JSON. What a
 * recording responds is what the service said already.
 */
export function overrideResponse(
  overrides: Overrides,
  { method, path }: Request,
  response: PipelineResponse,
): PipelineResponse {
  const isRecorded = response.headers[sourceHeader] === 'recording'
  const rules = isRecorded ? null : overrides.find(method, path)
  const json = rules === null || typeof response.body !== 'string' ? undefined : parseJson(response.body)
  if (rules === null || json === undefined) return response
  const { status, body } = applyOverrides(rules, { status: response.status, body: json })
  return { ...response, status, body: JSON.stringify(body) }
}
