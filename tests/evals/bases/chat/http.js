/** A server in the shape of Express, on Node alone: handlers by route, JSON bodies, a session in a cookie, files of a folder. */
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'

const types = { html: 'text/html; charset=utf-8', js: 'text/javascript; charset=utf-8' }

export function createApp(folder) {
  const routes = new Map()
  const app = {
    /** Sent with every response: those of headers.json, where there is one. */
    headers: existsSync('headers.json') ? JSON.parse(readFileSync('headers.json', 'utf8')) : {},
    get: (path, handle) => routes.set(`GET ${path}`, handle),
    post: (path, handle) => routes.set(`POST ${path}`, handle),
    listen: (port) => createServer(respond).listen(port, '127.0.0.1'),
  }
  return app

  async function respond(request, response) {
    const { pathname, searchParams } = new URL(request.url, 'http://app')
    for (const [name, value] of Object.entries(app.headers)) response.setHeader(name, value)
    response.json = (body, status = 200) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }
    const handle = routes.get(`${request.method} ${pathname}`)
    if (handle === undefined) return sendFile(pathname.replace(/\/$/, '/index.html'), response)
    try {
      request.raw = Buffer.concat(await request.toArray())
      request.query = searchParams
      request.body = request.raw.length === 0 ? {} : JSON.parse(request.raw)
      request.session = /session=([\w-]+)/.exec(request.headers.cookie)?.[1] ?? randomUUID()
      response.setHeader('set-cookie', `session=${request.session}; HttpOnly; SameSite=Lax; Path=/`)
      await handle(request, response)
    } catch (error) {
      console.error(error)
      if (!response.headersSent) response.json({ error: 'internal_error' }, 500)
    }
  }

  async function sendFile(path, response) {
    const file = await readFile(`${folder}${path}`).catch(() => null)
    if (file === null) return response.writeHead(404).end('Not found')
    response.writeHead(200, { 'content-type': types[path.split('.').at(-1)] ?? 'text/plain' }).end(file)
  }
}
