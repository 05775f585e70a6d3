/**
 * Turns the requests of a recording into requests to another service: identifiers and tokens that the recorded service
 * gave out become those that the other one gives out, times move to the present, and credentials are the other's own. The
 * role of a field says which text is which.
 */

import type { PermittedKey } from '#client/permitted-key.ts'
import { limits } from '#contract/limits.ts'
import { findRole } from '#contract/recordings/field-roles.ts'
import type { RecordedExchange } from '#contract/recordings/recording.ts'
import { mapJson } from '#foundation/json/walk.ts'
import { isObject, type Json, valueAt } from '#foundation/json.ts'
import type { HttpRequest } from '../run/http-client.ts'
import { endpoints } from './findings.ts'
import { explainUnsendable, isNaming, type Known, readRecordedJson } from './sendable.ts'

/** What is sent to the other service in place of what was recorded. */
export interface OwnValues {
  base_url: string
  client_id: string
  secret_key: PermittedKey
  publishable_key: string | null
  /** An origin that its project allows. */
  origin: string | null
  /** Begins the sessions and beacons of the comparison. */
  prefix: string
}

/** The other service at the moment of a request. */
interface Present {
  /** By its clock, Unix epoch milliseconds. */
  now_ms: number
  /** The newest activation token that it gave out; null without one. */
  activation_token: string | null
}

/** A request to send, or why it cannot be sent, in words that follow `not compared:`. */
type MappedRequest = { request: HttpRequest } | { why_not: string }

interface RequestMapping {
  map(exchange: RecordedExchange, present: Present): MappedRequest
  /** Learns from the other service's response what it gave out in place of what was recorded. */
  learn(exchange: RecordedExchange, response: LearnedResponse): void
}

interface LearnedResponse {
  json: Json | undefined
  headers: Readonly<Record<string, string>>
  /** When it came, by the clock of the other service. */
  now_ms: number
}

export function createRequestMapping(own: OwnValues, exchanges: readonly RecordedExchange[]): RequestMapping {
  const projects = listProjects(exchanges)
  const known: Known = { texts: new Map(), withheld: new Set(), times: new Map(), projects, created: 0 }
  return {
    map(exchange, present) {
      const why_not = explainUnsendable(exchange, own.publishable_key !== null, known)
      if (why_not !== null) return { why_not }
      const { method, request_body } = exchange
      const body = request_body === null ? null : mapBody(request_body, toBodyMapping(exchange, own, known, present))
      const headers = mapHeaders(exchange, own, known, present)
      return {
        request: {
          method,
          url: own.base_url + mapPath(exchange, own, known),
          headers,
          body: body === null || typeof body === 'string' ? body : JSON.stringify(body),
        },
      }
    },
    learn(exchange, { json, headers, now_ms }) {
      const recorded_ms = readRecordedTime(exchange) + exchange.duration_ms
      for (const [text, other] of pairTexts('', readRecordedJson(exchange), json)) {
        if (other === null) known.withheld.add(text)
        else known.texts.set(text, other)
        known.times.set(text, { recorded_ms, now_ms })
      }
      const { etag } = exchange.response_headers
      if (etag !== undefined && headers.etag !== undefined) known.texts.set(etag, headers.etag)
    },
  }
}

/** Returns the projects that the recorded service knew: those of requests that it accepted. */
function listProjects(exchanges: readonly RecordedExchange[]): Set<string> {
  const accepted = exchanges.filter(({ status }) => status < 400)
  const named = accepted.flatMap(({ params, request_body }) =>
    isObject(request_body)
      ? [params.client_id, request_body.client_id, valueAt(request_body, 'context.client_id')]
      : [params.client_id],
  )
  return new Set(named.filter((text) => typeof text === 'string'))
}

/* Bodies and paths. */

interface BodyMapping {
  own: OwnValues
  known: Known
  /** Whether the recorded service did not know the credential. */
  wasRefused: boolean
  /** Moves a time of the recording to the present, Unix epoch milliseconds. */
  move(time_ms: number): number
}

/** Fields that name a project. */
const projectFields: ReadonlySet<string> = new Set(['client_id', 'project_id'])
/** Identifiers that clients create. */
const clientFields: ReadonlySet<string> = new Set(['session_id', 'chat_session_id', 'beacon_id', 'render_instance_id'])

function mapBody(body: Json, mapping: BodyMapping): Json {
  return mapJson(body, (value, { name }) => {
    if (findRole(name) === 'time') return moveTime(value, mapping)
    if (typeof value !== 'string') return value
    if (name === 'publishable_key') return mapPublishableKey(value, mapping)
    return isNaming(name) ? mapText(name, value, mapping) : value
  })
}

/** A key that is none was refused for its form, and stays. */
function mapPublishableKey(value: string, { own, wasRefused }: BodyMapping): Json {
  const kind = /^(pk_(?:test|live))_redacted$/.exec(value)?.[1]
  if (kind === undefined) return value
  return wasRefused ? `${kind}_${unknownKey}` : own.publishable_key
}

function moveTime(value: Json, { move }: BodyMapping): Json {
  if (typeof value === 'number') return move(value)
  const time_ms = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(time_ms) ? value : new Date(move(time_ms)).toISOString()
}

