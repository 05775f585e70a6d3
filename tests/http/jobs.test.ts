import { describe, expect, test } from 'vitest'
import { jobTypes } from '#contract/fields.ts'
import type { Api, Call } from './call.ts'
import { activate, asked, key, liveKey, origin, stage, stageWith } from './stage.ts'

async function create(api: Api, body: unknown, call: Call = { as: key }) {
  const response = await api.accept('jobs.create', { ...call, body })
  const slot_id = response.body.slot_ids[0]!
  const { body: slot } = await api.accept('placements.explain', { params: { slot_id } })
  return { ...response, slot }
}

async function refusal(api: Api, body: unknown, call: Call = { as: key }) {
  return (await api.refuse('jobs.create', { ...call, body })).body.reason_code
}

describe('a job in the canonical shape', () => {
  test('is accepted with 201, its slots, and the path to poll them', async () => {
    await using on = await stage()
    const { body, status, headers } = await create(on.api, {
      client_id: 'proj_demo',
      session_id: 's',
      job_type: 'code',
    })
    expect(status).toBe(201)
    expect(body).toEqual({
      job_id: expect.stringMatching(/^job_[0-9a-z]{11}$/),
      slot_ids: [expect.stringMatching(/^slot_[0-9a-z]{11}$/)],
      status: 'accepted',
      poll_path_template: '/v1/decisions/{slot_id}',
      expires_at: new Date(on.clock.now() + 600_000).toISOString(),
      decision_delivery: { mode: 'polling', poll_path_template: '/v1/decisions/{slot_id}' },
      request_id: headers['x-request-id'],
    })
    const slot_id = body.slot_ids[0]!
    const { body: decided } = await on.api.accept('decisions.get', { as: key, params: { slot_id } })
    expect(decided).toMatchObject({ slot_id, status: 'ready', decision: { fill: true } })
  })

  test('takes every job type, chat by default', async () => {
    await using on = await stage()
    for (const job_type of jobTypes) {
      expect((await create(on.api, { client_id: 'proj_demo', job_type })).slot.job_type).toBe(job_type)
    }
    const { slot, warnings } = await create(on.api, { client_id: 'proj_demo' })
    expect([slot.job_type, slot.session_id, warnings]).toEqual(['chat', null, []])
    expect(await refusal(on.api, { client_id: 'proj_demo', job_type: 'video' })).toBe('schema_invalid')
  })

  test('gets one slot, or as many as requested, 1 to 4', async () => {
    await using on = await stage()
    for (const slots_requested of [1, 2, 3, 4]) {
      const { body } = await create(on.api, { client_id: 'proj_demo', slots_requested })
      expect(new Set(body.slot_ids).size).toBe(slots_requested)
      for (const slot_id of body.slot_ids) {
        await on.api.accept('decisions.get', { as: key, params: { slot_id } })
      }
    }
    for (const slots_requested of [0, 5, -1]) {
      expect(await refusal(on.api, { client_id: 'proj_demo', slots_requested })).toBe('slots_requested_out_of_range')
    }
  })

  test('without client_id is 400, naming the field', async () => {
    await using on = await stage()
    const { body } = await on.api.refuse('jobs.create', { as: key, body: { session_id: 's', job_type: 'chat' } })
    expect([body.reason_code, body.fields[0]?.path]).toEqual(['schema_invalid', 'client_id'])
  })

  test('takes hint, overrides, prompt and consent like a placement', async () => {
    await using on = await stage()
    const { slot } = await create(on.api, {
      client_id: 'proj_demo',
      session_id: 's',
      locale: 'en-GB',
      prompt: { topic: 'coffee' },
      consent: { semantic_targeting: true },
      slot_hint: { max_width: 320, max_height: 100, position: 'below' },
      overrides: { allowed_formats: ['banner'], bidfloor: 0.5 },
    })
    expect(slot).toMatchObject({ format: 'banner', campaign_id: 'cmp_larkfield_coffee', topic: 'coffee' })
    expect(slot.decision).toMatchObject({ dimensions: { width: 320, height: 100 } })
    expect(await refusal(on.api, { client_id: 'proj_demo', overrides: { allowed_formats: [] } })).toBe('formats_empty')
    expect(await refusal(on.api, { client_id: 'proj_demo', test_outcome: 'no_fill' })).toBe('field_unknown')
  })
})

