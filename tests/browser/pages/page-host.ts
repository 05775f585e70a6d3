/**
 * The integrator's app of the table: it serves the pages on `http://localhost:<port>`, where the emulator is at
 * `http://127.0.0.1:<port>`, and has the backend that they call. A second one, on another port, is a backend of its own origin.
 */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Client } from '#client/index.ts'
import { pageSnippet } from '#foundation/page-snippet.ts'
import type { Sandbox } from '#sandbox/index.ts'
import type { PageCase, PageOfCases } from './case.ts'
import { preparePage } from './prelude.ts'

export interface PageHost extends AsyncDisposable {
  /** The address of a page; `run` is the first part of the ids of its sessions. */
  urlOf(page: PageOfCases, run: string): string
  /** Placements that the backend was asked for in a session. */
  placements(session_id: string): number
}

const nonce = 'bm9uY2U'

/** Opens the app for these pages. */
export async function openPageHost(sandbox: Sandbox, client: Client, pages: readonly PageOfCases[]): Promise<PageHost> {
  const byName = new Map(pages.map((page) => [page.name, page]))
  const counts = new Map<string, number>()
  const script = await (await fetch(`${sandbox.url}/v1/render.js`)).text()
  const integrity = `sha384-${createHash('sha384').update(script).digest('base64')}`
  const main = await listen(respond)
  const other = await listen(respondToMember)
  const replacements: Record<string, string> = {
    '{origin}': sandbox.url,
    '{other}': urlOf(other),
    '{nonce}': nonce,
    '{integrity}': integrity,
    '{stub}': `${pageSnippet('', nonce).slice(0, -1).join('\n')}\n`,
  }
  const filled = (text: string) =>
    text.replace(/\{(?:origin|other|nonce|integrity|stub)\}/g, (name) => replacements[name]!)

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://host')
    if (pathname === '/api/placement') return forward(request, response, searchParams)
    if (pathname === '/blank')
      return send(response, 'text/html', '<!doctype html><title>Blank</title><body style="margin:0">')
    if (pathname === '/members') return void response.writeHead(302, { location: '/blank?next=members' }).end()
    // A collector that takes its time: until the page has gone.
    if (pathname === '/slow') return
    if (pathname.startsWith('/gone/')) return void request.socket.destroy()
    if (pathname === '/empty/render.js') return send(response, 'text/javascript', '')
    if (pathname === '/old/render.js') return send(response, 'text/javascript', oldScript)
    const [, , name = '', file = ''] = pathname.split('/')
    const page = byName.get(name)
    if (!pathname.startsWith('/page/') || page === undefined) return void response.writeHead(404).end()
    if (file === 'worker.js') return send(response, 'text/javascript', worker)
    for (const [header, value] of Object.entries(page.headers ?? {})) response.setHeader(header, filled(value))
    send(
      response,
      'text/html; charset=utf-8',
      filled(buildDocument(page)).replace('{prelude}', () =>
        buildPrelude(page, sandbox.url, searchParams.get('run') ?? ''),
      ),
    )
  }

  /** A backend of another origin, which knows its users by a cookie. */
  async function respondToMember(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://host')
    response.setHeader('access-control-allow-origin', request.headers.origin ?? '*')
    response.setHeader('access-control-allow-credentials', 'true')
    response.setHeader('access-control-allow-headers', 'content-type')
    response.setHeader('access-control-expose-headers', 'date')
    if (request.method === 'OPTIONS') return void response.writeHead(204).end()
    if (pathname === '/sign-in')
      return void response.writeHead(204, { 'set-cookie': 'member=1; HttpOnly; Path=/' }).end()
    if (!request.headers.cookie?.includes('member=1')) return void response.writeHead(401).end('{}')
    return forward(request, response, searchParams)
  }

  async function forward(request: IncomingMessage, response: ServerResponse, query: URLSearchParams): Promise<void> {
    const headers = { authorization: `Bearer ${sandbox.keys.secret_key}`, 'content-type': 'application/json' }
    const slot_id = query.get('slot_id')
    const upstream = slot_id
      ? await fetch(`${sandbox.url}/v1/decisions/${slot_id}?wait_ms=${query.get('wait_ms')}`, { headers })
      : await fetch(`${sandbox.url}/v1/placements`, { method: 'POST', headers, body: await placementBody(request) })
    response.writeHead(upstream.status, {
      'content-type': 'application/json',
      date: upstream.headers.get('date') ?? '',
    })
    response.end(await upstream.text())
  }

  /** Counts the request, and stores the consent that the page asks for. */
  async function placementBody(request: IncomingMessage): Promise<string> {
    const text = (await request.toArray()).join('')
    const { consent_expires_in_ms, ...body } = JSON.parse(text) as {
      session_id: string
      consent_expires_in_ms?: number
    }
    const { session_id } = body
    counts.set(session_id, (counts.get(session_id) ?? 0) + 1)
    const { client_id } = sandbox.keys
    if (consent_expires_in_ms !== undefined) {
      const expires_at_ms = Date.now() + consent_expires_in_ms
      await client.consent.set({ body: { client_id, session_id, decision: 'granted', expires_at_ms } })
    }
    return JSON.stringify({ client_id, ...body })
  }

  return {
    urlOf: ({ name }, run) => `${urlOf(main)}/page/${name}/?run=${run}`,
    placements: (session_id) => counts.get(session_id) ?? 0,
    async [Symbol.asyncDispose]() {
      for (const server of [main, other]) {
        server.closeAllConnections()
        await new Promise((resolve) => server.close(resolve))
      }
    },
  }
}