function mapText(name: string, text: string, { own, known }: Pick<BodyMapping, 'own' | 'known'>): string {
  const found = known.texts.get(text)
  if (found !== undefined) return found
  if (projectFields.has(name)) return known.projects.has(text) ? own.client_id : text
  if (!clientFields.has(name)) return text
  const created = `${own.prefix}${++known.created}`
  known.texts.set(text, created)
  return created
}

function toBodyMapping(exchange: RecordedExchange, own: OwnValues, known: Known, { now_ms }: Present): BodyMapping {
  const { request_body, status } = exchange
  const token = isObject(request_body) ? known.times.get(String(request_body.asset_token)) : undefined
  const recorded_ms = readRecordedTime(exchange)
  return {
    own,
    known,
    wasRefused: status === 401,
    // What took place after its token was given out still does, and as long after it, however much faster the requests are
    // sent now: a view of a second takes one.
    move(time_ms) {
      const since_recorded_ms = Math.round(time_ms - recorded_ms)
      if (token === undefined || time_ms < token.recorded_ms - clockTolerance_ms) return now_ms + since_recorded_ms
      const kept_ms = token.now_ms + Math.max(0, Math.round(time_ms - token.recorded_ms))
      return Math.min(kept_ms, now_ms + Math.max(maxAhead_ms, since_recorded_ms))
    },
  }
}

/** How far ahead of its service a beacon is sent, milliseconds: services allow a minute. */
const maxAhead_ms = limits.beacon_max_future_skew_ms - 10_000

/** Clocks of pages and services differ, and a Date header has whole seconds. */
const clockTolerance_ms = 2_000

/** Returns when a request was recorded by the clock of its service, which decided what was too early and too late. */
function readRecordedTime({ at_ms, response_headers }: RecordedExchange): number {
  const date_ms = Date.parse(response_headers.date ?? '')
  return Math.abs(date_ms - at_ms) > clockTolerance_ms ? date_ms : at_ms
}

function mapPath({ path, params }: RecordedExchange, own: OwnValues, known: Known): string {
  return Object.entries(params).reduce((target, [name, text]) => {
    const decoded = decodeText(text)
    const mapped = isNaming(name) ? mapText(name, decoded, { own, known }) : decoded
    return mapped === decoded ? target : target.replace(text, () => encodeURIComponent(mapped))
  }, path)
}

function decodeText(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/* Headers. */

/** Headers that decide about the response; all others belong to the client of the recording. */
const sentHeaders = ['accept', 'content-type', 'x-csl-wrapper-version', 'range'] as const
/** Well-formed keys that no service knows, in place of a key that was refused. */
const unknownKey = 'unknown'.padEnd(32, 'x')

function mapHeaders(
  exchange: RecordedExchange,
  own: OwnValues,
  known: Known,
  present: Present,
): Record<string, string> {
  const { request_headers, status, request_body } = exchange
  const { origin, 'if-none-match': tag } = request_headers
  const kept = sentHeaders.flatMap((name) => {
    const value = request_headers[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  const credential = mapCredential(exchange, own, present)
  return {
    ...(request_body !== null && { 'content-type': 'application/json' }),
    ...Object.fromEntries(kept),
    ...(origin !== undefined && { origin: status < 400 ? (own.origin ?? origin) : origin }),
    ...(tag !== undefined && { 'if-none-match': known.texts.get(tag) ?? tag }),
    ...(credential !== null && { authorization: credential }),
  }
}

/**
 * Returns the credential of a request: the other service's own of the same kind. Browsers leave it out of the files that
 * they export, so a request that needs one and was accepted gets one.
 */
function mapCredential(exchange: RecordedExchange, own: OwnValues, { activation_token }: Present): string | null {
  const { endpoint, request_headers, status } = exchange
  const { authorization, origin } = request_headers
  const isNeeded = endpoint !== null && endpoints[endpoint].credentials.length > 0
  if (authorization === undefined) {
    if (!isNeeded || status === 401) return null
    return `Bearer ${origin === undefined ? own.secret_key : (activation_token ?? own.secret_key)}`
  }
  const kind = /^Bearer (sk_test|sk_live|pk_test|pk_live|at|bt|ast)_/.exec(authorization)?.[1]
  if (kind === undefined) return authorization
  if (kind.startsWith('sk')) return `Bearer ${status === 401 ? `${kind}_${unknownKey}` : own.secret_key}`
  if (kind.startsWith('pk')) return `Bearer ${own.publishable_key ?? `${kind}_${unknownKey}`}`
  return kind === 'at' && status !== 401 && activation_token !== null ? `Bearer ${activation_token}` : authorization
}

/** Yields the naming texts of a recorded value, each with what is in its place in another value. */
function* pairTexts(
  name: string,
  recorded: Json | undefined,
  other: Json | undefined,
): Generator<[string, string | null]> {
  if (typeof recorded === 'string') {
    if (isNaming(name)) yield [recorded, typeof other === 'string' ? other : null]
  } else if (Array.isArray(recorded)) {
    for (const [index, item] of recorded.entries())
      yield* pairTexts(name, item, Array.isArray(other) ? other[index] : undefined)
  } else if (isObject(recorded)) {
    for (const [key, field] of Object.entries(recorded))
      yield* pairTexts(key, field, isObject(other) ? other[key] : undefined)
  }
}
