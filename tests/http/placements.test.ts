import { describe, expect, test } from 'vitest'
import { formats, jobTypes, nativeTemplates } from '#contract/fields.ts'
import { type NoFillReason, noFillReasons } from '#contract/no-fill.ts'
import type { Api } from './call.ts'
import { activate, asked, fill, key, liveKey, origin, publishable, stage, stageWith, strictKey } from './stage.ts'

const coffee = { prompt: { topic: 'coffee' }, consent: { semantic_targeting: true } }

async function refusal(api: Api, more: Record<string, unknown>, as = key) {
  return (await api.refuse('placements.create', { as, body: asked(more) })).body.reason_code
}

/** Requests a placement in a session of its own, so that one decision does not affect the next. */
let sessions = 0
async function place(api: Api, more: Record<string, unknown> = {}, as = key) {
  return api.accept('placements.create', { as, body: asked({ session_id: `sess_${++sessions}`, ...more }) })
}

describe('a fill', () => {
  for (const format of formats) {
    test(`a ${format} has the shape of its format, for every job type`, async () => {
      await using on = await stage()
      for (const job_type of jobTypes) {
        const body = asked({ job_type })
        const { slot_id, placement, decision } = await fill(on.api, { format, body })
        expect(slot_id).toMatch(/^slot_[0-9a-z]{11}$/)
        const { width, height } = placement
        const base = on.sandbox.url
        const shapes = {
          banner: {
            media_type: 'image',
            image_url: `${base}/v1/test-assets/banner?width=300&height=250`,
            video_url: null,
            size: [300, 250],
          },
          clip: {
            media_type: 'video',
            image_url: null,
            video_url: expect.stringMatching(`^${base}/v1/test-assets/clip\\?width=640&height=360&duration_ms=\\d+$`),
            size: [640, 360],
          },
          native: { media_type: 'native', image_url: decision.assets?.image_url, video_url: null, size: [600, 314] },
        }
        const shape = shapes[format]
        expect([width, height]).toEqual(shape.size)
        expect(placement).toEqual({
          image_url: shape.image_url,
          video_url: shape.video_url,
          click_url: decision.click_url,
          sponsor_name: decision.sponsor_name,
          width,
          height,
          format,
          asset_token: decision.asset_token,
          ad_label_text: 'Sponsored',
          render: {
            strategy: 'hosted_frame',
            frame_url: `${base}/v1/render/${placement.asset_token}`,
            script_url: `${base}/v1/render.js`,
            media_type: shape.media_type,
            width,
            height,
            aspect_ratio: `${width}/${height}`,
            label_text: 'Sponsored',
            sponsor_name: placement.sponsor_name,
            click_url: placement.click_url,
            ...(format === 'native' ? { native_template_id: 'card' } : {}),
          },
        })
        expect(decision.format).toBe(format)
        expect(decision.delivery_url).toBe(format === 'native' ? null : (placement.image_url ?? placement.video_url))
        if (format === 'native') {
          expect(decision.assets).toMatchObject({
            title: expect.any(String),
            cta_text: expect.any(String),
            image_url: placement.image_url,
            icon_url: expect.stringContaining('icon'),
          })
        } else expect(decision.assets).toBeNull()
        expect(decision.dimensions).toEqual({ width, height })
        expect(decision.ad_label_text).toBe('Sponsored')
        expect(decision.duration_ms).toEqual(format === 'clip' ? expect.any(Number) : null)
        expect(decision.constraints).toEqual({
          mode: format,
          ruleset_id: 'mrc_viewability',
          ruleset_version: 1,
          max_render_delay_ms: 300_000,
          require_viewability_ms: format === 'clip' ? 2_000 : 1_000,
          creative_duration_ms: decision.duration_ms ?? 0,
        })
      }
    })
  }

  test('the asset token is opaque, long, and different for every fill', async () => {
    await using on = await stage()
    const tokens = new Set<string>()
    for (let count = 0; count < 5; count++) tokens.add((await fill(on.api)).asset_token)
    expect(tokens.size).toBe(5)
    for (const token of tokens) expect(token).toMatch(/^ast_[A-Za-z0-9_-]{43,}$/)
  })

  test('the publisher share of the price is estimated per impression', async () => {
    await using on = await stage()
    const { decision } = await fill(on.api, { body: asked(coffee) })
    expect(decision.revenue_estimate).toEqual({
      gross_cpm: 4.2,
      estimated_net_per_impression: 0.00294,
      currency: 'USD',
    })
    expect(decision.cs_declaration).toBe('CS-S (S1/P0)')
  })

  test('its assets can be loaded, have the declared type, and are recognizable as test substitutes by their path', async () => {
    await using on = await stage()
    for (const format of formats) {
      const { placement, decision } = await fill(on.api, { format })
      const urls = [placement.image_url, placement.video_url, decision.assets?.icon_url].filter((url) => url != null)
      for (const url of urls) {
        const { pathname, search } = new URL(url)
        const { status, headers } = await on.api.send('GET', pathname + search)
        expect(status).toBe(200)
        expect(headers['access-control-allow-origin']).toBe('*')
        expect(headers['cross-origin-resource-policy']).toBe('cross-origin')
        expect(headers['x-content-type-options']).toBe('nosniff')
        if (format !== 'native') expect(headers['content-type']).toBe(decision.mime_type)
        const again = await on.api.send('GET', pathname + search, { headers: { 'if-none-match': headers.etag } })
        expect([again.status, again.text]).toEqual([304, ''])
      }
    }
  })

  test("production keys get the catalogue's own creatives, test keys the substitutes; native keeps its shape", async () => {
    await using on = await stage()
    for (const format of formats) {
      const { placement } = await fill(on.api, { format, as: liveKey })
      const url = placement.image_url ?? placement.video_url
      expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/assets\/creatives\/[a-z-]+\//)
      expect((await on.api.send('GET', new URL(url!).pathname)).status).toBe(200)
    }
    expect((await fill(on.api, { format: 'native' })).placement.image_url).toContain('/assets/creatives/')
  })

  test('an activation token gets placements of the mode of its key', async () => {
    await using on = await stage()
    const token = await activate(on.api)
    const { body } = await on.api.accept('placements.create', { as: token, origin, body: asked() })
    expect(body.placement?.format === 'native' ? 'native' : body.decision?.delivery_url).toContain('/v1/test-assets/')
  })
})

