import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createClient, RefusedError, ServiceError, UnreachableError } from '#client/index.ts'
import { manualClock, type Sandbox, startSandbox } from '#sandbox/index.ts'
import { noon } from './test-cli.ts'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox({ seed: 1, clock: manualClock(noon) })
})
afterAll(async () => {
  await sandbox.close()
})

const request = { client_id: 'proj_demo', session_id: 'sess_1', job_type: 'chat' } as const
const server = () => createClient({ base_url: sandbox.url, credential: sandbox.keys.secret_key })

describe('the client against the sandbox', () => {
  test('from placement to beacon', async () => {
    const client = server()
    const { data, meta } = await client.withResponse.placements.create({
      body: { ...request, overrides: { allowed_formats: ['banner'] } },
      query: { wait_ms: 9000 },
    })
    expect(meta).toMatchObject({ status: 200, warnings: ['wait_ms_clamped'], differences: [] })
    expect(meta.request_id).toMatch(/^req_/)
    if (data.decision?.fill !== true) throw new Error('no fill')
    const { asset_token } = data.decision
    expect(await client.render.frame({ params: { asset_token } })).toContain('<!doctype html>')
    const beacon = { beacon_id: 'beacon_1', asset_token, event: 'render', occurred_at_ms: noon } as const
    const result = await client.withResponse.beacons.send({ body: beacon })
    expect(result.data).toMatchObject({ accepted: true, duplicate: false })
    expect(result.meta.would_bill).toContain('metric=rendered_impression')
    expect(await client.sendBeacon(beacon)).toMatchObject({ duplicate: true })
  })

  test('the SDK names: createJob, getDecision', async () => {
    const client = server()
    const { slot_ids } = await client.createJob({ ...request, slots_requested: 2 })
    expect(slot_ids).toHaveLength(2)
    for (const slot_id of slot_ids) {
      expect(await client.getDecision(slot_id, { wait_ms: 1000 })).toMatchObject({ slot_id, status: 'ready' })
    }
  })

  test('a browser activates with its origin, and its token works on that origin only', async () => {
    const browser = (origin: string, credential?: string) => createClient({ base_url: sandbox.url, origin, credential })
    const { publishable_key } = sandbox.keys
    const { activation_token } = await browser('http://localhost:3000').browser.activate({ body: { publishable_key } })
    const config = { params: { client_id: 'proj_demo' } }
    expect(await browser('http://localhost:3000', activation_token).projects.config(config)).toMatchObject({
      mode: 'test',
    })
    await expect(browser('http://localhost:9', activation_token).projects.config(config)).rejects.toMatchObject({
      reason_code: 'origin_mismatch',
    })
  })

  test('a failure carries the error body', async () => {
    const thrown = await server()
      .decisions.get({ params: { slot_id: 'slot_00000000009' } })
      .catch((error: unknown) => error)
    expect(thrown).toBeInstanceOf(ServiceError)
    expect(thrown).toMatchObject({ status: 404, code: 'not_found', reason_code: 'not_found', retry_after_s: null })
  })

  test('test_outcome never leaves with a production key', async () => {
    const client = createClient({ base_url: sandbox.url, credential: sandbox.keys.live_secret_key })
    const before = (await client.requests.list()).items.length
    await expect(client.placements.create({ body: { ...request, test_outcome: 'no_fill' } })).rejects.toThrow(
      RefusedError,
    )
    expect((await client.requests.list()).items).toHaveLength(before)
  })

  test('sandbox events from a sequence number, until the caller has enough', async () => {
    const client = server()
    await client.placements.create({ body: request })
    const types: string[] = []
    for await (const event of client.events.stream({ query: { since_seq: 0, type: 'placement.*' } })) {
      types.push(event.type)
      if (types.length === 2) break
    }
    expect(types).toEqual(['placement.decided', 'placement.decided'])
  })

  test('a call ends with the reason of its signal', async () => {
    const reason = new Error('enough')
    await expect(server().health.live({}, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
  })

  test('nobody there is an UnreachableError', async () => {
    const client = createClient({ base_url: 'http://127.0.0.1:1', timeout_ms: 2000 })
    await expect(client.health.live()).rejects.toThrow(UnreachableError)
  })
})
