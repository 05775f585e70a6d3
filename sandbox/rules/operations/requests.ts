/** The request journal: listed, searched by a match, shown, and replayed. */

import { type Endpoint, oldClientHeader, type Parsed } from '#contract/endpoint.ts'
import { ApiError } from '#contract/errors.ts'
import { decodeId, encodeId } from '#contract/ids.ts'
import { type Contract, compat } from '#contract/index.ts'
import { isJournaled } from '#contract/own-requests.ts'
import type { ListedRequest, NearMiss, RequestDetail, RequestItem, RequestMatch } from '#contract/resources/requests.ts'
import { pathPattern, withoutQuery } from '#foundation/http.ts'
import { yieldToEventLoop } from '#runtime/event-loop.ts'
import { restoreRequest } from '#runtime/replay.ts'
import type { ExchangeFilter, ExchangeRow, ExchangeSummary } from '#store/store.ts'
import {
  defined,
  encodeCursor,
  type Operation,
  parsePage,
  parseSinceFilter,
  projectFilter,
  type Services,
} from './context.ts'
import { type Conditions, type MatchedRequest, matchRequest } from './request-match.ts'

/** Exchanges whose bodies are read at a time, and in one call, so a call does not delay other requests. */
const chunk = 250
const maxPerCall = 1_000
const maxCompared = 1_000
const defaultNearest = 3
const maxForeign = 100

export const listRequests: Operation<Contract['requests.list']> = async (services, { now_ms }, { query }) => {
  if (query.foreign === 'true') return listForeign(services, now_ms, query)
  const after = query.after === undefined ? undefined : (decodeId('req', query.after) ?? undefined)
  const filter = { ...parsePage(query), ...(await buildFilter(services, query, now_ms)), ...defined({ after }) }
  if (query.details === 'true') {
    const limit = Math.min(filter.limit, chunk)
    const { rows, next } = await services.store.readExchanges({ ...filter, limit })
    return {
      items: await Promise.all(rows.map((row) => requestDetail(services, row))),
      next_cursor: encodeCursor(next),
    }
  }
  const { rows, next } = await services.store.listExchanges(filter)
  return { items: await requestItems(services, rows), next_cursor: encodeCursor(next) }
}

/** The few requests of foreign pages are in memory: one page has all that match. */
async function listForeign(
  services: Services,
  now_ms: number,
  query: Parsed<Contract['requests.list']>['query'],
): Promise<{ items: ListedRequest[]; next_cursor: null }> {
  const { limit = maxForeign, after = '', details, cursor: _cursor, foreign: _foreign, ...match } = query
  const conditions = buildConditions(match, now_ms)
  const items: ListedRequest[] = []
  for (const row of services.store.foreignExchanges()) {
    const request = await matchedRequest(services, row)
    if (request.item.request_id <= after || items.length === limit) break
    if (matchRequest(conditions, request).failed.length > 0) continue
    items.push(details === 'true' ? await requestDetail(services, row) : request.item)
  }
  return { items, next_cursor: null }
}

export const getRequest: Operation<Contract['requests.show']> = async (services, _context, { params }) => {
  return requestDetail(services, await findExchange(services, params.request_id))
}

/** @throws ApiError 404 for a request that is not in the journal */
async function findExchange({ store }: Services, request_id: string): Promise<ExchangeRow> {
  const id = decodeId('req', request_id)
  const row = id === null ? null : await store.findExchange(id)
  if (row !== null) return row
  throw new ApiError('not_found', {
    message: 'No such request in the journal.',
    hint: 'The journal is bounded and drops its oldest requests. svc sandbox status shows how many it keeps.',
  })
}

export const findRequests: Operation<Contract['requests.find']> = async (services, { now_ms }, { body }) => {
  const { limit, cursor, ...match } = body
  const page = parsePage({ limit, cursor })
  const filter = await buildFilter(services, match, now_ms)
  if (!needsContents(match)) {
    const { rows, next } = await services.store.listExchanges({ ...page, ...filter })
    return { items: await requestItems(services, rows), next_cursor: encodeCursor(next) }
  }
  const found = await matchesWithin(services, match, filter, page)
  return { items: found.items, next_cursor: encodeCursor(found.next) }
}

