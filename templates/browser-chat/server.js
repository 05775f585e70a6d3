/**
 * Serves `public/` unchanged, gives the page its settings, and sends the policy that render.js and its frame need.
 * Any other web server will do: see "Without this server" in the README.
 */
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'

const types = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
}

const { base_url, publishable_key } = readSettings(process.env)
const config = JSON.stringify({ base_url, publishable_key })
const service = new URL(base_url).origin
const headers = {
  'content-security-policy': [
    "default-src 'none'",
    `script-src 'self' ${service}`,
    `connect-src 'self' ${service}`,
    `frame-src ${service}`,
    "style-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'referrer-policy': 'strict-origin-when-cross-origin',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-cache',
}

const server = createServer(async ({ url }, response) => {
  const path = new URL(url, 'http://page').pathname.replace(/\/$/, '/index.html')
  if (path === '/config.json') {
    return response.writeHead(200, { ...headers, 'content-type': 'application/json' }).end(config)
  }
  const type = types[path.slice(path.lastIndexOf('.'))]
  const file = type === undefined ? null : await readPublic(path)
  if (file === null) return response.writeHead(404, headers).end('Not found')
  response.writeHead(200, { ...headers, 'content-type': type }).end(file)
})
server.on('error', ({ message }) => fail(`${message}. Set PORT to another one, such as 3001.`))
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log(`Hazelby is at http://localhost:${server.address().port}, with placements of ${base_url}`)
})

/** Returns a file of `public/`, or null. An address has no `..` left, and an escaped slash does not lead elsewhere. */
async function readPublic(path) {
  try {
    return await readFile(new URL(`public${path}`, import.meta.url))
  } catch {
    return null
  }
}

/** Everything in here is public: anyone who opens the page can read it. A secret key must never get this far. */
function readSettings({ SVC_BASE_URL, SVC_PUBLISHABLE_KEY }) {
  if (!SVC_BASE_URL || !SVC_PUBLISHABLE_KEY) {
    fail('SVC_BASE_URL and SVC_PUBLISHABLE_KEY are not set. Try: cp .env.example .env, or npm run dev')
  }
  if (!SVC_PUBLISHABLE_KEY.startsWith('pk_')) {
    fail('SVC_PUBLISHABLE_KEY is no publishable key (pk_...), and everybody would see it. Nothing was started.')
  }
  return { base_url: SVC_BASE_URL.replace(/\/$/, ''), publishable_key: SVC_PUBLISHABLE_KEY }
}

function fail(message) {
  console.error(message)
  process.exit(1)
}
