/** The page that is tried without --url: the documented integration with a backend, and nothing else. */

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Client } from '#client/client.ts'
import { listeningPort } from '#foundation/http.ts'

interface OwnPage {
  url: string
  close(): Promise<void>
}

/** Serves the page and the route of its backend on a free port. `client` has the secret key, `run` names its sessions. */
export async function openOwnPage(base_url: string, client: Client, client_id: string, run: string): Promise<OwnPage> {
  let count = 0
  const server = createServer(async (request, response) => {
    if (request.url !== '/placement') {
      response.writeHead(request.url === '/' ? 200 : 404, { 'content-type': 'text/html; charset=utf-8' })
      return void response.end(request.url === '/' ? pageHtml(base_url) : '')
    }
    count++
    const body = {
      client_id,
      session_id: `sess_hosts_${run}_${count}`,
      job_type: 'chat' as const,
      prompt: { topic: 'coffee' },
      overrides: { allowed_formats: ['banner' as const] },
      slot_hint: { max_width: 300, max_height: 250 },
      consent: { semantic_targeting: true, prompt_shared: false },
    }
    try {
      const placement = await client.placements.create({ body, query: { wait_ms: 1_500 } })
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(placement))
    } catch {
      response.writeHead(502).end()
    }
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://localhost:${listeningPort(server)}/`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function pageHtml(base_url: string): string {
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>A turn with an ad</title>
<link rel="icon" href="data:,">
<script src="${base_url}/v1/render.js"></script>
<style>body { margin: 10px; font: 16px/1.5 system-ui, sans-serif } #turn { min-height: 300px }</style>
<p>The answer of the assistant appears here.</p>
<div id="turn"></div>
<p>The next turn appears here.</p>
<script>
  SponsoredPlacement.startTurn({ target: '#turn', endpoint: '/placement' })
</script>
</html>`
}
