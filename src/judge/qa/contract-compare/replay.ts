/** Sends the requests of a recording to another service, in their order, one at a time. */
import type { RecordedExchange } from '#contract/recordings/recording.ts'
import { retryAfterMs } from '#foundation/http.ts'
import { type Json, parseJson, valueAt } from '#foundation/json.ts'
import { redactSecrets } from '#foundation/redaction.ts'
import { QaError } from '../result.ts'
import { HttpClient, type HttpRequest, type HttpResponse, NoResponseError } from '../run/http-client.ts'
import { createRatePatience, type RatePatience } from '../run/rate-patience.ts'
import { pause } from '../steps/step-kind.ts'
import type { ComparedResponse } from './differences.ts'
import type { ExchangePair } from './findings.ts'
import { createRequestMapping, type OwnValues } from './request-mapping.ts'
import { readRecordedJson } from './sendable.ts'

interface Limits {
  /** Also aborted when the service is over its rate limit again and again. */
  signal: AbortSignal
  patience: RatePatience
}

/** Requests that were not compared, by reason. */
type NotCompared = Map<string, number>

interface ReplayOptions {
  own: OwnValues
  user_agent: string
  /** Milliseconds since the epoch. */
  now(): number
  signal: AbortSignal
  /** Called with each exchange and the other service's response to its request. */
  onPair(exchange: RecordedExchange, recorded: ComparedResponse, sent: ComparedResponse): void
  /** Called before each wait for the rate limit of the other service, milliseconds. */
  onWait(wait_ms: number): void
  /** Moves the clock of the other service forward, milliseconds; null where it has none of its own. */
  passTime: ((time_ms: number) => Promise<void>) | null
}

/** The wait after a 429 without a usable Retry-After. */
const minWait_ms = 1_000
/** How often a request that is over the rate limit is sent again. */
const maxAttempts = 5
/** Longer than a service may hold a request, milliseconds. */
const timeout_ms = 20_000
/** After such a gap a client would have been activated again, milliseconds. */
const longGap_ms = 60_000
/** After this many requests in a row without a response, the service is not there. */
const maxUnanswered = 3

/** Resolves to what was not sent, or got no response. Throws QaError when the service does not respond, or only with 429. */
export async function replayExchanges(
  exchanges: readonly RecordedExchange[],
  { own, user_agent, now, signal, onPair, onWait, passTime }: ReplayOptions,
): Promise<NotCompared> {
  const http = new HttpClient({ 'user-agent': user_agent })
  const mapping = createRequestMapping(own, exchanges)
  const notCompared: NotCompared = new Map()
  const clock = createClock(now, passTime)
  const patience = createRatePatience(own.base_url, onWait)
  const limits: Limits = { signal: AbortSignal.any([signal, patience.signal]), patience }
  let last_ms: number | null = null
  let activation_token: string | null = null
  let unanswered = 0
  try {
    for (const exchange of exchanges) {
      signal.throwIfAborted()
      const gap_ms = last_ms === null ? 0 : exchange.at_ms - last_ms
      last_ms = exchange.at_ms
      await clock.keep(gap_ms)
      // One that was requested for the recording may have expired.
      if (gap_ms > longGap_ms) activation_token = null
      activation_token ??= await activate(http, exchange, own, limits)
      const mapped = mapping.map(exchange, { now_ms: clock.now(), activation_token })
      if ('why_not' in mapped) {
        countReason(notCompared, mapped.why_not)
        continue
      }
      const sent = await sendPatiently(http, mapped.request, limits)
      if (sent === null) {
        if (++unanswered === maxUnanswered) throw serviceGone(own.base_url)
        countReason(notCompared, `no response came from ${own.base_url}`)
        continue
      }
      unanswered = 0
      clock.set(sent.headers.date)
      const json = parseJson(sent.text)
      if (exchange.endpoint === 'browser.activate')
        activation_token = textAt(json, 'activation_token') ?? activation_token
      mapping.learn(exchange, { json, headers: sent.headers, now_ms: clock.now() })
      onPair(exchange, toRecordedResponse(exchange), toSentResponse(sent))
    }
  } finally {
    http.close()
  }
  return notCompared
}

function countReason(notCompared: NotCompared, reason: string, count = 1): void {
  notCompared.set(reason, (notCompared.get(reason) ?? 0) + count)
}

