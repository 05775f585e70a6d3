/** What clients of the reference service send, and the sandbox takes as that service does (A01, A34, A66, A70, A101). */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Endpoint, oldClientHeader } from '#contract/endpoint.ts'
import type { ErrorBody } from '#contract/errors.ts'
import { contract } from '#contract/index.ts'
import { readSource } from '#contract/objects.ts'
import { JobRequest } from '#contract/resources/jobs.ts'
import { PlacementRequest } from '#contract/resources/placements.ts'
import type { Call } from './call.ts'
import { activate, asked, beacon, fill, key, origin, publishable, stage, strictKey } from './stage.ts'

const session = { client_id: 'proj_demo', session_id: 'sess_1' }
const old = { [oldClientHeader]: '1.0.0' }

describe('sibling routes', () => {
  test('a field of one route that creates a job is a field of the other, except the two that the document gives one of them', () => {
    const listFields = (schema: z.ZodObject) => Object.keys(schema.shape)
    const missing = (from: z.ZodObject, to: z.ZodObject) => listFields(from).filter((name) => !(name in to.shape))
    expect(missing(JobRequest, PlacementRequest)).toEqual([])
    expect(missing(PlacementRequest, JobRequest)).toEqual(['wait_ms', 'test_outcome'])
    for (const [name, field] of Object.entries(PlacementRequest.shape)) {
      if (readSource(field)?.provenance !== 'observed') continue
      const json = (schema: z.ZodType) => z.toJSONSchema(schema, { io: 'input' })
      expect([name, json(JobRequest.shape[name as 'locale'])]).toEqual([name, json(field)])
    }
  })

  test('a placement accepts what jobs accept, and acts on it in the same way', async () => {
    await using on = await stage()
    const body = asked({
      locale: 'en-US',
      chat_session_id: 'chat 1',
      slot_config: { allowed_formats: ['native'], max_width: 300 },
      frequency_cap: { session: 3 },
      timing: 'during',
      context: { geo: { country: 'DE' }, topic: 'cooking' },
    })
    const { body: placement } = await on.api.accept('placements.create', { as: key, body })
    expect(placement.decision).toMatchObject({ fill: true, format: 'native' })
    const refused = await on.api.refuse('placements.create', {
      as: key,
      body: asked({ slot_config: { max_width: 0 } }),
    })
    expect(refused.body.fields).toMatchObject([{ path: 'slot_config.max_width' }])
  })
})

test('a misspelt member of brand_safety is ignored with a warning, in every form', async () => {
  await using on = await stage()
  const brand_safety = { blocked_domain: ['latchwell.example'] }
  const browser = { contract_version: 'csl_wrapper_ingress_create/v1', job: { job_type: 'chat' }, brand_safety }
  const { headers } = await on.api.accept('placements.create', { as: key, body: asked({ brand_safety }) })
  const job = await on.api.accept('jobs.create', { as: key, body: { ...browser, context: { client_id: 'proj_demo' } } })
  expect([headers, job.headers].map((sent) => sent['x-sandbox-warning'])).toEqual(['fields_ignored', 'fields_ignored'])
})

test('a job without client_id is that of the key, but with --strict', async () => {
  for (const strict of [false, true]) {
    await using on = await stage({ strict })
    const { status } = await on.api.send('POST', '/v1/jobs', { as: key, body: { job_type: 'chat', model_id: 'm' } })
    expect([strict, status]).toEqual([strict, strict ? 400 : 201])
  }
})

