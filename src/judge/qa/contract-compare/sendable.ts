/** Which requests of a recording can be sent to another service. */
import { findRole } from '#contract/recordings/field-roles.ts'
import type { RecordedExchange } from '#contract/recordings/recording.ts'
import { walkJson } from '#foundation/json/walk.ts'
import { type Json, parseJson, valueAt } from '#foundation/json.ts'
import { endpoints } from './findings.ts'

/** What the other service has given out so far. */
export interface Known {
  /** Its text in place of a recorded one. */
  texts: Map<string, string>
  /** Recorded texts that it has given nothing for: it did not fill. */
  withheld: Set<string>
  /** When a text was given out, in the recording and by the other service. */
  times: Map<string, { recorded_ms: number; now_ms: number }>
  /** The projects of the recording. */
  projects: ReadonlySet<string>
  /** Identifiers that stand for those of clients. */
  created: number
}

/**
 * Returns why a request cannot be sent, in words that follow `not compared:`; null when it can.
 * @param hasPublishableKey whether the other service can be asked for an activation
 */
export function explainUnsendable(exchange: RecordedExchange, hasPublishableKey: boolean, known: Known): string | null {
  const { endpoint, status } = exchange
  if (endpoint === null) return 'a file of the service'
  if (status === 101) return 'a WebSocket'
  if (status === 429) return 'meeting a rate limit would disturb others'
  if (endpoint === 'browser.activate' && !hasPublishableKey) return 'no publishable key: --publishable-key'
  if (/expired/.test(String(valueAt(readRecordedJson(exchange), 'reason_code')))) {
    return 'it needs the time that passes before something expires'
  }
  return explainMissing(exchange, known)
}

/** Returns what a request needs that the other service has not given out, or the recording does not have. */
function explainMissing({ endpoint, method, status, params, request_body }: RecordedExchange, known: Known) {
  const texts = [...Object.values(params), ...listTexts(request_body)]
  if (texts.some((text) => known.withheld.has(text))) return 'the other side did not fill its placement'
  if (JSON.stringify(request_body).includes('"callback_url":')) {
    return 'its callback would reach the server of the recording'
  }
  if (status >= 400) return null
  if (texts.some((text) => isRedacted(text) && !known.texts.has(text))) return 'its placement is not in the recording'
  const hasBody = endpoint !== null && 'body' in endpoints[endpoint] && method !== 'GET'
  return hasBody && request_body === null ? 'the recording has no body of its request' : null
}

function isRedacted(text: string): boolean {
  return /^[a-z]+_[\w-]+_redacted$/.test(text)
}

/** Returns the texts of a body that name something. */
function listTexts(body: Json): string[] {
  return [...walkJson(body)].flatMap(({ value, name }) =>
    typeof value === 'string' && isNaming(name) && name !== 'publishable_key' ? [value] : [],
  )
}

export function isNaming(name: string): boolean {
  const role = findRole(name)
  return role === 'identifier' || role === 'token'
}

/** Returns the JSON of a recorded response; undefined where it is none. */
export function readRecordedJson({ response_body }: RecordedExchange): Json | undefined {
  return response_body !== null && 'text' in response_body ? parseJson(response_body.text) : undefined
}