describe('sizes', () => {
  test('the creative is the largest standard size that fits the hint', async () => {
    await using on = await stage()
    const cases: [string, Record<string, unknown>, string][] = [
      ['banner', {}, '300x250'],
      ['banner', { position: 'sidebar' }, '300x250'],
      ['banner', { max_width: 4096, max_height: 4096 }, '970x250'],
      ['banner', { max_width: 970, max_height: 250 }, '970x250'],
      ['banner', { max_width: 969, max_height: 249 }, '728x90'],
      ['banner', { max_width: 336, max_height: 280 }, '336x280'],
      ['banner', { max_width: 335, max_height: 279 }, '300x250'],
      ['banner', { max_width: 320, max_height: 249 }, '320x100'],
      ['banner', { max_width: 320, max_height: 99 }, '320x50'],
      ['banner', { max_height: 90 }, '728x90'],
      ['clip', {}, '640x360'],
      ['clip', { max_width: 640, max_height: 360 }, '640x360'],
      ['clip', { max_width: 639 }, '320x180'],
    ]
    for (const [format, slot_hint, size] of cases) {
      const { body } = await place(on.api, { slot_hint, overrides: { allowed_formats: [format] } })
      expect([slot_hint, `${body.placement?.width}x${body.placement?.height}`]).toEqual([slot_hint, size])
      const url = new URL(body.decision!.delivery_url!)
      expect(`${url.searchParams.get('width')}x${url.searchParams.get('height')}`).toBe(size)
    }
  })

  test('a native placement is never larger than the slot', async () => {
    await using on = await stage()
    const hint = { max_width: 280, max_height: 200 }
    const { body } = await place(on.api, { slot_hint: hint, overrides: { allowed_formats: ['native'] } })
    expect(body.placement?.width).toBeLessThanOrEqual(280)
    expect(body.placement?.height).toBeLessThanOrEqual(200)
  })

  test('bounds are 1 to 4096', async () => {
    await using on = await stage()
    for (const max_width of [0, -1, 4097, 1.5, '300']) {
      expect(await refusal(on.api, { slot_hint: { max_width } })).toBe('schema_invalid')
    }
  })
})

