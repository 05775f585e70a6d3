/**
 * The sandbox's own pages: the home page, and the demo host at /_sandbox/demo with the backend that plays the
 * integrator's server. The backend holds the secret key and sends its requests through the pipeline like any server, so
 * that journal, rate limits, faults and errors are the same; status, body and the headers that matter go back unchanged.
 */
import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Endpoint } from '../../src/contract/endpoint.ts'
import { contract } from '../../src/contract/index.ts'
import { fillPath } from '../../src/foundation/endpoint-path.ts'
import { type JsonObject, parseJsonObject } from '../../src/foundation/json.ts'
import type { Services } from '../operations/context.ts'
import { type Exchange, headerOf, internalRequest, type Response, type Route } from './exchange.ts'
import { type Asset, type Assets, assetResponse } from './media.ts'
import { createPipeline, type Pipeline, respondTo } from './pipeline.ts'
import type { GuardOptions } from './routes.ts'

const { 'consent.set': setConsent, 'decisions.get': getDecision, 'placements.create': createPlacement } = contract

/** How long a decision of `slow-placement` takes, milliseconds: longer than its first response waits. */
const slow_decision_ms = 4_000

/** The headers of a v1 response that go back to the page. */
const passedOn = ['content-type', 'date', 'retry-after', 'x-request-id', 'x-sandbox-warning'] as const

/** The project that the demo host is a part of. */
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
  const file = (path: string, find: (params: Exchange['request']['params']) => Promise<Asset | null>) =>
    open(`/_sandbox/demo/${path}`, async (exchange) => {
      const headers = { 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' }
      return assetResponse(exchange, await find(exchange.request.params), headers)
    })
  return [
    get('/', (exchange) => redirect(exchange, '/_sandbox/')),
    { ...get('/_sandbox/', (exchange) => homePage(exchange, services, guard)), isPage: true },
    get('/_sandbox/demo', (exchange) => {
      const { url, base_url, store } = services
      const isOwn = [url, base_url].some((own) => new URL(own).host === headerOf(exchange.request, 'host'))
      if (!isOwn) return redirect(exchange, `${base_url}/_sandbox/demo${new URL(exchange.request.url, url).search}`)
      const { client_id, publishable_key } = project
      const since_seq = store.lastEventSeq()
      return demoPage(exchange, base_url === url ? '' : ` ${base_url}`, {
        token: guard.admin_token,
        client_id,
        publishable_key,
        since_seq,
      })
    }),
    file('demo.js', () => assets.demoFile('demo.js')),
    file('demo.css', () => assets.demoFile('demo.css')),
    file('pictures/{file}', ({ file = '' }) => assets.demoPicture(file)),
    ...backendRoutes(pipeline, project),
  ]
}

