/**
 * The integrator's page, and the bare baseline: a plain iframe with the same picture from a server that only reads
 * files. The page is served at `localhost`, the baseline at `127.0.0.1`, so both frames are cross-site.
 */
import { readFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

const [sandbox_url] = process.argv.slice(2)
const fixtures = join(import.meta.dirname, '../fixtures')
const files = new Map<string, Buffer>()
const html = { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' }

const page = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Host</title><link rel="icon" href="data:,">
<script src="${sandbox_url}/v1/render.js"></script>
<div id="box" style="overflow:auto;width:720px;height:560px"><div id="slot"></div><div style="height:2000px"></div></div>`

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://host')
  if (pathname === '/') return response.writeHead(200, html).end(page)
  if (pathname === '/plain') return response.writeHead(200, html).end(plainFrame(searchParams))
  return sendFile(response, findFile(pathname, searchParams))
})
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`)
})
process.on('SIGTERM', () => process.exit(0))

function plainFrame(given: URLSearchParams): string {
  const media = given.get('poster')
    ? `<video src="${attribute(given.get('src'))}" poster="${attribute(given.get('poster'))}" muted playsinline preload="metadata"></video>`
    : `<img src="${attribute(given.get('src'))}" alt="">`
  return `<!doctype html><html lang="en"><meta charset="utf-8"><style>body{margin:0}img,video{display:block;width:100%}</style>${media}`
}

/** Escaped for an attribute value. */
function attribute(text: string | null): string {
  return `${text}`.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
}

/** The file behind a path of the emulator. */
function findFile(path: string, query: URLSearchParams): string {
  const size = `${query.get('width')}x${query.get('height')}`
  const seconds = Number(query.get('duration_ms')) / 1_000
  if (path === '/v1/test-assets/banner') return `test-assets/banner-${size}.png`
  if (path === '/v1/test-assets/clip') {
    return `test-assets/clip-${size}-${seconds}s.${query.has('poster') ? 'webp' : 'mp4'}`
  }
  return path.replace('/assets/', '')
}

function sendFile(response: ServerResponse, name: string): void {
  const extension = /^(?:test-assets|creatives\/[\w-]+)\/[\w-]+\.(webp|png|mp4)$/.exec(name)?.[1]
  if (extension === undefined) return void response.writeHead(404).end()
  const body = files.get(name) ?? readFileSync(join(fixtures, name))
  files.set(name, body)
  response.writeHead(200, {
    'content-type': extension === 'mp4' ? 'video/mp4' : `image/${extension}`,
    'content-length': body.length,
    'cache-control': 'public, max-age=3600',
  })
  response.end(body)
}
