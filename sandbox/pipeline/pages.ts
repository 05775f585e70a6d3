/**
 * The demo host: its page at /_sandbox/demo, and below it the backend of that page, which plays the integrator's
 * server. The backend holds the secret key and calls the real v1 door in process, so that journal, rate limits and
 * errors are those of any other server; status, body and the headers that matter go back as they came.
 */
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, type InjectOptions } from 'fastify'
import { encodeId } from '../../src/contract/ids.ts'
import { contract } from '../../src/contract/index.ts'
import type { Asset, Assets } from './assets.ts'
import { demoPage } from './demo-page.ts'
import { namesTag } from './etag.ts'
import { bodyOf, type Door, header, jsonHandler } from './pipeline.ts'

const { 'consent.set': setConsent, 'decisions.get': getDecision, 'placements.create': createPlacement } = contract

/** How long a decision of `slow-placement` takes, milliseconds: longer than its first answer waits. */
const slow_decision_ms = 4_000

/** Of an answer of v1, besides status and body. */
const passedOn = ['content-type', 'date', 'retry-after', 'x-request-id', 'x-sandbox-warning'] as const

/** The project that the demo host is a part of. */
export interface DemoProject {
  client_id: string
  secret_key: string
  publishable_key: string
}

export const demoPaths = ['/_sandbox/demo', '/_sandbox/demo/demo.js', '/_sandbox/demo/demo.css'] as const

/** `token` lets the page write: it is that of the control plane. */
export function registerDemo(
  app: FastifyInstance,
  { door, assets, project, token }: { door: Door; assets: Assets; project: DemoProject; token: string },
): void {
  const { services } = door
  let slow: FastifyInstance | undefined

  app.get('/_sandbox/demo', (request, reply) => {
    reply.header('x-request-id', encodeId('req', services.platform.newId()))
    const own = new URL(request.url, services.base_url)
    if (header(request, 'host') !== own.host) return reply.redirect(`${services.base_url}/_sandbox/demo${own.search}`)
    const { client_id, publishable_key } = project
    const settings = { token, client_id, publishable_key, since_seq: services.store.lastEventSeq() }
    const page = demoPage(settings)
    return reply.headers(page.headers).send(page.html)
  })
  for (const name of ['demo.js', 'demo.css'] as const) {
    app.get(`/_sandbox/demo/${name}`, async (request, reply) => sendFile(request, reply, await assets.demoFile(name)))
  }

  placementRoutes('placement', () => app)
  placementRoutes('slow-placement', () => {
    slow ??= openSlowDoor(door)
    return slow
  })

  app.post('/_sandbox/demo/api/consent', { bodyLimit: setConsent.body_limit_bytes }, (request, reply) => {
    return post(app, request, reply, setConsent.path, ({ expires_in_ms, ...body }) => {
      const now_ms = services.platform.clock.now()
      return typeof expires_in_ms === 'number' ? { ...body, expires_at_ms: now_ms + expires_in_ms } : body
    })
  })

  /** POST asks for a placement, GET with its slot_id for the decision of a pending one. */
  function placementRoutes(name: string, doorOf: () => FastifyInstance): void {
    const url = `/_sandbox/demo/api/${name}`
    app.post(url, { bodyLimit: createPlacement.body_limit_bytes }, (request, reply) => {
      return post(doorOf(), request, reply, createPlacement.path, (body) => body)
    })
    app.get<{ Querystring: Record<string, string> }>(url, (request, reply) => {
      const { slot_id = '', ...query } = request.query
      const path = getDecision.path.replace('{slot_id}', encodeURIComponent(slot_id))
      return relay(app, reply, { method: 'GET', url: path, query })
    })
  }

  /** Adds who asks, the project, to a JSON object. Anything else goes on as it came, for the v1 door to refuse. */
  function post(
    through: FastifyInstance,
    request: FastifyRequest,
    reply: FastifyReply,
    url: string,
    complete: (body: Record<string, unknown>) => Record<string, unknown>,
  ): Promise<FastifyReply> {
    const body = objectOf(request)
    const payload =
      body === null ? bodyOf(request) : JSON.stringify({ ...complete(body), client_id: project.client_id })
    const headers = { 'content-type': header(request, 'content-type') ?? '' }
    return relay(through, reply, { method: 'POST', url, payload, headers })
  }

  async function relay(through: FastifyInstance, reply: FastifyReply, call: InjectOptions): Promise<FastifyReply> {
    const headers = { ...call.headers, authorization: `Bearer ${project.secret_key}`, 'user-agent': 'demo-host' }
    const answer = await through.inject({ ...call, headers })
    for (const name of passedOn) {
      const value = answer.headers[name]
      if (value !== undefined) reply.header(name, value)
    }
    const own = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }
    return reply.code(answer.statusCode).headers(own).send(answer.rawPayload)
  }
}

/** The same door to the same store, except that its decisions take their time. */
function openSlowDoor(door: Door): FastifyInstance {
  const slow = { ...door, services: { ...door.services, decision_latency_ms: slow_decision_ms } }
  const app = Fastify({ logger: false, bodyLimit: createPlacement.body_limit_bytes })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.post(createPlacement.path, jsonHandler(slow, 'placements.create', createPlacement))
  return app
}

/** The object in a JSON body, or null. */
function objectOf(request: FastifyRequest): Record<string, unknown> | null {
  try {
    const json: unknown = JSON.parse(bodyOf(request).toString('utf8'))
    return typeof json === 'object' && !Array.isArray(json) ? (json as Record<string, unknown> | null) : null
  } catch {
    return null
  }
}

function sendFile(request: FastifyRequest, reply: FastifyReply, { body, etag, media_type }: Asset): FastifyReply {
  reply.headers({ etag, 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' })
  if (namesTag(request.headers['if-none-match'], etag)) return reply.code(304).send()
  return reply.header('content-type', media_type).send(body)
}