export const countRequests: Operation<Contract['requests.count']> = async (services, { now_ms }, { body }) => {
  const { cursor, ...match } = body
  const { before } = parsePage({ cursor })
  const filter = await buildFilter(services, match, now_ms)
  if (!needsContents(match)) {
    const { count, next } = await services.store.countExchanges({ before, ...filter })
    return { count, next_cursor: encodeCursor(next) }
  }
  const { items, next } = await matchesWithin(services, match, filter, { before, limit: maxPerCall })
  return { count: items.length, next_cursor: encodeCursor(next) }
}

export const nearestRequests: Operation<Contract['requests.nearest']> = async (services, { now_ms }, { body }) => {
  const { limit = defaultNearest, ...match } = body
  const conditions = buildConditions(match, now_ms)
  const misses: NearMiss[] = []
  let before: number | null = null
  for (let read = 0; read < maxCompared; read += chunk) {
    const { rows, next } = await services.store.readExchanges({ limit: chunk, before })
    for (const row of rows) {
      const request = await matchedRequest(services, row)
      const { met, failed } = matchRequest(conditions, request)
      if (met > 0 && failed.length > 0) misses.push({ ...request.item, failed })
    }
    if (next === null) break
    await yieldToEventLoop()
    before = next
  }
  return { items: misses.sort((a, b) => a.failed.length - b.failed.length).slice(0, limit) }
}

/** POST /_sandbox/requests/{request_id}/replay: restores a request and sends it like any other. */
export const replayRequest: Operation<Contract['requests.replay']> = async (services, context, { params, body }) => {
  const row = await findExchange(services, params.request_id)
  if (!row.path.startsWith('/')) throw sentByUs(row)
  if (!isJournaled(row.path, row.status)) throw beyondApi()
  const { request, not_restored } = await restoreRequest(services, row, body)
  // The new request takes the drain lock itself: inside it, a reset that waits for this one would wait for both.
  const request_id = await services.drainLock.runOutside(() => services.resend(request, context.signal()))
  return {
    replayed: params.request_id,
    status_before: row.status,
    not_restored,
    exchange: await requestDetail(services, await findExchange(services, request_id)),
  }
}

/** Only an import could have put it there. */
function beyondApi(): ApiError {
  return new ApiError('replay_incomplete', {
    message: 'Nothing was sent: this is not a request to the API.',
    hint: 'Only requests to /v1/ and to the paths of old clients can be sent again.',
  })
}

/** Callbacks are in the journal too, but they were sent, not received. */
function sentByUs({ slot_id }: ExchangeRow): ApiError {
  const id = slot_id === null ? 'SLOT_ID' : encodeId('slot', slot_id)
  return new ApiError('replay_incomplete', {
    message: 'This is a callback that the sandbox sent.',
    hint: `Send it again: svc sandbox callbacks resend ${id}`,
  })
}

/** Resolves to matches that depend on headers or bodies, up to `limit`, within the exchanges that one call may read. */
async function matchesWithin(
  services: Services,
  match: RequestMatch,
  filter: ExchangeFilter,
  { before, limit }: { before: number | null; limit: number },
): Promise<{ items: RequestItem[]; next: number | null }> {
  const conditions: Conditions = defined({ headers: match.headers, body: match.body })
  const items: RequestItem[] = []
  let next = before
  for (let read = 0; read < maxPerCall; read += chunk) {
    const page = await services.store.readExchanges({ ...filter, limit: chunk, before: next })
    for (const row of page.rows) {
      const request = await matchedRequest(services, row)
      if (matchRequest(conditions, request).failed.length > 0) continue
      items.push(request.item)
      if (items.length === limit && (page.next !== null || row !== page.rows.at(-1))) return { items, next: row.id }
    }
    next = page.next
    if (next === null || page.rows.length < chunk) break
    await yieldToEventLoop()
  }
  return { items, next }
}

function needsContents({ headers, body }: RequestMatch): boolean {
  return Object.keys(headers ?? {}).length + Object.keys(body ?? {}).length > 0
}

