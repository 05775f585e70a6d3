/**
 * A request of the journal as a suite that `svc qa run` accepts. Values that belong only to this sandbox become
 * variables: the session, the project, tokens, slots, times. A beacon, a poll or a frame gets the placement that it
 * refers to.
 */
import type { RequestDetail } from '#contract/resources/requests.ts'
import { pathPattern, withoutQuery } from '#foundation/http.ts'
import { isObject, type Json, type JsonObject, parseJson } from '#foundation/json.ts'
import type { ListedEndpoint } from '../../data/provenance.ts'

type SavedEntry = Pick<
  RequestDetail,
  'request_id' | 'method' | 'path' | 'status' | 'reason_code' | 'client_id' | 'key' | 'request_headers' | 'request_body'
>

/** An endpoint of the contract, as `GET /_sandbox/contract` lists it. */
type KnownEndpoint = Pick<ListedEndpoint, 'id' | 'method' | 'path'>

export interface QaSuite {
  suite: string
  title: string
  cases: { name: string; project?: string; variables?: JsonObject; steps: JsonObject[] }[]
}

/** The suite, and notes for its reader, one sentence each. */
interface SavedSuite {
  suite: QaSuite
  notes: string[]
}

/** Stands for a brace in texts that could otherwise be read as variables. */
const brace = '{{brace}}'
const fill = { placement: null, as: 'fill' }
const fillToken = '{{fill.body.placement.asset_token}}'
const fillSlot = '{{fill.body.slot_id}}'

/** Returns the suite of a journal entry: one case, which sends the request and expects the response's status or reason. */
export function suiteOfEntry(entry: SavedEntry, endpoints: readonly KnownEndpoint[]): SavedSuite {
  const notes: string[] = []
  const path = withoutQuery(entry.path)
  const endpoint = endpoints.find((each) => each.method === entry.method && pathPattern(each.path).test(path))
  const body = parseJson(entry.request_body ?? '')
  const needsFill = /ast_[0-9a-z]{11}_redacted|slot_[0-9a-hjkmnp-tv-z]{11}/.test(`${entry.path} ${entry.request_body}`)
  const credential = readCredential(entry, notes)
  const before: JsonObject[] = needsFill
    ? [{ ...fill }, ...(entry.path.startsWith('/v1/render/') ? [] : [{ frame: 'fill' }])]
    : credential.key === 'beacon'
      ? [{ ...fill }, { frame: 'fill' }]
      : []
  if (credential.key === 'activation') before.push({ activate: null, ...buildOrigin(credential) })
  const step = {
    ...buildRequest(entry, endpoint, body, notes),
    ...(credential.key === null ? {} : { key: credential.key }),
    ...buildOrigin(credential, entry.status),
    ...buildExpectation(entry, notes),
  }
  const name = escaped(`${entry.method} ${path} responds ${entry.status}`).slice(0, 200)
  const usesBrace = JSON.stringify(step).includes(brace) || name.includes(brace)
  return {
    suite: {
      suite: `request-${entry.request_id.replace(/[^a-z0-9]/g, '-')}`.slice(0, 64),
      title: `Saved from ${entry.request_id}`,
      cases: [
        {
          name,
          ...(entry.client_id === null ? {} : { project: entry.client_id }),
          ...(usesBrace ? { variables: { brace: '{' } } : {}),
          steps: [...before, step],
        },
      ],
    },
    notes,
  }
}

function buildRequest(
  entry: SavedEntry,
  endpoint: KnownEndpoint | undefined,
  body: Json | undefined,
  notes: string[],
): JsonObject {
  const { method, path, request_headers } = entry
  const type = request_headers['content-type'] ?? null
  const text = entry.request_body ?? ''
  const isJson = text === '' || body !== undefined
  const isPlain = type === null || /^application\/json\b/.test(type)
  const sent = body === undefined ? undefined : portable(body, [], entry, notes)
  const isReadable = isJson && isPlain
  if (endpoint !== undefined && isReadable) return buildCall(entry, endpoint, sent)
  const raw = isReadable ? (sent ?? null) : escaped(text)
  const content_type = text === '' ? null : type
  return {
    request: {
      method,
      path: tokensAsVariables(escaped(path)),
      ...(text !== '' && { body: raw }),
      ...((!isPlain || type === null) && { content_type }),
    },
  }
}