/** A recording may begin after its activation: the token for it is requested then. */
async function activate(
  http: HttpClient,
  { endpoint, request_headers }: RecordedExchange,
  { base_url, publishable_key, origin }: OwnValues,
  limits: Limits,
): Promise<string | null> {
  const isNeeded =
    endpoint !== 'browser.activate' &&
    (request_headers.authorization ?? '').startsWith('Bearer at_') &&
    publishable_key !== null &&
    origin !== null
  if (!isNeeded) return null
  const response = await sendPatiently(
    http,
    {
      method: 'POST',
      url: `${base_url}/v1/browser/activate`,
      headers: { 'content-type': 'application/json', origin },
      body: JSON.stringify({ publishable_key }),
    },
    limits,
  )
  return response === null ? null : textAt(parseJson(response.text), 'activation_token')
}

/** Sends a request, again after a 429 as a correct client does. Resolves to null without a response. */
async function sendPatiently(
  http: HttpClient,
  request: HttpRequest,
  { signal, patience }: Limits,
): Promise<HttpResponse | null> {
  for (let attempt = 1; ; attempt++) {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(timeout_ms)])
    const response = await http.send(request, limited).catch((error: unknown) => {
      signal.throwIfAborted()
      if (error instanceof NoResponseError) return null
      throw error
    })
    if (response?.status !== 429) {
      patience.reset()
      return response
    }
    const asked_ms = retryAfterMs(response.headers['retry-after'], Date.parse(response.headers.date ?? '')) ?? 0
    const wait_ms = Math.max(minWait_ms, asked_ms)
    patience.note(wait_ms)
    signal.throwIfAborted()
    if (attempt === maxAttempts) return response
    await pause(wait_ms, { signal })
  }
}

function serviceGone(base_url: string): QaError {
  return new QaError('target_missing', `No response comes from ${base_url}.`, 'Check the URL. Is the service running?')
}

/** The clock of the other service. */
interface ServiceClock {
  now(): number
  /** Notes the Date header of a response. */
  set(date: string | undefined): void
  /** Lets as much time pass between two requests as in the recording, where that takes none. */
  keep(gap_ms: number): Promise<void>
}

/** Nothing measures less, milliseconds. */
const minPassed_ms = 20

/**
 * The clock of a service that may have been moved: its Date headers say so.
 *
 * @param passTime moves it forward, milliseconds; null where nothing does
 */
function createClock(now: () => number, passTime: ReplayOptions['passTime']): ServiceClock {
  let offset_ms = 0
  let sent_ms = now()
  return {
    now: () => now() + offset_ms,
    async keep(gap_ms) {
      const left_ms = Math.round(gap_ms - (now() - sent_ms))
      if (passTime !== null && left_ms >= minPassed_ms) {
        await passTime(left_ms)
        offset_ms += left_ms
      }
      sent_ms = now()
    },
    set(date: string | undefined) {
      const difference_ms = Date.parse(date ?? '') - now() - offset_ms
      // A Date header has whole seconds.
      if (Math.abs(difference_ms) > 2_000) offset_ms += difference_ms + 999
      else if (passTime === null && Math.abs(Date.parse(date ?? '') - now()) <= 2_000) offset_ms = 0
    },
  }
}

/** Returns a recorded response as it is compared. */
export function toRecordedResponse(exchange: RecordedExchange): ComparedResponse {
  const { status, response_headers: headers, response_body } = exchange
  const text = response_body !== null && 'text' in response_body ? response_body.text : null
  return { status, headers, text, json: readRecordedJson(exchange) }
}

function toSentResponse({ status, headers, text }: HttpResponse): ComparedResponse {
  const redacted = redactSecrets(text)
  return { status, headers, text: redacted, json: parseJson(redacted) }
}

function textAt(json: Json | undefined, path: string): string | null {
  const value = valueAt(json, path)
  return typeof value === 'string' ? value : null
}

/** Returns a pair for the comparison, with the recorded side as the service or as the other. */
export function toPair(
  { endpoint, entry }: RecordedExchange,
  service: ComparedResponse,
  other: ComparedResponse,
): ExchangePair[] {
  return endpoint === null ? [] : [{ endpoint, entry: entry + 1, service, other }]
}
