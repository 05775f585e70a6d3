/** Whether a journalled request meets what a match asks for, condition by condition. */
import type { FailedCondition, RequestItem, RequestMatch } from '../../src/contract/control/requests.ts'

/** A journalled request with what a match may look into. */
export interface MatchedRequest {
  item: RequestItem
  headers: Readonly<Record<string, string>>
  body: string | null
}

/** The conditions of a match; its spans already instants. */
export type Conditions = Omit<RequestMatch, 'since' | 'until'> & { since_ms?: number; until_ms?: number }

type Scalar = FailedCondition['actual']

export interface Judgement {
  met: number
  failed: FailedCondition[]
}

/** Judges every condition, in the order in which they are told. */
export function judgeRequest(conditions: Conditions, request: MatchedRequest): Judgement {
  const { item } = request
  const failed: FailedCondition[] = []
  let met = 0
  const check = (condition: string, expected: Scalar | undefined, actual: Scalar, isMet: boolean) => {
    if (expected === undefined) return
    if (isMet) met++
    else failed.push({ condition, expected, actual })
  }
  const equal = (condition: string, expected: Scalar | undefined, actual: Scalar) =>
    check(condition, expected, actual, expected === actual)

  equal('method', conditions.method?.toUpperCase(), item.method)
  check('path', conditions.path, item.path, pathMatches(conditions.path ?? '', item.path))
  equal('status', conditions.status, item.status)
  equal('status_class', conditions.status_class, `${Math.floor(item.status / 100)}xx`)
  equal('reason', conditions.reason, item.reason_code)
  const key = conditions.key?.startsWith('key_') ? item.key_id : item.key
  equal('key', conditions.key, key)
  equal('client_id', conditions.client_id, item.client_id)
  equal('session_id', conditions.session_id, item.session_id)
  check('since', conditions.since_ms, item.at_ms, item.at_ms >= (conditions.since_ms ?? 0))
  check('until', conditions.until_ms, item.at_ms, item.at_ms <= (conditions.until_ms ?? 0))
  for (const [name, expected] of Object.entries(conditions.headers ?? {})) {
    equal(`headers.${name.toLowerCase()}`, expected, request.headers[name.toLowerCase()] ?? null)
  }
  const members = Object.entries(conditions.body ?? {})
  const body = members.length === 0 ? undefined : readJson(request.body)
  for (const [path, expected] of members) {
    const actual = memberAt(body, path)
    check(`body.${path}`, expected, toScalar(actual), actual === expected)
  }
  return { met, failed }
}

/** A path begins with the pattern; with a `*` in it, the pattern stands for the whole path. */
export function pathMatches(pattern: string, path: string): boolean {
  if (!pattern.includes('*')) return path.startsWith(pattern)
  const parts = pattern.split('*')
  const first = parts.shift()!
  const last = parts.pop()!
  if (!path.startsWith(first) || path.length < first.length + last.length || !path.endsWith(last)) return false
  const end = path.length - last.length
  let at = first.length
  for (const part of parts) {
    const found = path.indexOf(part, at)
    if (found === -1 || found + part.length > end) return false
    at = found + part.length
  }
  return true
}

/** The member at a dotted path; numbers index arrays. undefined where there is none. */
function memberAt(value: unknown, path: string): unknown {
  let member = value
  for (const name of path.split('.')) {
    if (typeof member !== 'object' || member === null || !Object.hasOwn(member, name)) return undefined
    member = (member as Record<string, unknown>)[name]
  }
  return member
}

/** What is told of a member that is not as expected: objects and arrays as JSON text. */
function toScalar(value: unknown): Scalar {
  if (value === undefined || value === null) return null
  return typeof value === 'object' ? JSON.stringify(value).slice(0, 200) : (value as Scalar)
}

function readJson(text: string | null): unknown {
  try {
    return JSON.parse(text ?? 'null')
  } catch {
    return undefined
  }
}