describe('consent in the words of other publishers', () => {
  test('every published source and decision is accepted; the snapshot names the mechanism, the history what was sent', async () => {
    await using on = await stage()
    const strict = { client_id: 'proj_strict' }
    const state = async (session_id: string, more: Record<string, unknown>) => {
      const sent = await on.api.accept('consent.set', { as: strictKey, body: { ...strict, session_id, ...more } })
      const { lifecycle_state, purposes, source } = sent.body.authoritative_consent
      const list = await on.api.accept('consent.list', { query: { session_id } })
      return [
        lifecycle_state,
        purposes.semantic_targeting,
        purposes.prompt_shared,
        source,
        list.body.items[0]!.extras.source,
      ]
    }
    const granted = { purposes: { semantic_targeting: true } }
    expect(await state('a', { source: 'publisher', ...granted })).toEqual([
      'granted',
      true,
      false,
      'wrapper_cmp',
      'publisher',
    ])
    expect(await state('b', { source: 'publisher_custom', decision: 'personalized' })).toEqual([
      'granted',
      true,
      true,
      'wrapper_cmp',
      'publisher_custom',
    ])
    expect(await state('c', { source: 'cmp', decision: 'personalized', purposes: { prompt_shared: false } })).toEqual([
      'granted',
      true,
      false,
      'wrapper_cmp',
      'cmp',
    ])
    expect(await state('d', { source: 'server_sync', decision: 'basic' })).toEqual([
      'granted',
      false,
      false,
      'wrapper_cmp',
      'server_sync',
    ])
    expect(await state('e', { decision: 'custom', purposes: { semantic_targeting: true, ads: true } })).toEqual([
      'granted',
      true,
      false,
      'svc_consent',
      undefined,
    ])
    expect(await state('f', { source: 'svc_consent', decision: 'custom', purposes: { measurement: true } })).toEqual([
      'denied',
      false,
      false,
      'svc_consent',
      undefined,
    ])
  })

  test('basic after personalized takes targeting back, in a placement too', async () => {
    await using on = await stage()
    await on.api.accept('consent.set', { as: key, body: { ...session, source: 'cmp', decision: 'personalized' } })
    const basic = await on.api.accept('consent.set', {
      as: key,
      body: { ...session, source: 'cmp', decision: 'basic' },
    })
    expect(basic.body.authoritative_consent.purposes).toEqual({ semantic_targeting: false, prompt_shared: true })
    const consent = { source: 'publisher', decision: 'personalized', purposes: { ads: true, prompt_shared: false } }
    const { body } = await on.api.accept('placements.create', { as: key, body: asked({ ...session, consent }) })
    expect(body.authoritative_consent).toMatchObject({
      lifecycle_state: 'granted',
      source: 'wrapper_cmp',
      purposes: { semantic_targeting: true, prompt_shared: false },
    })
    const list = await on.api.accept('consent.list', { query: { session_id: 'sess_1', limit: 1 } })
    expect(list.body.items[0]!.extras).toEqual({ ads: true, source: 'publisher' })
    const denied = await on.api.accept('placements.create', {
      as: key,
      body: asked({ ...session, consent: { decision: 'denied' } }),
    })
    expect(denied.body.decision).toMatchObject({ fill: false, no_fill_reason: 'consent_not_granted' })
  })
})

describe('session_id is the caller’s string', () => {
  test('any text of 1 to 256 characters without control characters is accepted, found again and kept', async () => {
    await using on = await stage()
    for (const session_id of [
      'auth0|x',
      'YWJj/+==',
      'ünï 漢字 😀',
      'x'.repeat(256),
      '😀'.repeat(256),
      "o'hara; --",
      '../..',
    ]) {
      await on.api.accept('placements.create', { as: key, body: asked({ session_id }) })
      await on.api.accept('consent.set', { as: key, body: { client_id: 'proj_demo', session_id } })
      const { body } = await on.api.accept('placements.list', { query: { session_id } })
      expect(body.items.map((item) => item.session_id)).toEqual([session_id])
    }
    for (const session_id of ['', 'x'.repeat(257), 'a\u0000', 'a\n', 'a\u007f', 'a\u0085', '\ud800']) {
      const { body } = await on.api.refuse('placements.create', { as: key, body: asked({ session_id }) })
      expect(JSON.stringify(body), JSON.stringify(session_id)).toMatch(/A01|surrogate/)
    }
  })

  test('one that looks like an e-mail address or a phone number comes with a warning', async () => {
    await using on = await stage()
    for (const session_id of ['ann@example.com', '+49 170 1234567', '(555) 123-4567']) {
      const { warnings } = await on.api.accept('placements.create', { as: key, body: asked({ session_id }) })
      expect([session_id, warnings]).toEqual([session_id, ['session_id_personal']])
      const set = await on.api.accept('consent.set', { as: key, body: { client_id: 'proj_demo', session_id } })
      expect(set.warnings).toEqual(['session_id_personal'])
    }
    for (const session_id of ['1732640000000', 'user@host', '2026-11-26', '550e8400-e29b-41d4-a716-446655440000']) {
      const { warnings } = await on.api.accept('placements.create', { as: key, body: asked({ session_id }) })
      expect([session_id, warnings]).toEqual([session_id, []])
    }
  })
})

