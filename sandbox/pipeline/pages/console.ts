/**
 * The console on a page (A104): its module, and the routes below `/_sandbox/console/page/` that it calls from pages of
 * other origins. They alone of the control plane have CORS, and only for origins that a project allows in test mode. Each
 * demands its own credential in place of the guard of the control plane, and none is in the journal.
 */
import { z } from 'zod'
import { ApiError } from '#contract/errors.ts'
import { type ConsoleSlots, maxConsoleTokens } from '#contract/resources/sandbox/console.ts'
import { readConsoleSlots } from '#operations/console/slots.ts'
import type { Services } from '#operations/context.ts'
import { parseJson } from '../body/body.ts'
import { validate } from '../body/validation.ts'
import { addCors, hostPagesRoot, isKnownOrigin, preflightResponse } from '../cors.ts'
import { type OpenExchange, type PipelineResponse, type Route, responseHeaders } from '../exchange.ts'
import { checkContentType } from '../pipeline.ts'

const maxBodyBytes = 65_536

const SlotsBody = z.strictObject({ asset_tokens: z.array(z.string().max(256)).max(maxConsoleTokens) })

export function consoleRoutes(services: Services): Route[] {
  return [
    ...hostPageRoute(services, 'slots', SlotsBody, async ({ now_ms, origin }, { asset_tokens }) => {
      const slots = await readConsoleSlots(services, { now_ms, origin }, asset_tokens)
      return { server_time_ms: now_ms, slots } satisfies ConsoleSlots
    }),
  ]
}

/** The call of a page whose origin a project allows in test mode. */
interface PageCall extends Pick<OpenExchange['context'], 'now_ms' | 'authorization'> {
  origin: string
}

/** Returns a route for pages and that of its preflight. `call` resolves to the JSON of the response. */
function hostPageRoute<Body extends z.ZodType>(
  services: Services,
  name: string,
  schema: Body,
  call: (page: PageCall, body: z.output<Body>) => Promise<object>,
): Route[] {
  const path = hostPagesRoot + name
  const respond = async (exchange: OpenExchange): Promise<PipelineResponse> => {
    const { context, request } = exchange
    const origin = await requireOrigin(services, context.origin)
    checkContentType(request)
    const body = validate(schema, parseJson(request.body).json)
    const { now_ms, authorization } = context
    const result = await services.drainLock.run(() => call({ now_ms, authorization, origin }, body))
    const response = { status: 200, headers: responseHeaders(context), body: JSON.stringify(result) }
    await addCors(services, exchange, response)
    return response
  }
  return [
    { method: 'POST', path, body_limit_bytes: maxBodyBytes, isForHostPages: true, respond },
    {
      method: 'OPTIONS',
      path,
      isForHostPages: true,
      respond: (exchange) => preflightResponse(services, exchange, ['POST']),
    },
  ]
}

/** @throws ApiError 403 without an origin, and for one that no project allows in test mode */
async function requireOrigin(services: Services, origin: string | null): Promise<string> {
  if (origin !== null && (await isKnownOrigin(services, origin))) return origin
  throw new ApiError('origin_not_allowed')
}