describe('the flat variants of public clients', () => {
  const flat = {
    context: { topic: 'coffee', geo: { country: 'de', city: 'Berlin' }, device: { type: 'desktop' } },
    chat_session_id: 'chat-1',
    model_id: 'model-x',
    predicted_latency_ms: 1200.5,
    publisher: { app_name: 'Demo' },
    slot_config: {
      allowed_formats: ['banner'],
      max_width: 728,
      max_height: 90,
      position_hint: 'below',
      bidfloor: 0.5,
      bidfloorcur: 'USD',
      timing: 'after',
    },
    brand_safety: { blocked_categories: ['IAB25'], blocked_domains: ['notewick.example'], level: 'strict' },
    routing: { strategy: 'auto' },
    ssp_partner_id: 'ptn_meridian',
    delivery: { mode: 'polling' },
    callback_url: 'https://client.example/hook',
    verification: { vendors: ['a'] },
    frequency_cap: { session: 5 },
    targeting: { any: 'thing' },
    pacing: { daily: 1 },
    timing: 'before',
    consent: { semantic_targeting: true },
  }

  test('mean the same as the canonical fields', async () => {
    await using on = await stage()
    const { slot, body } = await create(on.api, { client_id: 'proj_demo', job_type: 'chat', ...flat })
    expect(slot).toMatchObject({ session_id: 'chat-1', topic: 'coffee', campaign_id: 'cmp_larkfield_coffee' })
    expect(slot.decision).toMatchObject({ format: 'banner', dimensions: { width: 728, height: 90 } })
    expect(slot.partner_request).toMatchObject({
      country: 'DE',
      formats: ['banner'],
      max_width: 728,
      max_height: 90,
      floors: { banner: 0.5 },
      blocked_categories: ['IAB25'],
      blocked_domains: ['notewick.example'],
    })
    expect(body).not.toHaveProperty('contract_version')
  })

  test('each alone makes client_id optional: the project is that of the key, with a warning', async () => {
    await using on = await stage()
    for (const [name, value] of Object.entries(flat)) {
      if (name === 'consent') continue
      const { slot, warnings } = await create(on.api, { [name]: value })
      expect([name, slot.client_id, warnings]).toEqual([name, 'proj_demo', ['client_id_from_key']])
    }
    expect(await refusal(on.api, { consent: flat.consent })).toBe('schema_invalid')
  })

  test('are ignored when the canonical field is sent too', async () => {
    await using on = await stage()
    const { slot } = await create(on.api, {
      client_id: 'proj_demo',
      session_id: 'canonical',
      prompt: { topic: 'tea' },
      slot_hint: { max_width: 320, max_height: 50 },
      overrides: { allowed_formats: ['native', 'banner'], bidfloor: 0 },
      ...flat,
    })
    expect(slot).toMatchObject({ session_id: 'canonical' })
    expect(slot.partner_request).toMatchObject({
      formats: ['native', 'banner'],
      max_width: 320,
      max_height: 50,
      topic: 'tea',
    })
  })

  test('take effect: a floor, a cap, a country', async () => {
    await using on = await stage()
    const reason = async (body: Record<string, unknown>) =>
      (await create(on.api, { client_id: 'proj_demo', ...body })).slot.no_fill_reason
    expect(await reason({ slot_config: { bidfloor: 1000 } })).toBe('below_floor')
    const capped = { chat_session_id: 'capped', frequency_cap: { session: 1 } }
    expect(await reason(capped)).toBeNull()
    expect(await reason(capped)).toBe('frequency_cap_exceeded')
    const rail = { context: { topic: 'trains', geo: { country: 'DE' } }, consent: { semantic_targeting: true } }
    expect((await create(on.api, { client_id: 'proj_demo', ...rail })).slot.campaign_id).toBe('cmp_corvia_rail')
  })

  test('of the wrong type are rejected', async () => {
    await using on = await stage()
    const wrong = [
      { chat_session_id: 'a\tb' },
      { slot_config: { bidfloor: -1 } },
      { slot_config: { size: 1 } },
      { delivery: { mode: 'pigeon' } },
      { frequency_cap: { session: 0 } },
      { context: 'tea' },
      { predicted_latency_ms: -1 },
    ]
    for (const body of wrong) {
      const { status } = await on.api.refuse('jobs.create', { as: key, body: { client_id: 'proj_demo', ...body } })
      expect([body, status]).toEqual([body, 400])
    }
  })
})