describe('no fill', () => {
  const cases: [NoFillReason, Record<string, unknown>][] = [
    ['below_floor', { overrides: { bidfloor: 1000 } }],
    ['below_floor', { overrides: { allowed_formats: ['clip'], bidfloors: { clip: 1000 } } }],
    ['size_mismatch', { slot_hint: { max_width: 10 } }],
    ['category_blocked', { overrides: { blocked_categories: ['IAB19', 'IAB3', 'IAB10'] } }],
    [
      'advertiser_blocked',
      {
        overrides: {
          blocked_domains: ['latchwell', 'notewick', 'kilnworth-home', 'alderway-trust'].map((d) => `${d}.example`),
        },
      },
    ],
    ['content_safety', { prompt: { topic: 'Suicide prevention' } }],
    ['test_forced', { test_outcome: 'no_fill' }],
  ]
  for (const [reason, more] of cases) {
    test(`${reason} is answered for ${JSON.stringify(more)}`, async () => {
      await using on = await stage()
      const { status, body } = await place(on.api, more)
      expect([status, body.status, body.placement]).toEqual([200, 'ready', null])
      const row = noFillReasons[reason]
      expect(body.decision).toEqual({
        fill: false,
        format: null,
        asset_token: null,
        delivery_url: null,
        assets: null,
        reason: 'no_fill',
        no_fill_reason: reason,
        reason_origin: row.origin,
        nbr: row.nbr,
        retryable: ['next turn', 'later', 'yes'].includes(row.retry),
        ad_label_text: 'Sponsored',
        cs_declaration: 'CS-S (S0/P0)',
      })
      expect(body.authoritative_consent?.lifecycle_state).toBe('granted')
    })
  }

  test('format_mismatch when no campaign of the topic has a creative of the format', async () => {
    await using on = await stage()
    const others = ['latchwell', 'notewick', 'kilnworth-home', 'alderway-trust'].map((name) => `${name}.example`)
    const { body } = await place(on.api, {
      prompt: { topic: 'hiking' },
      consent: { semantic_targeting: true },
      overrides: { allowed_formats: ['clip'], blocked_domains: others },
    })
    expect(body.decision).toMatchObject({ no_fill_reason: 'format_mismatch' })
  })

  test('consent_not_granted when consent was denied', async () => {
    await using on = await stage()
    const call = { client_id: 'proj_strict', consent: { semantic_targeting: false } }
    const { body } = await place(on.api, call, strictKey)
    expect(body.decision).toMatchObject({ no_fill_reason: 'consent_not_granted', retryable: false })
    expect(body.authoritative_consent?.lifecycle_state).toBe('denied')
  })

  test('frequency_cap_exceeded: per session, per day, per hour of the project, and prompts between two fills', async () => {
    await using on = await stage()
    const reason = async (session_id: string, frequency_cap: Record<string, number>) => {
      const body = asked({ session_id, overrides: { frequency_cap } })
      const { decision } = (await on.api.accept('placements.create', { as: key, body })).body
      return decision?.fill === false ? decision.no_fill_reason : 'filled'
    }
    expect(await reason('s1', { session: 2 })).toBe('filled')
    expect(await reason('s1', { session: 2 })).toBe('filled')
    expect(await reason('s1', { session: 2 })).toBe('frequency_cap_exceeded')
    expect(await reason('s2', { session: 2 })).toBe('filled')
    expect(await reason('s3', { prompt_interval: 2 })).toBe('filled')
    expect(await reason('s3', { prompt_interval: 2 })).toBe('frequency_cap_exceeded')
    expect(await reason('s3', { prompt_interval: 2 })).toBe('frequency_cap_exceeded')
    expect(await reason('s3', { prompt_interval: 2 })).toBe('filled')
    expect(await reason('s4', { global_per_hour: 5 })).toBe('frequency_cap_exceeded')
    expect(await reason('s5', { user_per_day: 1 })).toBe('filled')
    expect(await reason('s5', { user_per_day: 1 })).toBe('frequency_cap_exceeded')
    on.clock.advance(3_600_001)
    expect(await reason('s4', { global_per_hour: 5 })).toBe('filled')
    expect(await reason('s5', { user_per_day: 1 })).toBe('frequency_cap_exceeded')
    on.clock.advance(86_400_000)
    expect(await reason('s5', { user_per_day: 1 })).toBe('filled')
    expect(await reason('s1', { session: 2 })).toBe('frequency_cap_exceeded')
  })

  test('a cap also applies to the slots of one job', async () => {
    await using on = await stage()
    const body = asked({ slots_requested: 3, overrides: { frequency_cap: { session: 1 } } })
    const { headers } = await on.api.accept('placements.create', { as: key, body })
    const fills = []
    for (const slot_id of String(headers['x-sandbox-slot-ids']).split(', ')) {
      fills.push((await on.api.accept('decisions.get', { as: key, params: { slot_id } })).body.decision?.fill)
    }
    expect(fills).toEqual([true, false, false])
  })

  test('prompts between two fills are counted alike when decisions take their time, and the slots of a job are one', async () => {
    for (const decision_latency_ms of [0, 1_000]) {
      await using on = await stage({ decision_latency_ms })
      const slots: string[] = []
      for (let prompt = 0; prompt < 4; prompt++) {
        const overrides = { frequency_cap: { prompt_interval: 2 } }
        const body = asked({ slots_requested: prompt === 0 ? 2 : 1, overrides })
        slots.push(...(await on.api.accept('jobs.create', { as: key, body })).body.slot_ids)
      }
      on.clock.advance(decision_latency_ms)
      const fills = []
      for (const slot_id of slots) {
        const call = { as: key, params: { slot_id }, query: { wait_ms: 1_000 } }
        fills.push((await on.api.accept('decisions.get', call)).body.decision?.fill)
      }
      expect([decision_latency_ms, fills]).toEqual([decision_latency_ms, [true, true, false, false, true]])
    }
  })

  test('policy_block when the project is disabled, unsupported_surface when a job type is not enabled', async () => {
    await using disabled = await stageWith({ enabled: false })
    expect((await place(disabled.api)).body.decision).toMatchObject({
      no_fill_reason: 'policy_block',
      retryable: false,
    })
    await using chatOnly = await stageWith({ job_types: ['chat'] })
    expect((await place(chatOnly.api, { job_type: 'agent' })).body.decision).toMatchObject({
      no_fill_reason: 'unsupported_surface',
    })
    expect((await place(chatOnly.api)).body.decision?.fill).toBe(true)
  })

  test('no_demand by the fill rate of the project, the same for the same request', async () => {
    await using on = await stageWith({ fill_rate: 0 })
    expect((await place(on.api)).body.decision).toMatchObject({ no_fill_reason: 'no_demand', retryable: true })
  })
})

