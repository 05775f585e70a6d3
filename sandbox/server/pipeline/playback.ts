/**
 * Calls of endpoints while a recording is played. The emulator acts for every recorded success, and its response gets the
 * recorded body and status; a recorded failure is sent without it.
 */
import type { Endpoint, ResponseHeader } from '#contract/endpoint.ts'
import { ApiError, reasonCodes } from '#contract/errors.ts'
import { contract } from '#contract/index.ts'
import type { RecordedId } from '#contract/recordings/recording.ts'
import { retryAfterMs } from '#foundation/http.ts'
import { isObject, type Json, parseJson } from '#foundation/json.ts'
import type { Caller, Services } from '#operations/context.ts'
import type { PlayedExchange, Player, SentRequest } from '#runtime/playback/playback.ts'
import type { ScriptedExchange } from '#runtime/playback/script.ts'
import { addCors } from './cors.ts'
import { findCaller } from './credentials.ts'
import {
  inertPolicy,
  type OpenExchange,
  type PipelineResponse,
  type Route,
  responseHeaders,
  sourceHeader,
} from './exchange.ts'

type Respond = Route['respond']

/** Returns the handler of an endpoint, unchanged when nothing is played. */
export function withPlayback(services: Services, id: RecordedId, respond: Respond): Respond {
  const { player } = services
  return player === null ? respond : (exchange) => playCall({ services, player, respond }, id, exchange)
}

interface Played {
  services: Services
  player: Player
  respond: Respond
}

async function playCall(
  { services, player, respond }: Played,
  id: RecordedId,
  exchange: OpenExchange,
): Promise<PipelineResponse> {
  const { context } = exchange
  const match = player.find(toSent(id, exchange))
  if (match.kind === 'emulator') return respond(exchange)
  if (match.kind === 'recorded' && match.played.recorded.status < 400) {
    return playSuccess(services, match.played, { exchange, respond })
  }
  noteBody(exchange, match.body)
  const endpoint = contract[id]
  if (match.kind === 'missing') {
    // A request that no key opens is refused for that, as it is without a recording.
    if (endpoint.credentials.length > 0) context.caller = await findCaller(services, exchange, endpoint)
    throw new ApiError('not_recorded', { hint: match.hint })
  }
  context.caller = await findCallerIfAny(services, exchange, endpoint)
  const response = toFailure(match.played, exchange, services.base_url)
  if (context.origin !== null) await addCors(services, exchange, response)
  return response
}

function toSent(id: RecordedId, { request: { params, query, body } }: OpenExchange): SentRequest {
  return { endpoint: id, params: withTexts(params), query: withTexts(query), text: body.toString('utf8') }
}

function withTexts(values: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  )
}

/** For the journal: an operation that does not run notes nothing. */
function noteBody(exchange: OpenExchange, body: Json | string | null): void {
  const { context } = exchange
  exchange.journal_body = body === null ? null : JSON.stringify(body)
  if (isObject(body) && typeof body.session_id === 'string') context.subject.session_id = body.session_id
}

/** Resolves to the caller for the journal. A recorded failure may be that of the credential, so null is none. */
async function findCallerIfAny(services: Services, exchange: OpenExchange, endpoint: Endpoint): Promise<Caller | null> {
  if (endpoint.credentials.length === 0) return null
  try {
    return await findCaller(services, exchange, endpoint)
  } catch (error) {
    if (error instanceof ApiError) return null
    throw error
  }
}

async function playSuccess(
  services: Services,
  played: PlayedExchange,
  { exchange, respond }: { exchange: OpenExchange; respond: Respond },
): Promise<PipelineResponse> {
  const { context } = exchange
  const { base_url } = services
  context.played = played
  let response: PipelineResponse
  try {
    response = await respond(exchange)
  } catch (error) {
    played.release()
    throw error
  }
  const present = typeof response.body === 'string' ? (parseJson(response.body) ?? null) : null
  if (present === null) return response
  const body = played.respond({ body: present, headers: response.headers, base_url })
  if (body === null) return response
  const { etag: _, ...headers } = response.headers
  return {
    ...response,
    status: played.recorded.status,
    headers: { ...headers, ...playedHeaders(played.recorded) },
    body: JSON.stringify(body),
  }
}

function toFailure(played: PlayedExchange, { context }: OpenExchange, base_url: string): PipelineResponse {
  const { recorded } = played
  const { status, response_body, response_headers, json } = recorded
  const present: Json = { request_id: context.request_id }
  const body = json === null ? null : played.respond({ body: present, headers: {}, base_url })
  const text = response_body !== null && 'text' in response_body ? response_body.text : ''
  const headers = { ...responseHeaders(context), ...playedHeaders(recorded) }
  if (body === null) Object.assign(headers, dataHeaders(response_headers['content-type']))
  const error = findCause(json)
  return {
    status,
    headers,
    body: body === null ? text : JSON.stringify(body),
    ...(error === null ? {} : { error }),
  }
}

/** Types that a client may look for in a failure of something between it and the service. */
const keptTypes: ReadonlySet<string> = new Set(['text/html', 'application/problem+json'])

/** Returns the headers of a recorded body that is not JSON of the API: another origin wrote it, and this one only shows it. */
function dataHeaders(recorded_type = ''): Record<string, string> {
  const type = recorded_type.split(';')[0]!.trim().toLowerCase()
  return {
    'content-type': `${keptTypes.has(type) ? type : 'text/plain'}; charset=utf-8`,
    'content-security-policy': inertPolicy,
  }
}

/** The cause that the journal names, where the contract has it. */
function findCause(body: Json | null): ApiError | null {
  const code = isObject(body) ? body.reason_code : undefined
  return typeof code === 'string' && Object.hasOwn(reasonCodes, code)
    ? new ApiError(code as keyof typeof reasonCodes)
    : null
}

/** Headers of the contract that say something about the response; the others are of the connection, or of the client. */
const playedNames = [
  'ratelimit',
  'ratelimit-policy',
  'www-authenticate',
  'allow',
  'upgrade',
] as const satisfies readonly ResponseHeader[]

function playedHeaders({ response_headers, at_ms }: ScriptedExchange): Record<string, string> {
  const headers: Record<string, string> = { [sourceHeader]: 'recording' }
  for (const name of playedNames) {
    const value = response_headers[name]
    if (value !== undefined) headers[name] = value
  }
  // As seconds: a date is of the time of the recording.
  const wait_ms = retryAfterMs(response_headers['retry-after'], at_ms)
  if (wait_ms !== null) headers['retry-after'] = String(Math.max(1, Math.ceil(wait_ms / 1_000)))
  return headers
}