/** Returns the document of a page: the prelude, what is loaded first, the sections of its cases, and their code. */
function buildDocument(page: PageOfCases): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${page.name}</title><link rel="icon" href="data:,">
<style nonce="{nonce}">body { margin: 8px } section { position: relative; float: left; width: 330px; height: 296px }</style>
<script nonce="{nonce}">{prelude}</script>
${page.head ?? '<script src="{origin}/v1/render.js"></script>'}
${page.cases.map(({ id, html }) => `<section id="${id}">${html ?? '<div class="slot"></div>'}</section>`).join('\n')}
<script nonce="{nonce}">${page.cases.map(buildCode).join('\n')}</script>`
}

/** Returns the call of the prelude. Nothing in its source is replaced. */
function buildPrelude({ cases }: PageOfCases, origin: string, run: string): string {
  return `(${preparePage.toString()})(${JSON.stringify({ origin, run, is_single: cases.length === 1 })})`
}

const parameters = '(section, slot, body, start, origin)'

/** Returns the code of a case, as an argument of the prelude. */
function buildCode({ id, script = 'start()', phases }: PageCase): string {
  const values = phases.map(
    ({ values = {} }) =>
      `{ ${Object.keys(values).map((expression) => `${JSON.stringify(expression)}: ${parameters} => (${expression})`)} }`,
  )
  const runs = phases.map(({ run = '' }) => `async ${parameters} => { ${run} }`)
  return `hostCase('${id}', { script: async ${parameters} => { ${script} }, runs: [${runs}], values: [${values}] })`
}

/** A render.js from before the stub: it replaces whatever is there. */
const oldScript = `window.SponsoredPlacement = { version: 'old', withTurn: async (options, work) => work(), getEvents: () => [] }`

/** Responds to the next beacons in place of the network. */
const worker = `
let left = 0
let mode = 'html'
addEventListener('install', () => skipWaiting())
addEventListener('activate', (event) => event.waitUntil(clients.claim()))
addEventListener('message', ({ data, ports }) => { mode = data.mode; left = data.count; ports[0].postMessage('ready') })
const responses = {
  html: () => new Response('<h1>You are offline</h1>', { headers: { 'content-type': 'text/html' } }),
  empty: () => new Response(''),
  json: () => Response.json({}),
  redirect: () => fetch('/blank'),
  error: () => Response.error(),
}
addEventListener('fetch', (event) => {
  if (!event.request.url.endsWith('/v1/beacons') || left <= 0) return
  left -= 1
  event.respondWith(responses[mode]())
})
`

function send(response: ServerResponse, type: string, text: string): void {
  response.writeHead(200, { 'content-type': type, 'cache-control': 'no-store' }).end(text)
}

async function listen(respond: (request: IncomingMessage, response: ServerResponse) => Promise<void>): Promise<Server> {
  const server = createServer((request, response) => {
    respond(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}

function urlOf(server: Server): string {
  return `http://localhost:${(server.address() as AddressInfo).port}`
}
