/**
 * The integrator's page, and the bare baseline: a plain iframe with the same picture from a server that only reads
 * files. The page is asked for at `localhost`, the baseline at `127.0.0.1`, so that both frames are of another site.
 */
import { readFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

const [sandbox_url] = process.argv.slice(2)
const creatives = join(import.meta.dirname, '../fixtures/creatives')
const files = new Map<string, Buffer>()
const html = { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' }

const page = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Host</title><link rel="icon" href="data:,">
<script src="${sandbox_url}/v1/render.js"></script>
<div id="box" style="overflow:auto;width:720px;height:560px"><div id="slot"></div><div style="height:2000px"></div></div>`

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://host')
  if (pathname === '/') return response.writeHead(200, html).end(page)
  if (pathname === '/plain') return response.writeHead(200, html).end(plainFrame(searchParams))
  return sendFile(response, pathname.replace('/assets/creatives/', ''))
})
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`)
})
process.on('SIGTERM', () => process.exit(0))

function plainFrame(given: URLSearchParams): string {
  const media = given.get('poster')
    ? `<video src="${given.get('src')}" poster="${given.get('poster')}" muted playsinline preload="metadata"></video>`
    : `<img src="${given.get('src')}" alt="">`
  return `<!doctype html><html lang="en"><meta charset="utf-8"><style>body{margin:0}img,video{display:block;width:100%}</style>${media}`
}

function sendFile(response: ServerResponse, name: string): void {
  if (!/^[\w-]+\/[\w.-]+\.(webp|mp4)$/.test(name)) return void response.writeHead(404).end()
  const body = files.get(name) ?? readFileSync(join(creatives, name))
  files.set(name, body)
  const media_type = name.endsWith('mp4') ? 'video/mp4' : 'image/webp'
  response.writeHead(200, {
    'content-type': media_type,
    'content-length': body.length,
    'cache-control': 'public, max-age=3600',
  })
  response.end(body)
}