/** What the page of the demo host asks its server for. */
function backendRoutes(pipeline: Pipeline, project: DemoProject): Route[] {
  const { services } = pipeline
  /** The same endpoints on the same store, except that decisions take their time. */
  let slow: Pipeline | undefined
  const slowPipeline = () => {
    slow ??= createPipeline({ ...pipeline, services: { ...services, decision_latency_ms: slow_decision_ms } })
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

  /** Adds the project to a JSON object. Any other body goes on unchanged: the v1 endpoint refuses it. */
  function post(through: Pipeline, exchange: Exchange, url: string, complete: Complete): Promise<Response> {
    const { request } = exchange
    const object = parseJsonObject(request.body.toString('utf8'))
    const body = object === null ? request.body : JSON.stringify({ ...complete(object), client_id: project.client_id })
    const headers = { 'content-type': headerOf(request, 'content-type') ?? '' }
    return relay(through, exchange, { method: 'POST', url, body, headers })
  }

  async function relay(
    through: Pipeline,
    { context }: Exchange,
    call: { method: string; url: string; headers: IncomingHttpHeaders; body?: string | Buffer },
  ): Promise<Response> {
    const headers = {
      ...call.headers,
      host: new URL(services.url).host,
      authorization: `Bearer ${project.secret_key}`,
      'user-agent': 'demo-host',
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

function redirect({ context }: Exchange, location: string): Response {
  return { status: 302, headers: { 'x-request-id': context.request_id, location }, body: '' }
}

/** A page whose policy lets only styles and scripts with the nonce run, and what `policy` adds. */
function pageResponse(
  { context }: Exchange,
  html: string,
  nonce: string,
  { policy = [], headers = {} }: { policy?: readonly string[]; headers?: Record<string, string> } = {},
): Response {
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

const links: readonly (readonly [string, string])[] = [
  ['/_sandbox/demo', 'The demo host: five AI surfaces with a sponsored slot, and a live timeline'],
  ['/_sandbox/docs/', 'The documentation: guides, reference, and a page for every reason_code'],
  ['/_sandbox/placements', 'Placements, newest first; add the slot_id for the decision trace'],
  ['/_sandbox/beacons', 'Beacons, accepted and rejected, with their verdict'],
  ['/_sandbox/requests', 'The request journal'],
  ['/_sandbox/events?since_seq=0', 'Events as they happen'],
  ['/_sandbox/evidence/verify', 'The evidence chains, verified now'],
  ['/_sandbox/info', 'Version, database, clock, projects'],
  ['/_sandbox/contract', 'What is documented, observed and assumed'],
  ['/_sandbox/openapi.json', 'The OpenAPI 3.1 document'],
]

const homeStyle = `
:root { color-scheme: light dark; --ink: #1b1f24; --quiet: #57606a; --paper: #fff; --line: #d8dee4; --accent: #0b6e4f }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --quiet: #9198a1; --paper: #10151b; --line: #2d343c; --accent: #4cc38a } }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif }
main { max-width: 44rem; margin: 0 auto; padding: 3rem 1.25rem }
h1 { font-size: 1.5rem; margin: 0 0 .25rem } p { margin: 0 0 2rem; color: var(--quiet) }
dl { margin: 0 } dt { border-top: 1px solid var(--line); padding-top: .75rem } dd { margin: 0 0 .75rem; color: var(--quiet) }
a { color: var(--accent); font: 15px ui-monospace, monospace }`

/** What a browser sees at the sandbox's own address: that it runs, and where to look. */
function homePage(
  exchange: Exchange,
  { version, base_url }: Services,
  { isPublic, admin_token }: GuardOptions,
): Response {
  const nonce = randomBytes(16).toString('base64url')
  // Whoever sees this page has the token.
  const address = (path: string) =>
    isPublic ? `${path}${path.includes('?') ? '&amp;' : '?'}token=${admin_token}` : path
  const items = links.map(([path, text]) => `<dt><a href="${address(path)}">${path}</a></dt><dd>${text}</dd>`).join('')
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>svc sandbox</title><style nonce="${nonce}">${homeStyle}</style><main><h1>The sandbox is running</h1><p>svc ${version} at ${base_url}</p><dl>${items}</dl></main></html>`
  return pageResponse(exchange, html, nonce)
}

const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='4' fill='%230b6e4f'/%3E%3Cpath d='M4 5h8v2.500H4zm0 4h5v2H4z' fill='%23fff'/%3E%3C/svg%3E"

interface DemoSettings {
  /** Proves to the backend that a write comes from this page. */
  token: string
  client_id: string
  publishable_key: string
  /** The last event before this page: its timeline starts after it. */
  since_seq: number
}

/**
 * The document of the demo host. Its script builds everything; its policy lets in nothing from elsewhere. `frames` is the
 * origin of frames where it is not that of the page, after a space.
 */
function demoPage(exchange: Exchange, frames: string, settings: DemoSettings): Response {
  const nonce = randomBytes(16).toString('base64url')
  const json = JSON.stringify(settings).replaceAll('<', '\\u003c')
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, interactive-widget=resizes-content">
<meta name="color-scheme" content="light dark">
<title>Demo host</title>
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="/_sandbox/demo/demo.css" nonce="${nonce}">
<script type="application/json" id="settings" nonce="${nonce}">${json}</script>
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
    ],
    headers: { 'cross-origin-opener-policy': 'same-origin' },
  })
}
