/**
 * A recording as sequences to play. An exchange belongs to a sequence by three things: its endpoint, the form of its request,
 * and its scope. The scope is the thing that the request names, such as a slot by its identifier or its token, if an earlier
 * response gave it out; else the session; else nothing. So the second poll of a slot is played as the second poll of the slot
 * in its place, whatever else happens in between.
 */
import type { Endpoint } from '#contract/endpoint.ts'
import { compat, v1 } from '#contract/index.ts'
import type { RecordedExchange, RecordedId, Recording } from '#contract/recordings/recording.ts'
import { isObject, type Json, parseJson } from '#foundation/json.ts'
import { listFields } from './fields.ts'
import { type CampaignNames, createRecordedCampaigns, type RecordedCampaigns } from './recorded-campaigns.ts'
import { findExcess, type RecordedDecision, readDecision } from './recorded-outcomes.ts'
import { type ComparedRequest, comparedFields, findSession, formText, namedThings } from './request-form.ts'

/** An exchange that can be played. */
export interface ScriptedExchange extends RecordedExchange {
  endpoint: RecordedId
  /** The path of its endpoint, with parameters in braces. */
  template: string
  request: ComparedRequest
  /** What its request is compared by, by path. */
  fields: ReadonlyMap<string, string>
  session: string | null
  /** The response as JSON; null for a failure with another body. */
  json: Json | null
  /** The slots that the response names, in order. */
  slot_ids: readonly string[]
}

export type Scope = { kind: 'thing' | 'session'; name: string } | { kind: 'none' }

/** What was decided about a slot, with the campaign of its fill. */
export type ScriptedDecision = RecordedDecision & { names: CampaignNames | null }

export interface Script {
  exchanges: readonly ScriptedExchange[]
  /** In the order of their first exchange. */
  sessions: readonly string[]
  /** The thing behind each identifier and token that a response gave out: a token of a slot stands for the slot. */
  things: ReadonlyMap<string, string>
  /** By recorded slot_id. */
  decisions: ReadonlyMap<string, ScriptedDecision>
  campaigns: RecordedCampaigns
  /** Successes of the API without a JSON body: nothing can be played of them. */
  without_body: number
  /** Fills with a number that cannot be stored, each as `entry 4: width`. */
  too_large: readonly string[]
  /** Returns the exchanges of a sequence, in their order. */
  sequence(endpoint: RecordedId, scope: Scope, form: string): readonly ScriptedExchange[]
}

const endpoints: Readonly<Record<RecordedId, Endpoint>> = { ...v1, ...compat }

export function createScript({ exchanges: recorded }: Pick<Recording, 'exchanges'>): Script {
  const candidates = recorded.flatMap((exchange) => (isPlayable(exchange) ? [toScripted(exchange)] : []))
  const complete = candidates.filter(({ status, json }) => status >= 400 || json !== null)
  const too_large = complete.flatMap((exchange) => describeExcess(exchange) ?? [])
  const exchanges = complete.filter((exchange) => describeExcess(exchange) === null)
  const things = findThings(exchanges)
  const sequences = new Map<string, ScriptedExchange[]>()
  for (const exchange of exchanges) {
    const key = sequenceKey(exchange.endpoint, findScope(exchange, things), formText(exchange.fields))
    const sequence = sequences.get(key)
    if (sequence === undefined) sequences.set(key, [exchange])
    else sequence.push(exchange)
  }
  const campaigns = createRecordedCampaigns()
  return {
    exchanges,
    sessions: [...new Set(exchanges.flatMap(({ session }) => session ?? []))],
    things,
    decisions: findDecisions(exchanges, campaigns),
    campaigns,
    without_body: candidates.length - complete.length,
    too_large,
    sequence: (endpoint, scope, form) => sequences.get(sequenceKey(endpoint, scope, form)) ?? [],
  }
}

type Playable = RecordedExchange & { endpoint: RecordedId }

/** Endpoints with a JSON response. A 304 is about a copy that the client of that time had. */
function isPlayable(exchange: RecordedExchange): exchange is Playable {
  const { endpoint, status } = exchange
  if (endpoint === null || status < 200 || (status >= 300 && status < 400)) return false
  return endpoints[endpoint].status !== 101 && !('media_type' in endpoints[endpoint].response)
}

function toScripted(exchange: Playable): ScriptedExchange {
  const { endpoint, params, query, request_body, response_body } = exchange
  const request = { endpoint, params, query, body: request_body }
  const text = response_body !== null && 'text' in response_body ? response_body.text : ''
  const json = parseJson(text) ?? null
  return {
    ...exchange,
    template: endpoints[endpoint].path,
    request,
    fields: comparedFields(request),
    session: findSession(request),
    json,
    slot_ids: listSlots(json, exchange.response_headers),
  }
}

function describeExcess({ entry, json }: ScriptedExchange): string | null {
  const decision = readDecision(json)
  const field = decision === null ? null : findExcess(decision)
  return field === null ? null : `entry ${entry + 1}: ${field}`
}

/** Returns the slots of a response: one, those of a job, or those that a header lists beside the first. */
export function listSlots(body: Json | null, headers: Readonly<Record<string, string>>): string[] {
  if (!isObject(body)) return []
  if (Array.isArray(body.slot_ids)) return body.slot_ids.filter((id) => typeof id === 'string')
  if (typeof body.slot_id !== 'string') return []
  const others = (headers['x-sandbox-slot-ids'] ?? '').split(', ').filter((id) => id !== '' && id !== body.slot_id)
  return [body.slot_id, ...others]
}

function findThings(exchanges: readonly ScriptedExchange[]): Map<string, string> {
  const things = new Map<string, string>()
  for (const { json, slot_ids } of exchanges) {
    const slot = isObject(json) && typeof json.slot_id === 'string' ? json.slot_id : null
    for (const id of slot_ids) things.set(id, id)
    for (const { role, value, path } of listFields(json)) {
      if (typeof value !== 'string' || things.has(value)) continue
      if (role === 'token') things.set(value, slot ?? value)
      else if (isGivenOut(path)) things.set(value, value)
    }
  }
  return things
}

/** Identifiers of responses that later requests name. Others, such as that of the project, are of the client. */
function isGivenOut(path: string): boolean {
  return /(?:^|\.)(?:slot_id|job_id)$/.test(path)
}

function findScope(
  { request, session }: Pick<ScriptedExchange, 'request' | 'session'>,
  things: ReadonlyMap<string, string>,
): Scope {
  for (const name of namedThings(request)) {
    const thing = things.get(name)
    if (thing !== undefined) return { kind: 'thing', name: thing }
  }
  return session === null ? { kind: 'none' } : { kind: 'session', name: session }
}

function sequenceKey(endpoint: RecordedId, scope: Scope, form: string): string {
  return JSON.stringify([endpoint, scope.kind === 'none' ? [] : [scope.kind, scope.name], form])
}

/** The first decision of each slot: later ones repeat it, or say that it has expired. */
function findDecisions(
  exchanges: readonly ScriptedExchange[],
  campaigns: RecordedCampaigns,
): Map<string, ScriptedDecision> {
  const decisions = new Map<string, ScriptedDecision>()
  for (const { json, slot_ids } of exchanges) {
    const [slot] = slot_ids
    if (slot === undefined || decisions.has(slot)) continue
    const decision = readDecision(json)
    if (decision === null) continue
    const { outcome } = decision
    decisions.set(slot, { ...decision, names: outcome.status === 'filled' ? campaigns.add(outcome) : null })
  }
  return decisions
}
