/**
 * The backend of the inspector's playground: it plays the integrator's server. It names a key by its id, since the
 * sandbox stores no key, and the request goes through the pipeline like any other: journal, rate limits, faults and
 * errors are the same. Status, headers and body are returned unchanged, in an object, to keep them apart from this
 * route's own.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import { ApiError } from '#contract/errors.ts'
import { KeyId } from '#contract/fields.ts'
import { decodeId } from '#contract/ids.ts'
import { limits } from '#contract/limits.ts'
import { ownAgents } from '#contract/own-requests.ts'
import type { Services } from '#operations/context.ts'
import type { Identity } from '#runtime/replay.ts'
import { parseJson } from '../body/body.ts'
import { validate } from '../body/validation.ts'
import { internalRequest, type PipelineResponse, type Route } from '../exchange.ts'
import { type Pipeline, respondTo } from '../pipeline.ts'
import { pageJson } from './page-json.ts'

const Sent = z.strictObject({
  /** A secret key by its id; null for a request without credential. */
  key_id: KeyId.nullable(),
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
  path: z
    .string()
    .max(4_096)
    .regex(/^\/v1\//, 'must begin with /v1/'),
  /** Sent unchanged, so that malformed JSON can be tried too; null for none. */
  body: z.string().nullable(),
})

/** The response of the API, or `broken` when a fault rule broke the connection. */
export interface SentResponse {
  status: number
  headers: Record<string, string>
  body: string
  broken: NonNullable<PipelineResponse['broken']> | null
  duration_ms: number
}

export function playgroundRoutes(pipeline: Pipeline): Route[] {
  return [sendRoute(pipeline), mountedRoute]
}

const Mounted = z.object({ response: z.looseObject({}) })

/**
 * Returns the placement response that it is given, as the backend of a page passes on what the service sent: render.js
 * learns the time of the sandbox from the Date of this response, so that a moved clock expires nothing.
 */
const mountedRoute: Route = {
  method: 'POST',
  path: '/_sandbox/inspector/mounted',
  body_limit_bytes: 2 * limits.body_bytes,
  respond: ({ request, context }) => pageJson(context, validate(Mounted, parseJson(request.body).json).response),
}

function sendRoute(pipeline: Pipeline): Route {
  const { services } = pipeline
  return {
    method: 'POST',
    path: '/_sandbox/inspector/send',
    // An API body, as text inside JSON.
    body_limit_bytes: 2 * limits.body_bytes,
    async respond({ request, context }) {
      const { key_id, method, path, body } = validate(Sent, parseJson(request.body).json)
      const identity = key_id === null ? null : await findIdentity(services, key_id)
      const headers: IncomingHttpHeaders = {
        host: new URL(services.url).host,
        'user-agent': ownAgents.inspector,
        ...(body === null ? {} : { 'content-type': 'application/json' }),
        // As the journal stores it: the identity stands for the key.
        ...(identity === null ? {} : { authorization: `Bearer ${identity.kind}_redacted` }),
      }
      const started = performance.now()
      const { response } = await respondTo(
        pipeline,
        internalRequest({ method, url: path, headers, body: body ?? '', identity, signal: context.signal }),
      )
      const sent: SentResponse = {
        status: response.broken === 'drop' || response.broken === 'reset' ? 0 : response.status,
        headers: response.headers,
        body: typeof response.body === 'function' ? '' : response.body.toString(),
        broken: response.broken ?? null,
        duration_ms: performance.now() - started,
      }
      return pageJson(context, sent)
    },
  }
}

/** @throws ApiError 400 for a key that a server cannot have */
async function findIdentity({ store }: Services, key_id: string): Promise<Identity> {
  const id = decodeId('key', key_id)
  const key = id === null ? null : await store.findKeyById(id)
  if (key === null || key.class !== 'secret') {
    const message = key === null ? `is ${key_id}, which this sandbox does not have` : 'is a publishable key'
    throw new ApiError('schema_invalid', {
      fields: [{ path: 'key_id', message, expected: 'the id of a secret key: svc sandbox keys list' }],
    })
  }
  return { kind: `sk_${key.mode}`, key_id: key.id, slot_id: null }
}