describe('wait_ms', () => {
  test('is 0 to 5000, an integer, in query and body alike', async () => {
    await using on = await stage()
    for (const wait_ms of [-1, 0.5, 'soon']) {
      expect(await refusal(on.api, { wait_ms })).toBe('schema_invalid')
    }
    for (const wait_ms of ['-1', '0.5', 'soon', 'Infinity', 'NaN']) {
      const { body } = await on.api.refuse('placements.create', { as: key, query: { wait_ms }, body: asked() })
      expect([wait_ms, body.reason_code, body.fields[0]?.path]).toEqual([wait_ms, 'schema_invalid', 'wait_ms'])
    }
    for (const wait_ms of [0, 1500, 5000]) {
      const { warnings } = await on.api.accept('placements.create', { as: key, query: { wait_ms }, body: asked() })
      expect(warnings).toEqual([])
    }
  })

  test('above 5000 it is clamped, with a warning', async () => {
    await using on = await stage()
    expect((await place(on.api, { wait_ms: 5001 })).warnings).toEqual(['wait_ms_clamped'])
    const { warnings } = await on.api.accept('placements.create', {
      as: key,
      query: { wait_ms: 90_000 },
      body: asked(),
    })
    expect(warnings).toEqual(['wait_ms_clamped'])
  })

  test('the query takes precedence over the body, with a warning when they differ', async () => {
    await using on = await stage({ decision_latency_ms: 60_000 })
    const call = { as: key, query: { wait_ms: 0 }, body: asked({ wait_ms: 5000 }) }
    const started = performance.now()
    const { warnings, body } = await on.api.accept('placements.create', call)
    expect(performance.now() - started).toBeLessThan(2_500)
    expect([warnings, body.status]).toEqual([['wait_ms_conflict'], 'pending'])
    const same = await on.api.accept('placements.create', {
      as: key,
      query: { wait_ms: 0 },
      body: asked({ wait_ms: 0 }),
    })
    expect(same.warnings).toEqual([])
  })

  test('when the wait is over the response is 200 and pending, without placement or decision', async () => {
    await using on = await stage({ decision_latency_ms: 60_000 })
    const { body } = await place(on.api, { wait_ms: 20 })
    expect(body).toEqual({ slot_id: body.slot_id, status: 'pending', placement: null, decision: null })
  })

  test('1500 ms is the default: a pending placement responds after that time', async () => {
    await using on = await stage({ decision_latency_ms: 60_000 })
    const started = performance.now()
    expect((await place(on.api)).body.status).toBe('pending')
    expect(performance.now() - started).toBeGreaterThan(1_400)
  })
})

