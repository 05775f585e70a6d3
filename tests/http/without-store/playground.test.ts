/** POST /_sandbox/inspector/send: the playground's backend, which sends requests of the API as a server. */
import { expect, test } from 'vitest'
import type { ErrorBody } from '#contract/errors.ts'
import type { PlacementResponse } from '#contract/resources/placements.ts'
import type { SentResponse } from '#pipeline/pages/playground.ts'
import { asked, type Stage, stage } from '../stage.ts'

async function send({ sandbox }: Stage, body: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(`${sandbox.url}/_sandbox/inspector/send`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: (await response.json()) as SentResponse & ErrorBody }
}

async function keyId({ api }: Stage, kind: 'secret' | 'publishable', mode = 'test'): Promise<string> {
  const { items } = (await api.accept('keys.list', { params: { client_id: 'proj_demo' } })).body
  return items.find((key) => key.class === kind && key.mode === mode)!.key_id
}

const placement = (body: Record<string, unknown> = {}) => ({
  method: 'POST',
  path: '/v1/placements',
  body: JSON.stringify(asked(body)),
})

test('a request is sent as the key that is named, comes back unchanged, and is in the journal', async () => {
  await using here = await stage()
  const sent = await send(here, { ...placement(), key_id: await keyId(here, 'secret') })
  expect(sent.status).toBe(200)
  expect(sent.body).toMatchObject({ status: 200, broken: null })
  const { placement: filled } = JSON.parse(sent.body.body) as PlacementResponse
  expect(filled?.asset_token).toMatch(/^ast_\w{11}_[\w-]{43}$/)
  const [entry] = (await here.api.accept('requests.list', { query: { details: 'true' } })).body.items
  expect(entry).toMatchObject({
    request_id: sent.body.headers['x-request-id'],
    key: 'sk_test',
    status: 200,
    request_headers: { authorization: 'Bearer sk_test_redacted', 'user-agent': 'svc-inspector' },
  })
  const replayed = await here.api.accept('requests.replay', { params: { request_id: entry!.request_id }, body: {} })
  expect(replayed.body.exchange.status).toBe(200)
})

test('errors of the API are responses, malformed bodies and missing credentials too', async () => {
  await using here = await stage()
  const key_id = await keyId(here, 'secret')
  const outcomes = await Promise.all(
    [
      { ...placement({ job_type: 'poem' }), key_id },
      { ...placement(), body: '{', key_id },
      { ...placement(), key_id: null },
      { ...placement({ test_outcome: 'no_fill' }), key_id: await keyId(here, 'secret', 'live') },
      { method: 'GET', path: '/v1/nowhere', body: null, key_id },
    ].map(async (body) => {
      const { status, body: sent } = await send(here, body)
      return [status, sent.status, (JSON.parse(sent.body) as ErrorBody).reason_code]
    }),
  )
  expect(outcomes).toEqual([
    [200, 400, 'schema_invalid'],
    [200, 400, 'json_malformed'],
    [200, 401, 'credential_missing'],
    [200, 403, 'test_outcome_requires_test_key'],
    [200, 404, 'not_found'],
  ])
})

test('a fault rule breaks the response and says how', async () => {
  await using here = await stage()
  await here.api.accept('faults.add', { body: { effect: 'drop', path: '/v1/placements' } })
  const { body } = await send(here, { ...placement(), key_id: await keyId(here, 'secret') })
  expect(body).toMatchObject({ status: 0, broken: 'drop' })
})

test('other paths, publishable and unknown keys are refused', async () => {
  await using here = await stage()
  const key_id = await keyId(here, 'secret')
  for (const [body, path] of [
    [{ ...placement(), path: '/_sandbox/reset', key_id }, 'path'],
    [{ ...placement(), path: 'http://127.0.0.1/v1/placements', key_id }, 'path'],
    [{ ...placement(), key_id: await keyId(here, 'publishable') }, 'key_id'],
    [{ ...placement(), key_id: 'key_00000000zzz' }, 'key_id'],
  ] as const) {
    const { status, body: error } = await send(here, body)
    expect([status, error.reason_code, error.fields?.[0]?.path]).toEqual([400, 'schema_invalid', path])
  }
})

test('pages of other sites, and pages of ours without the token, send nothing', async () => {
  await using here = await stage()
  const body = { ...placement(), key_id: await keyId(here, 'secret') }
  for (const headers of [
    { origin: 'http://localhost:3000', 'sec-fetch-site': 'cross-site' },
    { origin: here.sandbox.url, 'sec-fetch-site': 'same-origin' },
  ]) {
    expect(await send(here, body, headers)).toMatchObject({ status: 403, body: { reason_code: 'origin_refused' } })
  }
  expect((await here.api.accept('requests.list')).body.items).toEqual([])
})
