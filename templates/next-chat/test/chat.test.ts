/** The built app as it is served, against the sandbox that `npm test` brings. `npm test` builds it first. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, test } from 'node:test'

const { SVC_BASE_URL: service, SVC_SECRET_KEY: secret_key = '' } = process.env
const root = join(import.meta.dirname, '..')
let server: ChildProcess
let app = ''

before(async () => {
  server = spawn(process.execPath, ['next.mjs', 'start', '--port', '0'], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  for await (const line of createInterface({ input: server.stdout! })) {
    app = line.match(/http:\/\/localhost:\d+/)?.[0] ?? app
    if (line.includes('Ready')) break
  }
  server.stdout!.resume()
})
after(() => server.kill())

test('the page comes with a policy that lets render.js and its frame in, and scripts by nonce only', async () => {
  const response = await fetch(app)
  const directives = (response.headers.get('content-security-policy') ?? '').split('; ').map((text) => text.trim())
  assert.ok(directives.includes("default-src 'none'"))
  assert.ok(directives.includes(`frame-src ${service}`))
  assert.ok(directives.includes(`connect-src 'self' ${service}`))
  const nonce = directives.join().match(/script-src 'self' 'nonce-(.+?)'/)?.[1]
  const page = await response.text()
  assert.ok(nonce && page.includes(`nonce="${nonce}"`))
  assert.doesNotMatch(page, /<script[^>]*render\.js/, 'nothing of the service is loaded before consent')
})

test('what browsers get holds no secret key', async () => {
  const directory = join(root, '.next/static')
  const names = (await readdir(directory, { recursive: true })).filter((name) => /\.(js|css)$/.test(name))
  const files = await Promise.all(names.map((name) => readFile(join(directory, name), 'utf8')))
  const everything = [...files, await (await fetch(app)).text()].join('\n')
  assert.ok(files.length > 0 && secret_key !== '')
  assert.ok(!everything.includes(secret_key))
  assert.doesNotMatch(everything, /SVC_SECRET_KEY|sk_(test|live)_/)
})

test('without consent no placement is asked for', async () => {
  const none = await post('/api/placement', { question: 'Coffee?', width: 640 })
  assert.deepEqual([none.status, none.body.reason_code], [403, 'consent_missing'])
  const denied = await post('/api/consent', { decision: 'denied', shares_questions: true })
  assert.equal(denied.body.shares_questions, false)
  assert.equal((await post('/api/placement', { question: 'Coffee?', width: 640 }, denied.cookie)).status, 403)
  assert.equal(
    (await post('/api/placement', { question: 'Coffee?', width: 640 }, 'hazelby_consent=granted')).status,
    403,
  )
})

test('with consent a placement fills, as the service answered it', async () => {
  const { cookie, body } = await post('/api/consent', { decision: 'granted', shares_questions: true })
  assert.ok(Math.abs(body.decided_at_ms - Date.now()) < 60_000)
  assert.equal('session_id' in body, false, 'the session id stays on the server')
  const { status, body: answer } = await post('/api/placement', { question: 'Which coffee beans?', width: 640 }, cookie)
  assert.equal(status, 200)
  assert.deepEqual([answer.status, answer.placement.format], ['ready', 'native'])
  assert.deepEqual(answer.authoritative_consent.purposes, { semantic_targeting: true, prompt_shared: true })
  assert.equal((await fetch(answer.placement.render.frame_url)).status, 200)
})

test('a question that may not be shared is not processed, and no fill is an answer like any other', async () => {
  const { cookie } = await post('/api/consent', { decision: 'granted', shares_questions: false })
  const { body } = await post('/api/placement', { question: 'Which coffee beans?', width: 10 }, cookie)
  assert.deepEqual(body.authoritative_consent.purposes, { semantic_targeting: false, prompt_shared: false })
  assert.deepEqual([body.status, body.placement, body.decision.fill], ['ready', null, false])
})

test('a withdrawal is sent to the service, and ends what was granted', async () => {
  const granted = await post('/api/consent', { decision: 'granted', shares_questions: false })
  const { body } = await post('/api/placement', { question: '', width: 640 }, granted.cookie)
  await post('/api/consent', { decision: 'denied' }, granted.cookie)
  assert.equal((await fetch(body.placement.render.frame_url)).status, 403)
})

test('a slot is polled by the browser that asked for it, and by no other', async () => {
  const { cookie } = await post('/api/consent', { decision: 'granted', shares_questions: false })
  const asked = await post('/api/placement', { question: '', width: 640 }, cookie)
  const url = `${app}/api/placement?slot_id=${asked.body.slot_id}&wait_ms=0`
  const own = await fetch(url, { headers: { cookie: `${cookie}; ${asked.cookie}` } })
  assert.equal((await own.json()).slot_id, asked.body.slot_id)
  assert.equal((await fetch(url, { headers: { cookie } })).status, 403)
})

test("another site's page gets nothing", async () => {
  const headers = { 'content-type': 'application/json', 'sec-fetch-site': 'cross-site' }
  for (const path of ['/api/consent', '/api/placement', '/api/chat']) {
    const body = JSON.stringify({ decision: 'granted', question: 'Coffee?' })
    assert.equal((await fetch(app + path, { method: 'POST', headers, body })).status, 403, path)
  }
})

test('the answer streams in', async () => {
  const response = await fetch(`${app}/api/chat`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ question: 'Plan my first 10 km run' }),
  })
  let pieces = 0
  const reader = response.body!.getReader()
  while (!(await reader.read()).done) pieces += 1
  assert.ok(pieces > 3)
})

async function post(path: string, body: object, cookie = '') {
  const response = await fetch(app + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', cookie },
    body: JSON.stringify(body),
  })
  const set = response.headers.getSetCookie().map((text) => text.split(';')[0])
  return { status: response.status, body: await response.json(), cookie: set.join('; ') }
}
