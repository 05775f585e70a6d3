/** The built page, and its requests against the sandbox that `npm test` starts. */
import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { build } from 'vite'
import { type GrantedConsent, grantOf, makeAnswer } from '../src/consent.ts'
import { placementRequest } from '../src/placement-request.ts'

const { SVC_BASE_URL: service, SVC_PUBLISHABLE_KEY: publishable_key = '', SVC_ORIGIN: origin = '' } = process.env
let dist = ''
let files: string[] = []

before(async () => {
  dist = await mkdtemp(join(tmpdir(), 'react-chat-'))
  await build({ logLevel: 'warn', build: { outDir: dist, emptyOutDir: true } })
  const names = await readdir(dist, { recursive: true })
  files = await Promise.all(
    names.filter((name) => /\.(html|js|css)$/.test(name)).map((name) => readFile(join(dist, name), 'utf8')),
  )
})
after(() => rm(dist, { recursive: true }))

test('the built page lets render.js and its frame in, and nothing else', async () => {
  const page = await readFile(join(dist, 'index.html'), 'utf8')
  const policy =
    page.match(/<meta http-equiv="Content-Security-Policy" content="(.*?)"/)?.[1]?.replaceAll('&#39;', "'") ?? ''
  for (const directive of ["default-src 'none'", `script-src 'self' ${service}`, `frame-src ${service}`]) {
    assert.ok(policy.split('; ').includes(directive), `${directive} is missing in: ${policy}`)
  }
  assert.doesNotMatch(page, /render\.js/, 'nothing of the service is loaded before consent')
})

test('the publishable key is built into it, and a secret key is not', () => {
  const all = files.join('\n')
  assert.ok(all.includes(publishable_key))
  assert.ok(process.env.SVC_SECRET_KEY)
  assert.doesNotMatch(all, /sk_(test|live)_/)
})

test('a secret key in the place of the publishable one is not built', async () => {
  process.env.SVC_PUBLISHABLE_KEY = process.env.SVC_SECRET_KEY
  try {
    await assert.rejects(build({ logLevel: 'silent', build: { write: false } }), /no publishable key/)
  } finally {
    process.env.SVC_PUBLISHABLE_KEY = publishable_key
  }
})

test('only a grant that has not expired is consent', () => {
  assert.equal(grantOf(null), null)
  assert.equal(grantOf(makeAnswer('denied', true)), null)
  const grant = makeAnswer('granted', false)
  assert.equal(grantOf(grant), grant)
  assert.equal(grantOf({ ...grant, expires_at_ms: Date.now() }), null)
})

test('a placement fills for an allowed origin, and its frame may be shown there', async () => {
  const { status, placement, authoritative_consent } = await place(
    placementRequest(consent(true), 'Coffee beans?', 640),
  )
  assert.equal(status, 'ready')
  assert.equal(placement.format, 'native')
  assert.equal(placement.render.label_text, 'Sponsored')
  assert.deepEqual(authoritative_consent.purposes, { semantic_targeting: true, prompt_shared: true })
  const frame = await fetch(placement.render.frame_url)
  assert.equal(frame.status, 200)
})

test('a question that may not be shared is not sent', () => {
  assert.equal('prompt' in placementRequest(consent(false), 'Coffee beans?', 640), false)
})

function consent(shares: boolean): GrantedConsent {
  return grantOf(makeAnswer('granted', shares)) as GrantedConsent
}

/** As render.js does: exchanges the key for a token and requests a placement with it, from the page's origin. */
async function place(request: object) {
  const { activation_token, project_id } = await post('/v1/browser/activate', { publishable_key })
  return post('/v1/placements', { client_id: project_id, ...request }, activation_token)
}

async function post(path: string, body: object, token?: string) {
  const response = await fetch(service + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin, ...(token && { authorization: `Bearer ${token}` }) },
    body: JSON.stringify(body),
  })
  const answer = await response.json()
  assert.equal(response.status, 200, JSON.stringify(answer))
  return answer
}
