/**
 * The demo host at /_sandbox/demo, with the backend that plays the integrator's server. The backend has the secret key
 * and sends its requests through the pipeline like any server: journal, rate limits, faults and errors are the same.
 * Status, body and the headers that matter are returned unchanged.
 */

import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Endpoint } from '#contract/endpoint.ts'
import { contract } from '#contract/index.ts'
import { ownAgents } from '#contract/own-requests.ts'
import type { Campaign } from '#domain/catalogue.ts'
import type { ConsentToolSetup } from '#foundation/consent/tool.ts'
import { fillPath } from '#foundation/http.ts'
import { type JsonObject, parseJsonObject } from '#foundation/json.ts'
import type { Services } from '#operations/context.ts'
import { documentToken } from '#pipeline/guards.ts'
import { internalRequest, type OpenExchange, type PipelineResponse, type Route, readHeader } from '../exchange.ts'
import { type Asset, type Assets, assetResponse } from '../files/assets.ts'
import { createPipeline, type Pipeline, respondTo } from '../pipeline.ts'
import { pageJson } from './page-json.ts'

const { 'consent.set': setConsent, 'decisions.get': getDecision, 'placements.create': createPlacement } = contract

/** How long a decision of `slow-placement` takes, milliseconds: longer than its first response waits. */
const slowDecisionMs = 4_000

/** The headers of a v1 response that go back to the page. */
const passedOn = ['content-type', 'date', 'retry-after', 'x-request-id', 'x-sandbox-warning'] as const

/** What the simulated consent tool of the page grants: every purpose of TCF, and three vendors. */
const toolChoice = { purposes: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], vendors: [1, 2, 3] }

export interface DemoProject {
  client_id: string
  secret_key: string
  publishable_key: string
}

/** Adds to the body of the page what the v1 endpoint needs. */
type Complete = (body: JsonObject) => JsonObject

export function pageRoutes(pipeline: Pipeline, assets: Assets, project: DemoProject): Route[] {
  const { services, guard } = pipeline
  const get = (path: string, respond: Route['respond']): Route => ({ method: 'GET', path, respond })
  const open = (path: string, respond: Route['respond']): Route => ({ ...get(path, respond), isOpen: true })
  const file = (path: string, find: (params: OpenExchange['request']['params']) => Promise<Asset | null>) =>
    open(`/_sandbox/demo/${path}`, async (exchange) => {
      const headers = { 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' }
      return assetResponse(exchange, await find(exchange.request.params), headers)
    })
  return [
    get('/', (exchange) => redirect(exchange, '/_sandbox/')),
    { ...open('/_sandbox', (exchange) => redirect(exchange, '/_sandbox/')), isPage: true },
    // A page that is opened again has no token in its address: only its settings need one.
    open('/_sandbox/demo', (exchange) => {
      const { url, base_url } = services
      const isOwn = [url, base_url].some((own) => new URL(own).host === readHeader(exchange.request, 'host'))
      if (!isOwn) return redirect(exchange, `${base_url}/_sandbox/demo${new URL(exchange.request.url, url).search}`)
      const token = documentToken(exchange.request, guard, services.access.start_token)
      return demoPage(exchange, base_url === url ? '' : ` ${base_url}`, token)
    }),
    get('/_sandbox/demo/settings', async (exchange) => {
      const { client_id, publishable_key } = project
      const { encodeConsentStrings } = await import('#foundation/consent/strings.ts')
      const now_ms = services.platform.clock.now()
      const settings: DemoSettings = {
        // The token that opened the page.
        token: exchange.request.holder?.text ?? null,
        client_id,
        publishable_key,
        campaigns: listCampaigns(services.markets.current.campaigns),
        since_seq: services.store.lastEventSeq(),
        consent_strings: {
          granted: encodeConsentStrings({ ...toolChoice, now_ms }),
          denied: encodeConsentStrings({ purposes: [], vendors: [], now_ms }),
          ...toolChoice,
        },
      }
      return pageJson(exchange.context, settings)
    }),
    file('demo.js', () => assets.demoFile('demo.js')),
    file('demo.css', () => assets.demoFile('demo.css')),
    file('pictures/{file}', ({ file = '' }) => assets.demoPicture(file)),
    ...backendRoutes(pipeline, project),
  ]
}

/** Returns the routes that the demo's page calls on its server. */
function backendRoutes(pipeline: Pipeline, project: DemoProject): Route[] {
  const { services } = pipeline
  const { post, relay } = projectServer(services, project)
  /** The same endpoints on the same store, except that decisions take their time. */
  let slow: Pipeline | undefined
  const slowPipeline = () => {
    slow ??= createPipeline({ ...pipeline, services: { ...services, decision_latency_ms: slowDecisionMs } })
    return slow
  }
  const postRoute = (name: string, endpoint: Endpoint, to: () => Pipeline, complete: Complete): Route => ({
    method: 'POST',
    path: `/_sandbox/demo/api/${name}`,
    body_limit_bytes: endpoint.body_limit_bytes,
    respond: (exchange) => post(to(), exchange, endpoint.path, complete),
  })
  const decisionRoute = (name: string): Route => ({
    method: 'GET',
    path: `/_sandbox/demo/api/${name}`,
    respond(exchange) {
      const { slot_id, ...query } = exchange.request.query as Record<string, string>
      const search = new URLSearchParams(query).toString()
      const url = fillPath(getDecision.path, { slot_id }) + (search && `?${search}`)
      return relay(pipeline, exchange, { method: 'GET', url, headers: {} })
    },
  })
  return [
    postRoute(
      'placement',
      createPlacement,
      () => pipeline,
      (body) => body,
    ),
    decisionRoute('placement'),
    postRoute('slow-placement', createPlacement, slowPipeline, (body) => body),
    decisionRoute('slow-placement'),
    postRoute(
      'consent',
      setConsent,
      () => pipeline,
      ({ expires_in_ms, ...body }) => {
        const now_ms = services.platform.clock.now()
        return typeof expires_in_ms === 'number' ? { ...body, expires_at_ms: now_ms + expires_in_ms } : body
      },
    ),
  ]
}

/** Sends requests with the secret key of the project. */
function projectServer(services: Services, project: DemoProject) {
  return { post, relay }

  /** Adds the project to a JSON object. Other bodies stay unchanged: the v1 endpoint refuses them. */
  function post(through: Pipeline, exchange: OpenExchange, url: string, complete: Complete): Promise<PipelineResponse> {
    const { request } = exchange
    const object = parseJsonObject(request.body.toString('utf8'))
    const body = object === null ? request.body : JSON.stringify({ ...complete(object), client_id: project.client_id })
    const headers = { 'content-type': readHeader(request, 'content-type') ?? '' }
    return relay(through, exchange, { method: 'POST', url, body, headers })
  }

  async function relay(
    through: Pipeline,
    { context }: OpenExchange,
    call: { method: string; url: string; headers: IncomingHttpHeaders; body?: string | Buffer },
  ): Promise<PipelineResponse> {
    const headers = {
      ...call.headers,
      host: new URL(services.url).host,
      authorization: `Bearer ${project.secret_key}`,
      'user-agent': ownAgents.demo,
    }
    const { response } = await respondTo(through, internalRequest({ ...call, headers, signal: context.signal }))
    const own: Record<string, string> = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }
    for (const name of passedOn) {
      const value = response.headers[name]
      if (value !== undefined) own[name] = value
    }
    return { ...response, headers: own }
  }
}