describe('tolerance follows the client, not the route', () => {
  test('an old client may send a short or free beacon_id on /v1/beacons; another client may not', async () => {
    await using on = await stage()
    const { asset_token, slot_id } = await fill(on.api)
    on.clock.advance(60_000)
    // An old client only knows its own clock.
    const occurred_at_ms = on.clock.now() - on.clock.offset_ms
    for (const beacon_id of ['1', 'abc', 'render|1 ü', 'x'.repeat(128)]) {
      const body = { ...beacon(on.clock, { asset_token }, 'heartbeat'), occurred_at_ms, beacon_id }
      const sent = await on.api.accept('beacons.send', { as: key, headers: old, body })
      expect([beacon_id, sent.body.duplicate]).toEqual([beacon_id, false])
    }
    for (const beacon_id of ['', 'x'.repeat(129), 'a\nb']) {
      const body = { ...beacon(on.clock, { asset_token }, 'heartbeat'), beacon_id }
      await on.api.refuse('beacons.send', { as: key, headers: old, body })
    }
    const body = { ...beacon(on.clock, { asset_token }, 'heartbeat'), beacon_id: 'abc' }
    expect((await on.api.refuse('beacons.send', { as: key, body })).body.fields).toMatchObject([{ path: 'beacon_id' }])
    const list = await on.api.accept('beacons.list', { query: { slot_id, beacon_id: 'render|1 ü' } })
    expect(list.body.items).toHaveLength(1)
  })

  test('an old page activates on its own route, for an origin that may be unknown as on the other', async () => {
    await using on = await stage()
    const body = { publishable_key: publishable }
    const { body: activated, headers } = await on.api.accept('browser.activation', { origin, body })
    expect(headers).toMatchObject({ deprecation: 'true', 'access-control-allow-origin': origin })
    await on.api.accept('placements.create', { as: activated.activation_token, origin, body: asked() })
    const stranger = 'https://stranger.example'
    const refused = await on.api.refuse('browser.activation', { origin: stranger, body })
    expect([refused.body.reason_code, refused.headers['access-control-allow-origin']]).toEqual([
      'origin_not_allowed',
      stranger,
    ])
    const secret = await on.api.refuse('browser.activation', { as: key, origin, body })
    expect(secret.body.reason_code).toBe('secret_key_in_browser')
  })
})

