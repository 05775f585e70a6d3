/** The secrets of a whole exchange: learnt before any part of it is kept, and replaced in its path and its headers. */
import { type Json, parseJson } from '#foundation/json.ts'
import { compat, v1 } from '../index.ts'
import { collectFromHeaders } from './credential-headers.ts'
import type { SecretMemory } from './secret-memory.ts'
import {
  collectFromParameters,
  collectFromProseHeaders,
  learnDocument,
  learnForm,
  learnRequest,
  learnResponse,
  learnUnknown,
} from './secret-sources.ts'

/** An exchange, decoded and not yet redacted. */
interface Exchange {
  /** Names and values in turn. */
  request_headers: readonly string[]
  /** As the file has them. */
  kept_headers: Readonly<Record<string, string>>
  /** Names and values in turn. */
  response_headers: readonly string[]
  /** Of its path. */
  params: Readonly<Record<string, string>>
  search: string
  /** Empty without a body. */
  sent: string
  /** Whether the contract knows all fields of what was sent. */
  isKnown: boolean
  /** `json` is undefined for what is none, or only in parts. */
  received: { text: string; isJson: boolean; json: Json | undefined } | null
  /** Whether it is a file or a script: what looks like a token in one is code. */
  isFile: boolean
}

/** Learns every secret of an exchange: the request can have one that only the response gives away. */
export function learnExchange(memory: SecretMemory, exchange: Exchange): void {
  const { request_headers, kept_headers, response_headers, params, search, sent, isKnown, received, isFile } = exchange
  const named = toHeaderRecord(request_headers)
  collectFromHeaders(memory, request_headers)
  collectFromHeaders(memory, response_headers)
  collectFromProseHeaders(memory, named, kept_headers)
  collectFromParameters(memory, params, search)
  // A body of another type than JSON is not kept. A response can repeat its parameters.
  learnForm(memory, named['content-type'] ?? '', sent)
  const sent_json = parseJson(sent)
  if (sent_json !== undefined) (isKnown ? learnRequest : learnUnknown)(memory, sent_json)
  if (received === null) return
  if (received.json !== undefined) learnResponse(memory, received.json)
  if (!isFile) learnDocument(memory, received.text, received.isJson)
}

/** Returns headers by their names in lower case; repeated ones are joined as HTTP joins them. @param raw names and values in turn */
export function toHeaderRecord(raw: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = Object.create(null)
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index]!.toLowerCase()
    const value = raw[index + 1]!
    headers[name] = name in headers ? `${headers[name]}${name === 'cookie' ? '; ' : ', '}${value}` : value
  }
  return headers
}

/** Returns headers without what was learnt. */
export function replaceInHeaders(memory: SecretMemory, headers: Record<string, string>): Record<string, string> {
  return Object.assign(Object.create(null), parseJson(memory.replace(JSON.stringify(headers))))
}

/** What the paths of endpoints have beside their parameters. */
const fixedSegments = new Set(
  [...Object.values(v1), ...Object.values(compat)].flatMap(({ path }) => path.match(/\/[\w.-]+(?=\/|$)/g) ?? []),
)

/** Returns a path without what was learnt. What endpoints have in theirs stays. */
export function replaceInPath(memory: SecretMemory, path: string): string {
  const at = path.search(/\?|$/)
  let kept = ''
  let others = ''
  for (const segment of path.slice(0, at).match(/\/[^/]*|^[^/]+/g) ?? []) {
    if (!fixedSegments.has(segment)) others += segment
    else {
      kept += memory.replace(others) + segment
      others = ''
    }
  }
  return kept + memory.replace(others + path.slice(at))
}