describe('slots_requested', () => {
  test('creates that many slots; the response is the first, a header lists all', async () => {
    await using on = await stage()
    for (const slots_requested of [1, 2, 4]) {
      const { body, headers } = await place(on.api, { slots_requested })
      const slots = headers['x-sandbox-slot-ids']
      const ids = typeof slots === 'string' ? slots.split(', ') : [body.slot_id]
      expect(ids).toHaveLength(slots_requested)
      expect(ids[0]).toBe(body.slot_id)
      for (const slot_id of ids) {
        const { body: slot } = await on.api.accept('decisions.get', { as: key, params: { slot_id } })
        expect(slot).toMatchObject({ slot_id, status: 'ready', decision: { fill: true } })
      }
    }
  })

  test('outside 1 to 4 is 400', async () => {
    await using on = await stage()
    for (const slots_requested of [0, 5, -1]) {
      expect(await refusal(on.api, { slots_requested })).toBe('slots_requested_out_of_range')
    }
    expect(await refusal(on.api, { slots_requested: 1.5 })).toBe('schema_invalid')
  })
})

describe('overrides', () => {
  test('a single allowed format is used, whatever other formats would pay', async () => {
    await using on = await stage()
    for (const format of formats) {
      const { body } = await place(on.api, { ...coffee, overrides: { allowed_formats: [format] } })
      expect(body.decision?.format).toBe(format)
    }
  })

  test('formats must be non-empty, known and unique', async () => {
    await using on = await stage()
    expect(await refusal(on.api, { overrides: { allowed_formats: [] } })).toBe('formats_empty')
    for (const format of ['video', 'BANNER', '', 5, null]) {
      expect(await refusal(on.api, { overrides: { allowed_formats: ['banner', format] } })).toBe('format_unsupported')
    }
    expect(await refusal(on.api, { overrides: { allowed_formats: ['banner', 'banner'] } })).toBe('schema_invalid')
    expect(await refusal(on.api, { overrides: { allowed_formats: 'banner' } })).toBe('schema_invalid')
  })

  test('every native template can be requested, card is the default, and only with native allowed', async () => {
    await using on = await stage()
    for (const native_template_id of nativeTemplates) {
      const { body } = await place(on.api, { overrides: { allowed_formats: ['native'], native_template_id } })
      expect(body.placement?.render.native_template_id).toBe(native_template_id)
    }
    const combination = { allowed_formats: ['banner', 'clip'], native_template_id: 'card' }
    expect(await refusal(on.api, { overrides: combination })).toBe('format_combination_unsupported')
    expect(await refusal(on.api, { overrides: { native_template_id: 'hero' } })).toBe('schema_invalid')
    await place(on.api, { overrides: { native_template_id: 'minimal' } })
  })

  test('a floor is met by an equal price, in its currency; a floor of the format takes precedence over the general one', async () => {
    await using on = await stage()
    const fills = async (overrides: Record<string, unknown>) =>
      (await place(on.api, { overrides: { allowed_formats: ['banner'], ...overrides } })).body.decision?.fill
    expect(await fills({ bidfloor: 2.1 })).toBe(true)
    expect(await fills({ bidfloor: 2.11 })).toBe(false)
    expect(await fills({ bidfloor: 2.1, bidfloor_currency: 'EUR' })).toBe(false)
    expect(await fills({ bidfloor: 200, bidfloor_currency: 'JPY' })).toBe(true)
    expect(await fills({ bidfloor: 9, bidfloors: { banner: 1 } })).toBe(true)
    expect(await fills({ bidfloor: 1, bidfloors: { default: 9 } })).toBe(false)
    for (const bad of [
      { bidfloor: -1 },
      { bidfloor: '1' },
      { bidfloor_currency: 'usd' },
      { bidfloor_currency: 'QQQ' },
      { bidfloor: 1, bidfloor_currency: 'EUU' },
      { bidfloors: { banner: -1 } },
    ]) {
      const { body } = await on.api.refuse('placements.create', { as: key, body: asked({ overrides: bad }) })
      expect([body.reason_code, body.fields.length]).toEqual(['schema_invalid', 1])
    }
  })

  test('a blocked category blocks its children, a blocked domain its subdomains', async () => {
    await using on = await stage()
    const sponsor = async (overrides: Record<string, unknown>) =>
      new URL((await place(on.api, { overrides })).body.placement!.click_url).hostname
    expect(await sponsor({})).toMatch(/latchwell\.example$/)
    expect(await sponsor({ blocked_categories: ['IAB19'] })).toMatch(/notewick\.example$/)
    expect(await sponsor({ blocked_categories: ['IAB19-25', 'IAB3-4'] })).toMatch(/kilnworth-home\.example$/)
    expect(await sponsor({ blocked_categories: ['IAB19-1'] })).toMatch(/latchwell\.example$/)
    expect(await sponsor({ blocked_domains: ['latchwell.example'] })).toMatch(/notewick\.example$/)
    for (const bad of [{ blocked_categories: [''] }, { blocked_domains: ['http://a.example'] }]) {
      expect(await refusal(on.api, { overrides: bad })).toBe('schema_invalid')
    }
    const unknown = await place(on.api, { overrides: { blocked_categories: ['sports'] } })
    expect([unknown.warnings, unknown.body.decision?.fill]).toEqual([['category_unknown'], true])
  })

  test('a floor in a currency without a rate counts as USD, with a warning', async () => {
    await using on = await stage()
    const warningsOf = async (overrides: Record<string, unknown>) => (await place(on.api, { overrides })).warnings
    expect(await warningsOf({ bidfloor: 1, bidfloor_currency: 'TRY' })).toEqual(['currency_without_rate'])
    expect(await warningsOf({ bidfloors: { banner: 1 }, bidfloor_currency: 'XXX' })).toEqual(['currency_without_rate'])
    expect(await warningsOf({ bidfloor: 1, bidfloor_currency: 'EUR' })).toEqual([])
    expect(await warningsOf({ bidfloor: 1 })).toEqual([])
    // Without a floor there is nothing to convert.
    expect(await warningsOf({ bidfloor_currency: 'TRY' })).toEqual([])
  })

  test('fields without effect are accepted', async () => {
    await using on = await stage()
    await place(on.api, {
      overrides: {
        timing: 'after',
        publisher: { app_name: 'Demo', app_domain: 'demo.example', app_bundle: 'com.demo', categories: ['IAB19'] },
        targeting: { age: [18, 25], nested: { deep: true } },
        pacing: { daily: 5 },
        preferred_partner_id: 'ptn_saltmarsh',
        gdpr_applies: true,
      },
    })
    for (const timing of ['during', 'before', 'after']) await place(on.api, { overrides: { timing } })
    expect(await refusal(on.api, { overrides: { timing: 'later' } })).toBe('schema_invalid')
  })
})