async function buildFilter(services: Services, match: RequestMatch, now_ms: number): Promise<ExchangeFilter> {
  const { key } = match
  const isKeyId = key?.startsWith('key_') === true
  return defined({
    method: match.method,
    path: match.path,
    status: match.status,
    status_class: match.status_class === undefined ? undefined : Number(match.status_class[0]),
    reason_code: match.reason,
    project_id: await projectFilter(services, match.client_id),
    key_kind: isKeyId ? undefined : (key as ExchangeFilter['key_kind']),
    key_id: isKeyId ? (decodeId('key', key) ?? -1) : undefined,
    session_id: match.session_id,
    trace_id: match.trace_id,
    since_ms: parseSinceFilter(match.since, now_ms),
    until_ms: parseSinceFilter(match.until, now_ms),
  })
}

function buildConditions({ since, until, ...match }: RequestMatch, now_ms: number): Conditions {
  return {
    ...match,
    ...defined({ since_ms: parseSinceFilter(since, now_ms), until_ms: parseSinceFilter(until, now_ms) }),
  }
}

async function matchedRequest(services: Services, row: ExchangeRow): Promise<MatchedRequest> {
  return {
    item: await requestItem(services, row),
    headers: parseHeaders(row.request_headers),
    body: row.request_body,
  }
}

async function requestItems(services: Services, rows: readonly ExchangeSummary[]): Promise<RequestItem[]> {
  const items: RequestItem[] = []
  for (const row of rows) items.push(await requestItem(services, row))
  return items
}

export async function requestDetail(services: Services, row: ExchangeRow): Promise<RequestDetail> {
  return {
    ...(await requestItem(services, row)),
    request_headers: parseHeaders(row.request_headers),
    request_body: row.request_body,
    response_headers: parseHeaders(row.response_headers),
    response_body: row.response_body,
  }
}

/** A full exchange has its headers; a summary has only the version that an old client sent in them. */
type AnyExchange = ExchangeRow | ExchangeSummary

async function requestItem({ store }: Services, row: AnyExchange): Promise<RequestItem> {
  const alias = findAlias(row.method, row.path)
  const old_client = 'old_client' in row ? row.old_client : headerIn(row.request_headers, oldClientHeader)
  const trace_id = 'old_client' in row ? row.trace_id : findTrace(row)
  return {
    request_id: encodeId('req', row.id),
    at_ms: row.at_ms,
    method: row.method,
    path: row.path,
    status: row.status,
    reason_code: row.reason_code,
    duration_ms: row.duration_us / 1000,
    client_id: row.project_id === null ? null : (await store.findProjectById(row.project_id)).client_id,
    key: row.key_kind,
    key_id: row.key_id === null ? null : encodeId('key', row.key_id),
    session_id: row.session_id,
    slot_id: row.slot_id === null ? null : encodeId('slot', row.slot_id),
    ...(alias === null ? {} : { alias }),
    ...(old_client === null ? {} : { old_client }),
    ...(trace_id === null ? {} : { trace_id }),
  }
}

const aliases = Object.values<Endpoint>(compat)
  .filter(({ successor }) => successor !== undefined)
  .map(({ id, method, path }) => ({ id, method, pattern: pathPattern(path) }))

/** Returns the id of the deprecated endpoint that a request went to, or null. */
function findAlias(method: string, path: string): string | null {
  if (!path.startsWith('/public/')) return null
  const bare = withoutQuery(path)
  return aliases.find((alias) => alias.method === method && alias.pattern.test(bare))?.id ?? null
}

/** The trace of a response, or of a callback, which is a request. */
function findTrace({ path, request_headers, response_headers }: ExchangeRow): string | null {
  if (path.startsWith('/')) return headerIn(response_headers, 'x-sandbox-trace')
  return headerIn(request_headers, 'traceparent')?.split('-')[1] ?? null
}

function headerIn(headers: string, name: string): string | null {
  if (!headers.includes(`"${name}":`)) return null
  return parseHeaders(headers)[name] ?? null
}

function parseHeaders(text: string): Record<string, string> {
  return JSON.parse(text)
}