function redirect({ context }: OpenExchange, location: string): PipelineResponse {
  return { status: 302, headers: { 'x-request-id': context.request_id, location }, body: '' }
}

/** A page whose policy allows only styles and scripts with the nonce, and the additions in `policy`. */
function pageResponse(
  { context }: OpenExchange,
  html: string,
  nonce: string,
  { policy = [], headers = {} }: { policy?: readonly string[]; headers?: Record<string, string> } = {},
): PipelineResponse {
  const directives = ["default-src 'none'", `style-src 'nonce-${nonce}'`, ...policy]
  directives.push("base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'")
  return {
    status: 200,
    headers: {
      'x-request-id': context.request_id,
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': directives.join('; '),
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      ...headers,
    },
    body: html,
  }
}

const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='4' fill='%230b6e4f'/%3E%3Cpath d='M4 5h8v2.500H4zm0 4h5v2H4z' fill='%23fff'/%3E%3C/svg%3E"

/** A picker shows a few; a longer list is for the command line. */
const maxPicked = 200

function listCampaigns(campaigns: readonly Campaign[]): DemoSettings['campaigns'] {
  const ownFirst = campaigns.toSorted((a, b) => Number(b.source !== undefined) - Number(a.source !== undefined))
  return ownFirst.slice(0, maxPicked).map(({ campaign_id, sponsor_name }) => ({ campaign_id, sponsor_name }))
}

interface DemoSettings {
  consent_strings: Omit<ConsentToolSetup, 'state' | 'after_ms'>
  /** Proves to the backend that a write comes from this page. */
  token: string | null
  client_id: string
  publishable_key: string
  /** Those that a turn can force: your own first. */
  campaigns: { campaign_id: string; sponsor_name: string }[]
  /** The last event before this page: its timeline starts after it. */
  since_seq: number
}

/**
 * The document of the demo host. Its script builds everything; its policy lets in nothing from elsewhere. `frames` is a
 * space and the origin of frames where it differs from the page's, else empty; `token` the element that has it.
 */
function demoPage(exchange: OpenExchange, frames: string, token: string): PipelineResponse {
  const nonce = randomBytes(16).toString('base64url')
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, interactive-widget=resizes-content">
<meta name="color-scheme" content="light dark">
<title>Demo host</title>${token}
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="/_sandbox/demo/demo.css" nonce="${nonce}">
<script src="/v1/render.js" defer nonce="${nonce}"></script>
<script src="/_sandbox/demo/demo.js" type="module" nonce="${nonce}"></script>
</head>
<body><noscript>The demo host needs JavaScript.</noscript></body>
</html>
`
  return pageResponse(exchange, html, nonce, {
    policy: [
      `script-src 'nonce-${nonce}'`,
      `img-src 'self' data:${frames}`,
      `connect-src 'self'${frames}`,
      `frame-src 'self'${frames}`,
      // It shares the event stream of the tabs of this browser.
      "worker-src 'self'",
    ],
    headers: { 'cross-origin-opener-policy': 'same-origin' },
  })
}