describe('the browser branch', () => {
  const browser = {
    contract_version: 'csl_wrapper_ingress_create/v1',
    job: { job_type: 'chat', model_id: 'model-x', locale: 'en', slots_requested: 2 },
    context: { chat_session_id: 'chat-1', topic: 'coffee' },
    consent: { semantic_targeting: true },
    publisher: { app_domain: 'app.example' },
    slot_config: {
      allowed_formats: ['native'],
      native_template_id: 'featured',
      max_width: 600,
      position_hint: 'inline',
    },
    brand_safety: { blocked_categories: ['IAB25'] },
    delivery: { mode: 'websocket' },
  }

  test('responds in its own contract, with the project of the token', async () => {
    await using on = await stage()
    const as = await activate(on.api)
    const { body, slot, warnings } = await create(on.api, browser, { as, origin })
    expect(warnings).toEqual([])
    expect(body).toMatchObject({
      contract_version: 'csl_wrapper_ingress_accepted/v1',
      status: 'accepted',
      poll_path_template: '/v1/decisions/{slot_id}',
      decision_delivery: { mode: 'websocket', decision_path_template: '/v1/decisions/{slot_id}' },
    })
    expect(body.slot_ids).toHaveLength(2)
    expect(slot).toMatchObject({
      client_id: 'proj_demo',
      session_id: 'chat-1',
      format: 'native',
      campaign_id: 'cmp_larkfield_coffee',
    })
    const polled = await on.api.accept('decisions.get', { as, origin, params: { slot_id: body.slot_ids[1]! } })
    expect(polled.body.placement?.render.native_template_id).toBe('featured')
  })

  test('needs a version and a job; another major is rejected, another family keeps its name', async () => {
    await using on = await stage()
    const as = await activate(on.api)
    const call = { as, origin }
    const job = { job_type: 'chat' }
    for (const contract_version of ['csl_wrapper_ingress_create/v2', 'a/v0', 'a/v11']) {
      expect(await refusal(on.api, { contract_version, job }, call)).toBe('contract_version_unsupported')
    }
    for (const contract_version of ['v1', 'a', '', 1, 'A/v1']) {
      expect(await refusal(on.api, { contract_version, job }, call)).toBe('schema_invalid')
    }
    const accepted = await create(on.api, { contract_version: 'my_family/v1', job }, call)
    expect(accepted.body.contract_version).toBe('my_family/v1')
    expect(await refusal(on.api, { job }, call)).toBe('schema_invalid')
    expect(await refusal(on.api, { contract_version: 'a/v1' }, call)).toBe('schema_invalid')
  })

  test('without job.job_type it is chat', async () => {
    await using on = await stage()
    const { slot } = await create(on.api, { contract_version: 'a/v1', job: {} }, { as: key })
    expect(slot.job_type).toBe('chat')
  })

  test('a field of the canonical form is refused with its place; other unknown fields are ignored with a warning', async () => {
    await using on = await stage()
    const placed = { session_id: 'context.chat_session_id', overrides: /slot_config/, client_id: 'context.client_id' }
    for (const [name, place] of Object.entries(placed)) {
      const body = { ...browser, colour: 'x', [name]: 'x' }
      const { fields, reason_code } = (await on.api.refuse('jobs.create', { as: key, body })).body
      const expected = typeof place === 'string' ? place : expect.stringMatching(place)
      expect([reason_code, fields]).toEqual([
        'field_unknown',
        [{ path: name, message: 'is in the wrong place', expected }],
      ])
    }
    const unknown = { ...browser, colour: 'x', job: { tone: 1 }, slot_config: { strictness: 'high' } }
    const { body, warnings } = await create(on.api, unknown, { as: key })
    expect(warnings).toEqual(['fields_ignored', 'client_id_from_key'])
    const { text } = await on.api.accept('requests.show', { params: { request_id: body.request_id } })
    expect(text).not.toContain('strictness')
    const wrong = { ...unknown, job: { tone: 1, slots_requested: 'two' } }
    const refused = await on.api.refuse('jobs.create', { as: key, body: wrong })
    expect(refused.body.fields.map(({ path }) => path)).toEqual(['job.slots_requested'])
  })

  test('contract_version in a canonical body is named, not the fields of the other form', async () => {
    await using on = await stage()
    const body = { contract_version: 'a/v1', ...asked() }
    const { fields } = (await on.api.refuse('jobs.create', { as: key, body })).body
    expect(fields).toMatchObject([{ path: 'contract_version', message: 'is in the wrong place' }])
  })

  test('unknown fields of flat variants are refused at every level', async () => {
    await using on = await stage()
    const body = { client_id: 'proj_demo', slot_config: { strictness: 'high' } }
    const refused = await on.api.refuse('jobs.create', { as: key, body })
    expect(refused.body.fields[0]?.path).toBe('slot_config.strictness')
  })

  test('another project than that of the token is rejected', async () => {
    await using on = await stage()
    const as = await activate(on.api)
    const body = { ...browser, context: { client_id: 'proj_other' } }
    expect(await refusal(on.api, body, { as, origin })).toBe('project_mismatch')
    await create(on.api, { ...browser, context: { client_id: 'proj_demo' } }, { as, origin })
  })

  test('accepts secret keys too, in their mode, with a warning when the project is theirs', async () => {
    await using on = await stage()
    const { slot, warnings } = await create(on.api, browser, { as: liveKey })
    expect([slot.mode, warnings]).toEqual(['live', ['client_id_from_key']])
  })
})

describe('pending jobs', () => {
  test('expire ten minutes after their decision is due', async () => {
    await using on = await stageWith({ decision_latency_ms: 30_000 })
    const { body } = await create(on.api, { client_id: 'proj_demo' })
    expect(body.expires_at).toBe(new Date(on.clock.now() + 630_000).toISOString())
  })

  test('a placement request and a job request create the same kind of job', async () => {
    await using on = await stage()
    const placed = await on.api.accept('placements.create', { as: key, body: asked() })
    const { slot } = await create(on.api, { ...asked() })
    const first = (await on.api.accept('placements.explain', { params: { slot_id: placed.body.slot_id } })).body
    expect(slot.campaign_id).toBe(first.campaign_id)
    expect(slot.partner_request).toEqual(first.partner_request)
  })
})
