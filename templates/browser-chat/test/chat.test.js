/** The server's start, and the page's requests against the sandbox that `npm test` starts. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { placementRequest } from '../public/placement-request.js'

const { SVC_BASE_URL: service, SVC_PUBLISHABLE_KEY: publishable_key, SVC_SECRET_KEY: secret_key } = process.env
let server
let page

before(async () => {
  server = start({ PORT: '0' })
  const [line] = await once(server.stdout.setEncoding('utf8'), 'data')
  page = line.match(/http:\S+?(?=,)/)[0]
})
after(() => server.kill())

test('the page comes with a policy that lets render.js and its frame in, and nothing else', async () => {
  const response = await fetch(page)
  assert.equal(response.status, 200)
  const policy = response.headers.get('content-security-policy')
  assert.match(policy, /^default-src 'none'; /)
  for (const directive of [
    `script-src 'self' ${service};`,
    `connect-src 'self' ${service};`,
    `frame-src ${service};`,
  ]) {
    assert.ok(policy.includes(directive), `${directive} is missing in ${policy}`)
  }
  assert.doesNotMatch(await response.text(), /render\.js/, 'nothing of the service is loaded before consent')
})

test('the page learns the public settings, and nothing of the server can be read', async () => {
  const config = await fetch(`${page}/config.json`)
  assert.deepEqual(await config.json(), { base_url: service, publishable_key })
  for (const path of ['/server.js', '/.env', '/..%2fserver.js', '/%2e%2e/server.js', '/package.json']) {
    assert.equal((await fetch(page + path)).status, 404, path)
  }
})

test('a secret key in the place of the publishable one stops the server before it serves anything', async () => {
  const wrong = start({ PORT: '0', SVC_PUBLISHABLE_KEY: secret_key })
  const [message] = await once(wrong.stderr.setEncoding('utf8'), 'data')
  assert.match(message, /no publishable key/)
  assert.ok(!message.includes(secret_key))
  assert.equal((await once(wrong, 'close'))[0], 1)
})

test('a placement fills for this origin, and its frame may be shown on it', async () => {
  const request = placementRequest(consent(true), 'Which coffee beans?', 640)
  const { status, placement, authoritative_consent } = await place(request)
  assert.equal(status, 'ready')
  assert.equal(placement.format, 'native')
  assert.equal(placement.render.label_text, 'Sponsored')
  assert.deepEqual(authoritative_consent.purposes, { semantic_targeting: true, prompt_shared: true })
  const frame = await fetch(placement.render.frame_url)
  assert.equal(frame.status, 200)
  assert.match(frame.headers.get('content-security-policy'), /frame-ancestors [^;]*http:\/\/localhost:/)
})

test('a question that may not be shared is not sent', async () => {
  const request = placementRequest(consent(false), 'Which coffee beans?', 640)
  assert.equal('prompt' in request, false)
  const { authoritative_consent } = await place(request)
  assert.deepEqual(authoritative_consent.purposes, { semantic_targeting: false, prompt_shared: false })
})

function start(settings) {
  return spawn(process.execPath, ['server.js'], { env: { ...process.env, ...settings } })
}

function consent(shares) {
  const purposes = { semantic_targeting: shares, prompt_shared: shares }
  return { decision: 'granted', purposes, session_id: crypto.randomUUID() }
}

/** As render.js does: exchanges the key for a token and requests a placement with it, from the page's origin. */
async function place(request) {
  const { activation_token, project_id } = await post('/v1/browser/activate', { publishable_key })
  return post('/v1/placements', { client_id: project_id, ...request }, activation_token)
}

async function post(path, body, token) {
  const response = await fetch(service + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: page, ...(token && { authorization: `Bearer ${token}` }) },
    body: JSON.stringify(body),
  })
  const answer = await response.json()
  assert.equal(response.status, 200, JSON.stringify(answer))
  return answer
}