describe('matching', () => {
  test('the topic takes part only with semantic_targeting; without it demand is run-of-network', async () => {
    await using on = await stage()
    const sponsor = async (more: Record<string, unknown>) => (await place(on.api, more)).body.placement?.sponsor_name
    const network = await sponsor({})
    const matched = await sponsor(coffee)
    expect(matched).not.toBe(network)
    expect(await sponsor({ ...coffee, consent: { semantic_targeting: false } })).toBe(network)
    expect(await sponsor({ ...coffee, consent: {} })).toBe(network)
    expect(await sponsor({ prompt: { topic: ' COFFEE ' }, consent: { semantic_targeting: true } })).toBe(matched)
    const text = { prompt: 'a latte from my barista', consent: { semantic_targeting: true, prompt_shared: true } }
    expect(await sponsor(text)).toBe(matched)
    expect(await sponsor({ ...text, consent: { semantic_targeting: true } })).toBe(network)
  })

  test('the same seed gives the same response, byte by byte except for the address', async () => {
    const run = async (seed: number) => {
      await using on = await stage({ seed })
      const responses = []
      for (const format of formats) {
        const body = asked({ ...coffee, overrides: { allowed_formats: [format] } })
        responses.push((await on.api.accept('placements.create', { as: key, body })).text)
      }
      return responses.join('\n').replaceAll(on.sandbox.url, '')
    }
    expect(await run(7)).toBe(await run(7))
    expect(await run(7)).not.toBe(await run(8))
  })

  test('the same project, session and topic get the same decision again', async () => {
    await using on = await stage()
    const first = await fill(on.api, { body: asked({ session_id: 'same', ...coffee }) })
    const second = await fill(on.api, { body: asked({ session_id: 'same', ...coffee }) })
    expect(second.placement.sponsor_name).toBe(first.placement.sponsor_name)
    expect(second.placement.format).toBe(first.placement.format)
    expect(second.slot_id).not.toBe(first.slot_id)
  })
})