describe('null is absent', () => {
  test('in every optional field of every body of the API, with a warning', async () => {
    await using on = await stage()
    const { asset_token } = await fill(on.api)
    const token = await activate(on.api)
    const bodies = {
      'placements.create': asked(),
      'jobs.create': asked(),
      'beacons.send': { ...beacon(on.clock, { asset_token }, 'render') },
      'consent.set': { ...session },
    } as const
    for (const [id, body] of Object.entries(bodies)) {
      const { shape } =
        contract[id as keyof typeof bodies].body instanceof z.ZodObject
          ? (contract[id as keyof typeof bodies].body as z.ZodObject)
          : JobRequest
      const nulls = Object.fromEntries(
        Object.keys(shape)
          .filter((name) => !(name in body))
          .map((name) => [name, null]),
      )
      expect(Object.keys(nulls).length).toBeGreaterThan(5)
      const { warnings } = await on.api.accept(id as keyof typeof bodies, { as: key, body: { ...nulls, ...body } })
      expect([id, warnings]).toEqual([id, expect.arrayContaining(['null_as_absent'])])
    }
    const deep = asked({
      prompt: { topic: 'cooking', text: null },
      slot_hint: { max_width: null },
      overrides: { bidfloors: { banner: null }, publisher: { app_name: null } },
      consent: { semantic_targeting: true, purposes: { ads: null, prompt_shared: null } },
    })
    expect((await on.api.accept('placements.create', { as: key, body: deep })).warnings).toContain('null_as_absent')
    const job = { contract_version: 'csl_wrapper_ingress_create/v1', job: { model_id: null }, context: null }
    expect((await on.api.accept('jobs.create', { as: token, origin, body: job })).warnings).toContain('null_as_absent')
  })

  test('a required field, an item of a list and a wrong neighbour are still refused', async () => {
    await using on = await stage()
    const wrong: [Record<string, unknown>, string][] = [
      [{ client_id: null }, 'client_id'],
      [{ overrides: { allowed_formats: [null] } }, 'overrides.allowed_formats.0'],
      [{ prompt: null, job_type: 'poem' }, 'job_type'],
      [{ nothing: null }, 'nothing'],
    ]
    for (const [more, path] of wrong) {
      const { body } = await on.api.refuse('placements.create', { as: key, body: asked(more) })
      expect(body.fields.map((field) => field.path)).toEqual([path])
    }
  })
})

describe('errors that are true', () => {
  test('a parameter with too many digits is too large, one that is given twice is given twice', async () => {
    await using on = await stage()
    const { slot_id } = await fill(on.api)
    const of = async (query: string) => {
      const { body } = await on.api.send('GET', `/v1/decisions/${slot_id}?${query}`, { as: key })
      return (body as ErrorBody).fields
    }
    const long = await on.api.send('GET', `/_sandbox/placements?limit=${'9'.repeat(20)}`)
    expect((long.body as ErrorBody).fields).toContainEqual(
      expect.objectContaining({ path: 'limit', message: 'is too large' }),
    )
    expect(await of('wait_ms=1&wait_ms=2')).toMatchObject([{ path: 'wait_ms', message: 'is given 2 times' }])
    expect(await of('wait_ms=1e3')).toMatchObject([{ path: 'wait_ms', message: 'is malformed' }])
    const twice = await on.api.send('GET', '/_sandbox/placements?session_id=a&session_id=b')
    expect((twice.body as ErrorBody).fields).toMatchObject([{ path: 'session_id', message: 'is given 2 times' }])
  })

  test('each credential in the wrong place is named, and every 401 names the scheme', async () => {
    await using on = await stage()
    const { asset_token } = await fill(on.api)
    const token = await activate(on.api)
    const body = asked()
    const bearer = await on.api.refuse('placements.create', { as: asset_token, body })
    expect([bearer.status, bearer.body.reason_code, bearer.body.message]).toEqual([
      403,
      'key_class',
      expect.stringContaining('asset token'),
    ])
    const places: Call[] = [
      { query: { token }, body },
      { headers: { 'x-activation-token': token }, body },
      { body: { ...body, activation_token: token } },
    ]
    for (const call of places) {
      const misplaced = await on.api.refuse('placements.create', { origin, ...call })
      expect([misplaced.status, misplaced.body.reason_code]).toEqual([401, 'token_in_wrong_place'])
      expect(misplaced.text).not.toContain(token)
      expect(misplaced.headers['www-authenticate']).toBe('Bearer')
    }
    const none = await on.api.refuse('placements.create', { body })
    expect([none.body.reason_code, none.headers['www-authenticate']]).toEqual(['credential_missing', 'Bearer'])
  })

  test('a path that was probably meant is named', async () => {
    await using on = await stage()
    const meant: [string, string, string][] = [
      ['POST', '/v1/placement', '/v1/placements'],
      ['POST', '/v1/beacon', '/v1/beacons'],
      ['GET', '/v1/decision/slot_0', '/v1/decisions/{slot_id}'],
      ['POST', '/placements', '/v1/placements'],
    ]
    for (const [method, path, right] of meant) {
      const { body } = await on.api.send(method, path, { as: key, ...(method === 'POST' ? { body: asked() } : {}) })
      expect([path, (body as ErrorBody).hint]).toEqual([path, expect.stringContaining(`Did you mean ${right}?`)])
    }
  })
})

