/** Compares a journaled request with the conditions of a match. */
import type { FailedCondition, RequestItem, RequestMatch } from '#contract/resources/requests.ts'
import { pathMatches } from '#domain/faults.ts'
import { parseJson, valueAt } from '#foundation/json.ts'
import { redactSecrets } from '#foundation/redaction.ts'

/** The parts of a journaled request that a match can test. */
export interface MatchedRequest {
  item: RequestItem
  headers: Readonly<Record<string, string>>
  body: string | null
}

/** The conditions of a match, with spans already turned into timestamps. */
export type Conditions = Omit<RequestMatch, 'since' | 'until'> & { since_ms?: number; until_ms?: number }

type Scalar = FailedCondition['actual']

interface MatchResult {
  met: number
  failed: FailedCondition[]
}

/** Tests every condition, in the order that failures are reported. */
export function matchRequest(conditions: Conditions, request: MatchedRequest): MatchResult {
  const { item } = request
  const failed: FailedCondition[] = []
  let met = 0
  const check = (condition: string, expected: Scalar | undefined, actual: Scalar, isMet: boolean) => {
    if (expected === undefined) return
    if (isMet) met++
    else failed.push({ condition, expected: typeof expected === 'string' ? redactSecrets(expected) : expected, actual })
  }
  const equal = (condition: string, expected: Scalar | undefined, actual: Scalar) =>
    check(condition, expected, actual, expected === actual)

  equal('method', conditions.method, item.method)
  check('path', conditions.path, item.path, pathMatches(conditions.path ?? '', item.path))
  equal('status', conditions.status, item.status)
  equal('status_class', conditions.status_class, `${Math.floor(item.status / 100)}xx`)
  equal('reason', conditions.reason, item.reason_code)
  equal('key', conditions.key, conditions.key?.startsWith('key_') ? item.key_id : item.key)
  equal('client_id', conditions.client_id, item.client_id)
  equal('session_id', conditions.session_id, item.session_id)
  equal('trace_id', conditions.trace_id, item.trace_id ?? null)
  check('since', conditions.since_ms, item.at_ms, item.at_ms >= (conditions.since_ms ?? 0))
  check('until', conditions.until_ms, item.at_ms, item.at_ms <= (conditions.until_ms ?? 0))
  for (const [name, expected] of Object.entries(conditions.headers ?? {})) {
    equal(`headers.${name.toLowerCase()}`, expected, request.headers[name.toLowerCase()] ?? null)
  }
  const fields = Object.entries(conditions.body ?? {})
  const body: unknown = fields.length === 0 ? undefined : parseJson(request.body ?? 'null')
  for (const [path, expected] of fields) {
    const actual = valueAt(body, path)
    check(`body.${path}`, expected, toScalar(actual), actual === expected)
  }
  return { met, failed }
}

/** The reported form of a value that differs: objects and arrays as JSON text. */
function toScalar(value: unknown): Scalar {
  if (value === undefined || value === null) return null
  return typeof value === 'object' ? JSON.stringify(value).slice(0, 200) : (value as Scalar)
}
