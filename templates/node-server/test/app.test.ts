/** The server against a sandbox: `npm test` starts one for it. */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { jobTypes } from '../src/placement-request.ts'
import { sandbox, startServer, type Visitor } from './sandbox.ts'

let server: Awaited<ReturnType<typeof startServer>>
before(async () => {
  server = await startServer()
})
after(() => server.close())
afterEach(() => sandbox.send('DELETE', 'faults'))
afterEach(() => sandbox.send('DELETE', 'scenarios'))

for (const job_type of jobTypes) {
  test(`${job_type} gets a labelled placement`, async () => {
    const { status, body } = await (await consenting()).post('/api/placement', { job_type })
    assert.equal(status, 200)
    assert.equal(body.decision.fill, true)
    assert.notEqual(body.placement?.ad_label_text, '')
    assert.match(body.placement?.render.frame_url ?? '', /\/v1\/render\//)
  })
}

test('without consent nothing is requested', async () => {
  const before = await countPlacements()
  const { status, body } = await server.visitor().post('/api/placement', { job_type: 'chat' })
  assert.equal(status, 200)
  assert.equal(body.placement, null)
  assert.equal(body.decision.no_fill_reason, 'consent_not_granted')
  assert.equal(await countPlacements(), before)
})

test('a withdrawal holds from the next request on, also when the service cannot be reached', async () => {
  const visitor = await consenting()
  await sandbox.send('POST', 'faults', { path: '/v1/consent', status: 503 })
  assert.equal((await visitor.post('/api/consent', { decision: 'withdrawn' })).status, 503)
  const { body } = await visitor.post('/api/placement', { job_type: 'chat' })
  assert.equal(body.decision.no_fill_reason, 'consent_not_granted')
})

test('topic and text leave the server as far as was consented to', async () => {
  const prompt = { topic: 'coffee', text: 'Which grinder?' }
  assert.equal(await sentPrompt(await consenting(), prompt), undefined)
  assert.deepEqual(await sentPrompt(await consenting({ semantic_targeting: true }), prompt), { topic: 'coffee' })
  const shared = await sentPrompt(await consenting({ prompt_shared: true }), prompt)
  assert.deepEqual(Object.keys(shared ?? {}), ['text'])
})

test('a no-fill is an answer like any other', async () => {
  await sandbox.send('POST', 'scenarios/no_fill')
  const { status, body } = await (await consenting()).post('/api/placement', { job_type: 'chat' })
  assert.equal(status, 200)
  assert.equal(body.placement, null)
  assert.equal(body.decision.fill, false)
})

test('a pending decision is polled, by its own session only', async () => {
  await sandbox.send('POST', 'scenarios/pending_then_ready')
  const visitor = await consenting()
  const first = await visitor.post('/api/placement', { job_type: 'chat' })
  assert.equal(first.body.status, 'pending')
  const { slot_id } = first.body
  assert.equal((await (await consenting()).get(`/api/placement?slot_id=${slot_id}`)).status, 404)
  const second = await visitor.get(`/api/placement?slot_id=${slot_id}&wait_ms=3000`)
  assert.equal(second.body.status, 'ready')
  assert.equal(second.body.decision.fill, true)
})

test('an error goes to the page with its Retry-After, and is not retried here', async () => {
  const visitor = await consenting({ semantic_targeting: true })
  await sandbox.send('POST', 'faults', { path: '/v1/placements', status: 429, retry_after_s: 7, times: 1 })
  const { status, headers } = await visitor.post('/api/placement', { job_type: 'voice', prompt: { topic: 'limits' } })
  assert.equal(status, 429)
  assert.equal(headers.get('retry-after'), '7')
  assert.equal((await visitor.post('/api/placement', { job_type: 'chat' })).status, 200)
})

test('a service that is away, or talks nonsense, is a 502 and not a crash', async () => {
  const visitor = await consenting({ semantic_targeting: true })
  for (const effect of ['reset', 'garble']) {
    await sandbox.send('POST', 'faults', { path: '/v1/placements', effect, times: 1 })
    // Each is another request: the same one would be repeated without a pause.
    const body = { job_type: 'chat', prompt: { topic: `to ${effect}` } }
    assert.equal((await visitor.post('/api/placement', body)).status, 502, effect)
  }
})

test('beacons are forwarded once each, and again after a 429 with Retry-After', async () => {
  const visitor = await consenting()
  const { body } = await visitor.post('/api/placement', { job_type: 'agent' })
  const beacon = { asset_token: body.placement?.asset_token, slot_id: body.slot_id, not_a_field: 1 }
  await sandbox.send('POST', 'faults', { path: '/v1/beacons', status: 429, retry_after_s: 1, times: 1 })
  for (const event of ['render', 'visible']) {
    const beacon_id = `${body.slot_id}:${event}`
    const measurements = { visible_ratio: 1, visible_ms: 1_000 }
    const seen = { event, occurred_at_ms: Date.now(), measurements }
    const sent = await visitor.post('/api/beacons', { ...beacon, ...seen, beacon_id })
    assert.equal(sent.body.accepted, true, event)
  }
  const { items } = (await sandbox.get(`beacons?slot_id=${body.slot_id}`)).body
  assert.deepEqual(items.map(({ event }) => event).toSorted(), ['render', 'visible'])
})

test('a 429 without Retry-After is not retried', async () => {
  await sandbox.send('POST', 'faults', { path: '/v1/beacons', status: 429, retry_after_format: 'none', times: 1 })
  assert.equal((await server.visitor().post('/api/beacons', { event: 'render' })).status, 429)
})

test('a wrong job type, a broken body and a foreign slot are the caller’s mistakes', async () => {
  const visitor = await consenting()
  assert.equal((await visitor.post('/api/placement', { job_type: 'song' })).status, 400)
  assert.equal((await visitor.post('/api/consent', { decision: 'perhaps' })).status, 400)
  assert.equal((await visitor.get('/api/placement?slot_id=slot_unknown')).status, 404)
})

async function consenting(purposes: Record<string, boolean> = {}): Promise<Visitor> {
  const visitor = server.visitor()
  const { status, body } = await visitor.post('/api/consent', { decision: 'granted', ...purposes })
  assert.equal(status, 200)
  assert.equal(body.authoritative_consent.lifecycle_state, 'granted')
  return visitor
}

async function countPlacements(): Promise<number> {
  const { body } = await sandbox.send('POST', 'requests/count', { method: 'POST', path: '/v1/placements' })
  return body.count
}

/** The prompt as the sandbox received it: of a text, it stores only that there was one. */
async function sentPrompt(visitor: Visitor, prompt: object): Promise<{ topic?: string; text?: string } | undefined> {
  const { headers } = await visitor.post('/api/placement', { job_type: 'chat', prompt })
  const { body } = await sandbox.get(`requests/${headers.get('x-request-id')}`)
  return JSON.parse(body.request_body).prompt
}