describe('text that not every store can keep', () => {
  test('is refused in every string field of every endpoint, in its path and query, and the chain stays whole', async () => {
    await using on = await stage()
    const { asset_token } = await fill(on.api)
    const token = asset_token
    for (const endpoint of Object.values<Endpoint>(contract)) {
      if (endpoint.status === 101 || endpoint.body_media_type !== undefined) continue
      // Their bodies are those of the siblings that take a secret key.
      if (endpoint.credentials.length > 0 && !endpoint.credentials.includes('secret_key')) continue
      const path = endpoint.path.replace(/\{\w+\}/g, 'x')
      for (const name of stringFields(endpoint.query)) {
        const sent = await on.api.send(endpoint.method, `${path}?${name.at(-1)}=a%00b`, { as: key })
        expect([endpoint.id, name, sent.status]).toEqual([endpoint.id, name, 400])
      }
      if (endpoint.path.includes('{') && endpoint.method === 'GET') {
        const at = endpoint.path.replace(/\{\w+\}/g, 'a%00b')
        expect([endpoint.id, (await on.api.send('GET', at, { as: key })).status]).toEqual([endpoint.id, 400])
      }
      for (const at of stringFields(endpoint.body)) {
        for (const text of ['a\u0000b', 'a\ud800b']) {
          on.clock.advance(1_000)
          const body = at.reduceRight<unknown>((inner, name) => (name === '*' ? [inner] : { [name]: inner }), text)
          const sent = await on.api.send(endpoint.method, path, { as: key, body })
          expect([endpoint.id, at, sent.status, sent.text]).toEqual([
            endpoint.id,
            at,
            400,
            expect.stringContaining('schema_invalid'),
          ])
        }
      }
    }
    const free = [{ metadata: { 'a\u0000': 1 } }, { metadata: { a: ['\u0000'] } }]
    for (const more of free) {
      const body = beacon(on.clock, { asset_token: token }, 'render', more)
      expect((await on.api.refuse('beacons.send', { as: key, body })).body.reason_code).toBe('schema_invalid')
    }
    expect((await on.api.accept('evidence.verify', {})).body.ok).toBe(true)
  })
})

/** The places of the text fields of a schema, through objects, lists and unions. */
function stringFields(schema: z.core.$ZodType | undefined): string[][] {
  const { def } = (schema?._zod ?? { def: {} }) as { def: Record<string, unknown> }
  const within = [def.innerType, def.in, def.out, ...((def.options as unknown[]) ?? [])].filter(
    (inner) => inner !== undefined,
  )
  if (within.length > 0) return within.flatMap((inner) => stringFields(inner as z.ZodType))
  if (def.type === 'string') return [[]]
  if (def.type === 'array') return stringFields(def.element as z.ZodType).map((at) => ['*', ...at])
  if (def.type !== 'object') return []
  const shape = def.shape as Record<string, z.ZodType>
  return Object.entries(shape).flatMap(([name, field]) => stringFields(field).map((at) => [name, ...at]))
}
