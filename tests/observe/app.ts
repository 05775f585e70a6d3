/** An integrator's app: pages, and the route of its backend that holds the secret key. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { framedBody, type Page } from './pages.ts'

export interface App extends AsyncDisposable {
  url: string
}

/** Serves one page at `/`, and at `/framed` one with an ad for a frame in it. Routes: `/placement`, of a session of its own; the same `/late`; `/one-session`; `/reshaped`, which render.js cannot read; and `/config`, without an ad. Not `/mistyped`. */
export async function startApp(base_url: string, { body, policy, is_report_only }: Page): Promise<App> {
  const buildDocument = (
    content: string,
  ) => `<!doctype html><html lang="en"><title>App</title><link rel="icon" href="data:,">
<script src="${base_url}/v1/render.js"></script><body style="margin:16px">${content}</body></html>`
  const server = createServer(async (request, response) => {
    const path = request.url ?? '/'
    if (path === '/' || path === '/framed') {
      const header = is_report_only === true ? 'content-security-policy-report-only' : 'content-security-policy'
      const headers = policy === undefined ? {} : { [header]: policy(base_url) }
      const html = buildDocument(path === '/' ? body : framedBody)
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', ...headers }).end(html)
      return
    }
    if (path === '/mistyped') return void response.writeHead(404).end('Not found')
    if (path === '/other') return void response.writeHead(204).end()
    if (path === '/config') {
      const { status } = await fetch(`${base_url}/v1/projects/proj_demo/config`, { headers: { authorization } })
      return void response.writeHead(status).end()
    }
    if (path === '/late') await sleep(1_500)
    const session_id = path === '/one-session' ? 'sess_one' : `sess_${Math.random().toString(36).slice(2)}`
    const answer = await placement(base_url, session_id)
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(path === '/reshaped' ? { ad: answer } : answer))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const authorization = 'Bearer sk_test_sandbox_demo'

async function placement(base_url: string, session_id: string): Promise<unknown> {
  const answer = await fetch(`${base_url}/v1/placements`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({
      client_id: 'proj_demo',
      session_id,
      job_type: 'chat',
      prompt: { topic: 'coffee' },
      overrides: { allowed_formats: ['banner'] },
      slot_hint: { max_width: 300, max_height: 250 },
      consent: { semantic_targeting: true, prompt_shared: false },
    }),
  })
  return answer.json()
}
