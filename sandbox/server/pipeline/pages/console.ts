/**
 * The console on a page (A114): the routes below `/_sandbox/console/page/` that its module calls from pages of other
 * origins. They alone of the control plane have CORS, and only for origins that a project allows in test mode. Each
 * demands its own credential in place of the guard of the control plane: an asset token to read a slot, a grant to act.
 * None of them is in the journal.
 */
import { z } from 'zod'
import { ApiError } from '#contract/errors.ts'
import { Format } from '#contract/fields.ts'
import type {
  ConsoleAction,
  ConsoleActResult,
  ConsoleAsk,
  ConsoleClaim,
  ConsoleGrant,
} from '#contract/resources/sandbox/console.ts'
import { type ConsoleSlots, maxConsoleTokens } from '#contract/resources/sandbox/console-slots.ts'
import { readConsoleSlots } from '#operations/console/slots.ts'
import type { Services } from '#operations/context.ts'
import { parseJson } from '../body/body.ts'
import { validate } from '../body/validation.ts'
import { addCors, hostPagesRoot, isKnownOrigin, preflightResponse } from '../cors.ts'
import { readClientAddress } from '../credentials.ts'
import { checkContentType } from '../endpoints.ts'
import { type OpenExchange, type PipelineResponse, type Route, responseHeaders } from '../exchange.ts'
import type { Pipeline } from '../pipeline.ts'
import { act } from './console-actions.ts'

const maxBodyBytes = 65_536
const maxLatencyMs = 60_000
/** How long a page waits before it asks again while too many asks are open, seconds. */
const askAgainAfterS = 60

const text = z.string().max(256)

const SlotsBody = z.strictObject({ asset_tokens: z.array(text).max(maxConsoleTokens) })
const AskBody = z.strictObject({})
const ClaimBody = z.strictObject({ grant_id: text, secret: text })
const ActBody: z.ZodType<ConsoleAction> = z.discriminatedUnion('action', [
  z.strictObject({ action: z.literal('no_fill'), on: z.boolean() }),
  z.strictObject({ action: z.literal('format'), format: Format.nullable() }),
  z.strictObject({ action: z.literal('campaign'), campaign_id: text.regex(/^cmp_/).nullable() }),
  z.strictObject({ action: z.literal('withdraw_consent'), slot_id: text }),
  z.strictObject({ action: z.literal('expire'), slot_id: text }),
  z.strictObject({
    action: z.literal('slow_frame'),
    latency_ms: z.int().min(1).max(maxLatencyMs).optional(),
    slot_id: text,
  }),
  z.strictObject({ action: z.literal('replay'), slot_id: text }),
  z.strictObject({ action: z.literal('state') }),
])

export function consoleRoutes(pipeline: Pipeline): Route[] {
  const { services } = pipeline
  const { consoleGrants, drainLock } = services
  return [
    ...pageRoutes(
      services,
      'slots',
      SlotsBody,
      async ({ context, origin }, { asset_tokens }): Promise<ConsoleSlots> => {
        const { now_ms } = context
        const slots = await drainLock.run(() => readConsoleSlots(services, { now_ms, origin }, asset_tokens))
        return { server_time_ms: now_ms, slots }
      },
    ),
    ...pageRoutes(services, 'ask', AskBody, async ({ origin, client }): Promise<ConsoleAsk> => {
      const ask = consoleGrants.ask(origin, client)
      if (ask === null) throw createFullError()
      return { ...ask, confirm_url: `${services.base_url}/_sandbox/console?grant=${ask.grant_id}` }
    }),
    ...pageRoutes(
      services,
      'claim',
      ClaimBody,
      async ({ origin }, { grant_id, secret }): Promise<ConsoleClaim> => consoleGrants.claim(origin, grant_id, secret),
    ),
    // Not inside the drain lock: the calls take it themselves.
    ...pageRoutes(services, 'act', ActBody, async ({ context, origin }, action): Promise<ConsoleActResult> => {
      const grant = requireGrant(services, context.authorization, origin)
      return act({ pipeline, grant, signal: context.signal }, action)
    }),
  ]
}

/** The call of a page whose origin a project allows in test mode. */
interface PageCall {
  context: OpenExchange['context']
  origin: string
  /** The address that it comes from. */
  client: string
}

/** Returns a route for pages and that of its preflight. `call` resolves to the JSON of the response. */
function pageRoutes<Body extends z.ZodType>(
  services: Services,
  name: 'slots' | 'ask' | 'claim' | 'act',
  schema: Body,
  call: (page: PageCall, body: z.output<Body>) => Promise<object>,
): Route[] {
  const path = hostPagesRoot + name
  const respond = async (exchange: OpenExchange): Promise<PipelineResponse> => {
    const { context, request } = exchange
    const origin = await requireOrigin(services, context.origin)
    checkContentType(request)
    const client = readClientAddress(request)
    const result = await call({ context, origin, client }, validate(schema, parseJson(request.body).json))
    const headers = responseHeaders(context)
    const response = { status: name === 'ask' ? 201 : 200, headers, body: JSON.stringify(result) }
    await addCors(services, exchange, response)
    return response
  }
  const preflight = (exchange: OpenExchange) => preflightResponse(services, exchange, ['POST'])
  return [
    { method: 'POST', path, body_limit_bytes: maxBodyBytes, isForHostPages: true, respond },
    { method: 'OPTIONS', path, isForHostPages: true, respond: preflight },
  ]
}

/** @throws ApiError 403 without an origin, and for one that no project allows in test mode */
async function requireOrigin(services: Services, origin: string | null): Promise<string> {
  if (origin !== null && (await services.drainLock.run(() => isKnownOrigin(services, origin)))) return origin
  throw new ApiError('origin_not_allowed')
}

/** Returns the grant of a bearer token. @throws ApiError 401 without a valid one, 403 on another origin than its own */
function requireGrant({ consoleGrants }: Services, authorization: string | undefined, origin: string): ConsoleGrant {
  const token = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1]
  const grant = token === undefined ? null : consoleGrants.find(token)
  if (grant === null) throw new ApiError('grant_invalid')
  if (grant.origin === origin) return grant
  throw new ApiError('origin_mismatch', {
    message: 'The grant belongs to a page of another origin.',
    hint: 'Ask for a grant on this page, and confirm it in the inspector.',
  })
}

function createFullError(): ApiError {
  return new ApiError('rate_limited', {
    message: 'Too many pages wait for a confirmation, or this one has asked too often.',
    hint: 'Confirm or refuse them in the inspector: svc sandbox console list. An ask ends by itself after 10 minutes.',
    retry_after_s: askAgainAfterS,
  })
}
