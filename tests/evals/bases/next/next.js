/**
 * Serves an app in the shape of Next's app router, which is not installed here: app/page.jsx in React's StrictMode, and
 * app/api/NAME/route.js with GET and POST from Request to Response. NEXT_PUBLIC_ variables are in the page, as with Next.
 */
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import { build } from 'vite'

const html = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Chat</title><link rel="icon" href="data:,">
<div id="root"></div><script type="module" src="/page.js"></script></html>`
const entry = `import { createElement, StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import Page from './app/page.jsx'
createRoot(document.getElementById('root')).render(createElement(StrictMode, null, createElement(Page)))`
const variables = Object.entries(process.env).filter(([name]) => name.startsWith('NEXT_PUBLIC_'))
const { output } = await build({
  configFile: false,
  logLevel: 'error',
  define: {
    'process.env.NODE_ENV': '"development"',
    ...Object.fromEntries(variables.map(([name, value]) => [`process.env.${name}`, JSON.stringify(value)])),
  },
  plugins: [
    {
      name: 'entry',
      resolveId: (id) => (id.endsWith('entry.jsx') ? `${process.cwd()}/entry.jsx` : null),
      load: (id) => (id.endsWith('entry.jsx') ? entry : null),
    },
  ],
  build: { write: false, minify: false, rolldownOptions: { input: 'entry.jsx' } },
})
const page = output[0].code

createServer(async (incoming, outgoing) => {
  const url = new URL(incoming.url, `http://${incoming.headers.host}`)
  if (url.pathname === '/') return outgoing.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(html)
  if (url.pathname === '/page.js') return outgoing.writeHead(200, { 'content-type': 'text/javascript' }).end(page)
  const file = `${process.cwd()}/app${url.pathname.replaceAll('..', '')}/route.js`
  const handle = existsSync(file) ? (await import(file))[incoming.method] : undefined
  if (handle === undefined) return outgoing.writeHead(404).end('Not found')
  const body = Buffer.concat(await incoming.toArray())
  const request = new Request(url, {
    method: incoming.method,
    headers: incoming.headers,
    body: body.length > 0 ? body : null,
  })
  const response = await handle(request).catch((error) => {
    console.error(error)
    return new Response('Internal error', { status: 500 })
  })
  outgoing
    .writeHead(response.status, Object.fromEntries(response.headers))
    .end(Buffer.from(await response.arrayBuffer()))
}).listen(process.env.PORT, '127.0.0.1')
