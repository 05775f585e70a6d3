import type { RequestDetail } from '#contract/resources/requests.ts'
import { isObject, type Json, parseJson } from '#foundation/json.ts'

export interface Difference {
  /** Dotted; numbers index arrays. Empty for the whole value. */
  path: string
  kind: 'added' | 'removed' | 'changed' | 'same'
  before?: Json
  after?: Json
}

/** Returns every value at the end of a path, of either side, in the order of the first and then of the second. */
export function differences(before: Json | undefined, after: Json | undefined, path = ''): Difference[] {
  if (before === undefined && after === undefined) return []
  const isSameShape = before === undefined || after === undefined || Array.isArray(before) === Array.isArray(after)
  const [left, right] = [listFields(before), listFields(after)]
  if (left !== null && right !== null && isSameShape && left.size + right.size > 0) {
    return [...new Set([...left.keys(), ...right.keys()])].flatMap((name) =>
      differences(left.get(name), right.get(name), path === '' ? name : `${path}.${name}`),
    )
  }
  if (before === undefined) return [{ path, kind: 'added', after: after! }]
  if (after === undefined) return [{ path, kind: 'removed', before }]
  return [{ path, kind: JSON.stringify(before) === JSON.stringify(after) ? 'same' : 'changed', before, after }]
}

/** Returns null for a value without fields; a missing value has none of any. */
function listFields(value: Json | undefined): ReadonlyMap<string, Json> | null {
  if (value === undefined) return new Map()
  if (Array.isArray(value)) return new Map(value.map((item, index) => [String(index), item]))
  return isObject(value) ? new Map(Object.entries(value)) : null
}

type ComparedEntry = Pick<
  RequestDetail,
  | 'method'
  | 'path'
  | 'status'
  | 'reason_code'
  | 'key'
  | 'request_headers'
  | 'request_body'
  | 'response_headers'
  | 'response_body'
>

export interface ComparedPart {
  title: string
  differences: Difference[]
}

/** Returns the parts of two entries side by side: summary, headers and bodies. Bodies that are not JSON are one text. */
export function compareEntries(before: ComparedEntry, after: ComparedEntry): ComparedPart[] {
  const parts: [title: string, of: (entry: ComparedEntry) => Json | undefined][] = [
    ['Summary', ({ method, path, status, reason_code, key }) => ({ method, path, status, reason_code, key })],
    ['Request headers', ({ request_headers }) => ({ ...request_headers })],
    ['Request body', ({ request_body }) => parseText(request_body)],
    ['Response headers', ({ response_headers }) => ({ ...response_headers })],
    ['Response body', ({ response_body }) => parseText(response_body)],
  ]
  return parts.map(([title, of]) => ({ title, differences: differences(of(before), of(after)) }))
}

function parseText(text: string | null): Json | undefined {
  if (text === null || text === '') return undefined
  return parseJson(text) ?? text
}
