/**
 * The inspector at /_sandbox/: one document for all its addresses, its files, and its data about this start. Where an
 * endpoint has the same path, an address opened in a tab shows the page, and any other request gets the JSON; `?raw` at
 * the end of the address shows the JSON in a tab too. The same page reports an unknown address.
 */
import { isLoopback } from '#foundation/http.ts'
import type { Services } from '#operations/context.ts'
import { documentToken, type GuardOptions, sharedPaths } from '#pipeline/guards.ts'
import { type OpenExchange, type Request, type Route, readHeader } from '../exchange.ts'
import { type Assets, assetResponse } from '../files/assets.ts'
import { pageJson } from './page-json.ts'

const root = '/_sandbox/inspector'

/** Addresses that have only a page. The command line and `svc open` lead to those with identifiers. */
const ownPaths = [
  '/_sandbox/',
  '/_sandbox/playground',
  '/_sandbox/controls',
  '/_sandbox/demand',
  '/_sandbox/console',
  '/_sandbox/reference',
  '/_sandbox/billing/reconcile',
  '/_sandbox/beacons/{beacon_id}',
  '/_sandbox/callbacks/{slot_id}',
  '/_sandbox/campaigns/{campaign_id}',
  '/_sandbox/consent/{consent_id}',
  '/_sandbox/evidence/{entry}',
  '/_sandbox/jobs/{job_id}',
  '/_sandbox/keys/{key_id}',
  '/_sandbox/sessions/{session_id}',
  '/_sandbox/id/{id}',
] as const

const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='4' fill='%230b6e4f'/%3E%3Cpath d='M4 5h8v2.500H4zm0 4h5v2H4z' fill='%23fff'/%3E%3C/svg%3E"

const jsonLinks = [...sharedPaths]
  .filter((path) => !path.includes('{'))
  .map((path) => `<a href="${path}?raw">${path}</a>`)
  .join(', ')

/** The id of the style sheet keeps a library from adding its own, which the policy would refuse. */
const createHtml = (token: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>svc sandbox</title>${token}
<link rel="icon" href="${icon}">
<link rel="stylesheet" id="react-aria-pressable-style" href="${root}/inspector.css">
<script src="${root}/inspector.js" type="module"></script>
</head>
<body><div id="root"></div><noscript><p>The inspector needs JavaScript. The same data as JSON: ${jsonLinks}.</p></noscript></body>
</html>
`

/** A project of the seed with its well-known keys. */
interface SeededProject {
  client_id: string
  secret_key: string
  live_secret_key: string
  publishable_key: string
}

/** @param projects the projects of the seed, whose keys are not secret */
export function inspectorRoutes(
  services: Services,
  assets: Assets,
  guard: GuardOptions,
  projects: readonly SeededProject[],
): { routes: Route[]; page: Route['respond'] } {
  const page = (exchange: OpenExchange) => {
    const { context, request } = exchange
    const own = ownAddress(services, request)
    const headers = { 'x-request-id': context.request_id }
    if (own === null) {
      const html = createHtml(documentToken(request, guard, services.access.start_token))
      return { status: 200, headers: { ...headers, ...createHeaders(services) }, body: html }
    }
    return { status: 302, headers: { ...headers, location: own, vary: 'accept, sec-fetch-mode' }, body: '' }
  }
  const get = (path: string, respond: Route['respond']): Route => ({ method: 'GET', path, respond, isOpen: true })
  return {
    page,
    routes: [
      ...ownPaths.map((path) => ({ ...get(path, page), isPage: true })),
      get(`${root}/{file}`, async (exchange) => {
        const { file = '' } = exchange.request.params
        const cache = file.startsWith('chunk-') ? 'public, max-age=31536000, immutable' : 'no-cache'
        const headers = {
          'cache-control': cache,
          'x-content-type-options': 'nosniff',
          // A worker has the policy of its own script.
          'content-security-policy': "default-src 'none'; connect-src 'self'",
        }
        return assetResponse(exchange, await assets.inspectorFile(file), headers)
      }),
      {
        method: 'GET',
        path: `${root}/session`,
        respond: (exchange) =>
          pageJson(exchange.context, {
            token: exchange.request.holder?.text ?? null,
            base_url: services.base_url,
            version: services.version,
            is_public: guard.needsToken,
            last_event_seq: services.store.lastEventSeq(),
            projects,
          } satisfies InspectorSession),
      },
    ],
  }
}

/**
 * Returns the address to redirect to when this computer was addressed by another name: writes must come from the
 * sandbox's own origin. Null when the page is there already.
 */
function ownAddress({ url, base_url }: Services, request: Request): string | null {
  const host = readHeader(request, 'host') ?? ''
  if ([url, base_url].some((own) => new URL(own).host === host)) return null
  const target = new URL(request.url, url)
  return isLoopback(new URL(`http://${host}`).hostname) ? `${url}${target.pathname}${target.search}` : null
}

/** The boot data of the inspector. `token` is the one that the page sent: a script that only shares the origin gets none. */
interface InspectorSession {
  token: string | null
  base_url: string
  version: string
  is_public: boolean
  last_event_seq: number
  projects: readonly SeededProject[]
}

/** Nothing is loaded from elsewhere, and nothing inline runs. The only frames are those of placements. */
function createHeaders({ url, base_url }: Services): Record<string, string> {
  const frames = url === base_url ? '' : ` ${base_url}`
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src 'self' data:${frames}`,
    `connect-src 'self'${frames}`,
    `frame-src 'self'${frames}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ]
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy.join('; '),
    'cross-origin-opener-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    // A script could read a stored copy, with its token.
    'cache-control': 'no-store',
    vary: 'accept, sec-fetch-mode',
  }
}