describe('test_outcome', () => {
  test('needs a Server Test Key: production keys and activation tokens are rejected', async () => {
    await using on = await stage()
    const more = { test_outcome: 'no_fill' }
    expect(await refusal(on.api, more, liveKey)).toBe('test_outcome_requires_test_key')
    const token = await activate(on.api, publishable)
    const { body } = await on.api.refuse('placements.create', { as: token, origin, body: asked(more) })
    expect([body.error, body.reason_code]).toEqual(['forbidden', 'test_outcome_requires_test_key'])
  })

  test('accepts no other value', async () => {
    await using on = await stage()
    for (const test_outcome of ['fill', 'NO_FILL', '', true]) {
      expect(await refusal(on.api, { test_outcome })).toBe('schema_invalid')
    }
  })
})

test('a response is never cached, and always varies by origin', async () => {
  await using on = await stage()
  const { headers } = await place(on.api)
  expect(headers['cache-control']).toBe('no-store')
  expect(headers.vary).toContain('Origin')
  expect(headers['x-content-type-options']).toBe('nosniff')
})

test('a session cap of one gives one fill to any number of parallel requests', async () => {
  await using on = await stage()
  const body = asked({ overrides: { frequency_cap: { session: 1 } } })
  const responses = await Promise.all(
    Array.from({ length: 8 }, () => on.api.accept('placements.create', { as: key, body })),
  )
  expect(responses.filter(({ body: { decision } }) => decision?.fill)).toHaveLength(1)
})

test('prompt text of a high-risk topic does not fill, whatever topic was sent with it', async () => {
  await using on = await stage()
  const consent = { semantic_targeting: true, prompt_shared: true }
  const prompt = { topic: 'coffee', text: 'I drink coffee and I want to end my life' }
  const { body } = await on.api.accept('placements.create', { as: key, body: asked({ consent, prompt }) })
  expect(body.decision).toMatchObject({ fill: false, no_fill_reason: 'content_safety' })
})
