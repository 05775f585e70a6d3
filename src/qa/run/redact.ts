/** Nothing that opens a door may stand in a result: keys and tokens are replaced by what they are. */
import { isObject } from '../expect/paths.ts'
import type { JsonValue } from '../json.ts'

/** A text with its secrets replaced. */
export type Redact = (text: string) => string

const longest = 65_536
const tokens = /(ast|at|bt)_([0-9a-z]{11})_[A-Za-z0-9_-]{8,}/g
const keys = /(sk|pk)_(test|live)_[A-Za-z0-9_-]+/g

/** For people: `Bearer sk_test_redacted`. */
export const redact: Redact = (text) => text.replace(tokens, '$1_$2_redacted').replace(keys, '$1_$2_redacted')

export function redactValue(value: JsonValue): JsonValue {
  if (typeof value === 'string') return redact(value)
  if (Array.isArray(value)) return value.map(redactValue)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, redactValue(member)]))
}

/** For a shell: `Bearer $SVC_SECRET_KEY`, with the names of the variables. */
export function toVariables(text: string): string {
  return text
    .replace(tokens, (_, kind: string) => `$${tokenVariables[kind]}`)
    .replace(keys, (_, kind: string, mode: string) =>
      kind === 'pk' ? '$SVC_PUBLISHABLE_KEY' : mode === 'live' ? '$SVC_LIVE_SECRET_KEY' : '$SVC_SECRET_KEY',
    )
}

const tokenVariables: Readonly<Record<string, string>> = {
  ast: 'ASSET_TOKEN',
  at: 'ACTIVATION_TOKEN',
  bt: 'BEACON_TOKEN',
}

/** Every variable that `toVariables` may put in. */
export const shellVariables = [
  '$SVC_SECRET_KEY',
  '$SVC_LIVE_SECRET_KEY',
  '$SVC_PUBLISHABLE_KEY',
  ...Object.values(tokenVariables).map((name) => `$${name}`),
]

/** A body as it is kept: redacted, and not longer than a report can bear. */
export function keptBody(text: string): string {
  return redact(text.length > longest ? `${text.slice(0, longest)}... [cut: ${text.length} characters]` : text)
}