function buildCall(entry: SavedEntry, endpoint: KnownEndpoint, sent: Json | undefined): JsonObject {
  const { path } = entry
  const params = parseParams(endpoint.path, withoutQuery(path))
  const query = Object.fromEntries(
    [...new URLSearchParams(path.slice(withoutQuery(path).length))].map(([name, value]) => [
      escaped(name),
      portableText(value, entry),
    ]),
  )
  return {
    call: endpoint.id,
    ...(Object.keys(params).length === 0 ? {} : { params: mapValues(params, (text) => portableText(text, entry)) }),
    ...(Object.keys(query).length === 0 ? {} : { query }),
    ...(sent === undefined ? {} : { body: sent }),
  }
}

function parseParams(template: string, path: string): Record<string, string> {
  const { groups = {} } = pathPattern(template).exec(path) ?? {}
  return mapValues(groups, decoded)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Returns a copy of the body for any sandbox. Prompt text is left out, since the journal has none. */
function portable(value: Json, path: readonly string[], entry: SavedEntry, notes: string[]): Json {
  const name = path.at(-1)
  if (path.length === 1 && name === 'occurred_at_ms' && typeof value === 'number') return '{{now_ms}}'
  if (path.length === 1 && name === 'beacon_id' && typeof value === 'string') return '{{beacon_id}}'
  if (path.length === 1 && name === 'session_id' && typeof value === 'string') return '{{session}}'
  if (typeof value === 'string') return portableText(value, entry)
  if (Array.isArray(value)) {
    return value.map((item, index) => portable(item, [...path, String(index)], entry, notes))
  }
  if (!isObject(value)) return value
  const fields = Object.entries(value).flatMap(([field, inner]) => {
    if (typeof inner === 'string' && /^\[removed\b/.test(inner)) {
      notes.push(`${[...path, field].join('.')} is left out: the journal does not store it.`)
      return []
    }
    return [[escaped(field), portable(inner, [...path, field], entry, notes)] as const]
  })
  return Object.fromEntries(fields)
}

function portableText(text: string, { client_id }: SavedEntry): string {
  return text === client_id ? '{{client_id}}' : tokensAsVariables(escaped(text))
}

function tokensAsVariables(text: string): string {
  return text
    .replace(/ast_[0-9a-z]{11}_redacted/g, fillToken)
    .replace(/\bslot_[0-9a-hjkmnp-tv-z]{11}\b/g, fillSlot)
    .replace(/\bpk_(?:test|live)_redacted/g, '{{publishable_key}}')
}

/** Returns a text that the suite sends unchanged. */
function escaped(text: string): string {
  return text.replaceAll('{{', `${brace}{`)
}

interface Credential {
  key: string | null
  origin: string | null
}

function readCredential({ key, request_headers }: SavedEntry, notes: string[]): Credential {
  const { authorization, origin = null } = request_headers
  if (key === 'sk_test') return { key: null, origin }
  if (key === 'sk_live') return { key: 'live', origin }
  if (key === 'at') return { key: 'activation', origin }
  if (key === 'bt') return { key: 'beacon', origin }
  if (authorization === undefined) return { key: 'none', origin }
  notes.push('The credential was refused and is not stored: the suite sends an unknown key.')
  return { key: 'sk_test_unknown', origin }
}

/** An origin that was allowed here becomes an origin that the project allows. */
function buildOrigin({ key, origin }: Credential, status = 200): JsonObject {
  if (key === 'activation' || key === 'beacon') return { origin: '{{origin}}' }
  if (origin !== null && status < 400) return { origin: '{{origin}}' }
  return origin === null ? {} : { origin: escaped(origin) }
}

function buildExpectation({ status, reason_code }: SavedEntry, notes: string[]): JsonObject {
  if (status === 0) {
    notes.push('A fault rule prevented the response, so the suite expects none.')
    return {}
  }
  if (reason_code === 'injected_fault') notes.push('A fault rule made this response: add a fault step before it.')
  return { expect: { status, ...(reason_code === null ? {} : { reason: reason_code }) } }
}

function mapValues(record: Readonly<Record<string, string>>, map: (text: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]))
}

/** Returns the text of a suite file, with its notes as comments. */
export async function suiteText({ suite, notes }: SavedSuite): Promise<string> {
  const { stringify } = await import('yaml')
  const comments = notes.map((note) => `# ${note.replace(/\s+/g, ' ')}\n`).join('')
  return comments + stringify(suite, { lineWidth: 120 })
}
