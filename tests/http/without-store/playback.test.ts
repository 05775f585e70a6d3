/** A recording of one sandbox, played by another one that has no demand of its own. */
import { describe, expect, test } from 'vitest'
import type { Format } from '#contract/fields.ts'
import { playing, record, service } from '../recorded.ts'
import { activate, asked, beacon, fill, key, origin, publishable, type Stage, stage } from '../stage.ts'

const source = 'x-sandbox-source'

/** The sources of the responses to a placement, a poll, and two beacons of its frame. */
const allRecorded = ['recording', 'recording', 'recording', 'recording']

interface Turn {
  /** What an app shows and counts: the same in every run. */
  seen: unknown
  sources: (string | undefined)[]
  slot_id: string
}

/** A turn as a server and its page take it: placement, poll, frame, beacons. */
async function takeTurn({ api, clock }: Stage, body: Record<string, unknown>): Promise<Turn> {
  const created = await api.accept('placements.create', { as: key, body })
  const { slot_id, placement } = created.body
  const polled = await api.accept('decisions.get', { as: key, params: { slot_id } })
  const { decision } = polled.body
  const sources = [created, polled].map(({ headers }) => headers[source] as string | undefined)
  if (decision?.fill !== true || placement === null) {
    return { seen: decision?.fill === false ? decision.no_fill_reason : null, sources, slot_id }
  }
  const { asset_token, sponsor_name } = decision
  const frame = await api.accept('render.frame', { params: { asset_token } })
  const beacons = []
  for (const event of ['render', ...(decision.format === 'clip' ? ['play_started'] : []), 'visible']) {
    clock.advance(2_500)
    const measurements = { visible_ratio: 1, visible_ms: 2_400, page_visible: true }
    const sent = beacon(clock, { asset_token }, event, { measurements })
    const { body: result, headers } = await api.accept('beacons.send', { as: key, body: sent })
    beacons.push({ accepted: result.accepted, reason: result.reason_code, bills: headers['x-sandbox-would-bill'] })
    sources.push(headers[source] as string | undefined)
  }
  const { format, click_url, dimensions, duration_ms, revenue_estimate, assets, ad_label_text } = decision
  const seen = {
    ...{ format, sponsor_name, click_url, dimensions, duration_ms, revenue_estimate, ad_label_text, beacons },
    title: assets?.title ?? null,
    isShown: frame.body.includes(sponsor_name.replaceAll('&', '&amp;')),
  }
  return { seen, sources, slot_id }
}

const formats: readonly Format[] = ['banner', 'clip', 'native']

/** Ten turns of each format, each in a session of its own. */
async function takeTurns(on: Stage, run: string): Promise<Turn[]> {
  const turns: Turn[] = []
  for (const format of formats) {
    for (let turn = 0; turn < 10; turn++) {
      const body = asked({
        session_id: `${run}-${format}`,
        prompt: { topic: turn % 2 === 0 ? 'coffee' : 'running', text: `the question ${turn} of ${run}` },
        consent: { semantic_targeting: true, prompt_shared: true },
        ...(turn === 7 ? { test_outcome: 'no_fill' } : {}),
        overrides: { allowed_formats: [format] },
      })
      turns.push(await takeTurn(on, body))
    }
  }
  return turns
}

describe('ten turns of each format', () => {
  test('play with the same outcomes, frames and accepted beacons', async () => {
    let recorded: Turn[] = []
    const recording = await record(async (on) => {
      recorded = await takeTurns(on, 'then')
    })
    expect(recording).not.toMatch(/ast_[0-9a-z]{11}_(?!redacted)/)
    await using on = await stage(playing(recording))
    const played = await takeTurns(on, 'now')
    expect(played.map(({ seen }) => seen)).toEqual(recorded.map(({ seen }) => seen))
    const fills = played.filter(({ seen }) => typeof seen === 'object')
    expect(fills).toHaveLength(27)
    for (const { sources, seen } of fills) {
      expect(new Set(sources)).toEqual(new Set(allRecorded))
      expect(seen).toMatchObject({ isShown: true })
      const { beacons } = seen as { beacons: object[] }
      expect(beacons.at(-1)).toMatchObject({ accepted: true, bills: 'true; metric=viewable_impression' })
    }
    const ids = new Set(recorded.map(({ slot_id }) => slot_id))
    expect(played.filter(({ slot_id }) => ids.has(slot_id))).toEqual([])
    expect(on.sandbox.playback()).toMatchObject({ sessions: 3, not_recorded: 0, refused: 0, unplayed: [] })
  })

  test('are placements of the emulator: explained, billed and in the evidence', async () => {
    const body = asked({ prompt: { topic: 'coffee' }, consent: { semantic_targeting: true, prompt_shared: false } })
    const recording = await record((on) => takeTurn(on, body))
    await using on = await stage(playing(recording))
    const { slot_id } = await takeTurn(on, body)
    const { body: explained } = await on.api.accept('placements.explain', { params: { slot_id } })
    expect(explained).toMatchObject({
      campaign_id: 'cmp_recorded_1',
      trace: [{ campaign_id: 'cmp_recorded_1', outcome: 'won' }],
      billing: { would_bill: true },
      evidence: [{ kind: 'decision' }, { kind: 'beacon' }, { kind: 'beacon' }],
    })
    expect((await on.api.accept('evidence.verify', { body: {} })).body.ok).toBe(true)
    const { body: journal } = await on.api.accept('requests.list', {
      query: { path: '/v1/placements', details: 'true' },
    })
    expect(journal.items[0]).toMatchObject({ status: 200, slot_id, response_headers: { [source]: 'recording' } })
  })
})

describe('what is played', () => {
  test('has no credential of a file that another program wrote', async () => {
    const credential = 'q7Zk2mVd91xLr0Pc'
    const recording = await record((on) => takeTurn(on, asked({ session_id: 'one', prompt: { topic: 'coffee' } })), {
      change({ request, response, ...entry }) {
        const headers = [...request.headers, { name: 'Authorization', value: `Bearer ${credential}` }]
        const { content } = response
        const text = content.text?.replace(
          /"sponsor_name":"[^"]*/g,
          `$& for ${credential} and ${btoa(` ${credential} `)}`,
        )
        return {
          ...entry,
          request: { ...request, headers },
          response: { ...response, content: { ...content, text: text! } },
        }
      },
    })
    expect(recording).toContain(` for ${credential} and `)
    await using on = await stage(playing(recording))
    const { seen, sources } = await takeTurn(on, asked({ session_id: 'now', prompt: { topic: 'coffee' } }))
    expect(sources).toEqual(allRecorded)
    const { sponsor_name } = seen as { sponsor_name: string }
    expect(sponsor_name).toMatch(/ for tok_[0-7][0-9a-z]{10}_redacted and tok_[0-7][0-9a-z]{10}_redacted$/)
  })

  test('each session plays a recorded one, whichever comes first, and the next one starts from the beginning', async () => {
    const ask = (session_id: string, topic: string) => ({ as: key, body: asked({ session_id, prompt: { topic } }) })
    const first = { ...ask('a', 'coffee') }
    const recording = await record(async ({ api }) => {
      await api.accept('placements.create', first)
      await api.accept('placements.create', ask('b', 'running'))
      const no_fill = { ...ask('a', 'coffee').body, test_outcome: 'no_fill' }
      await api.accept('placements.create', { as: key, body: no_fill })
    })
    await using on = await stage(playing(recording))
    const fills = async (session: string, topic: string, more: object = {}) => {
      const { body } = await on.api.accept('placements.create', {
        as: key,
        body: { ...ask(session, topic).body, ...more },
      })
      return body.decision?.fill
    }
    // The one with `running` is b, although it comes first.
    expect(await fills('x', 'running')).toBe(true)
    expect(await fills('y', 'coffee')).toBe(true)
    expect(await fills('y', 'coffee', { test_outcome: 'no_fill' })).toBe(false)
    expect(await fills('z', 'coffee')).toBe(true)
    const { body } = await on.api.refuse('placements.create', ask('z', 'coffee'))
    expect(body).toMatchObject({ reason_code: 'not_recorded', error: 'not_found' })
    expect(body.hint).toContain('not this often in one session')
    await on.api.accept('sandbox.reset', { body: {} })
    expect(await fills('z', 'coffee')).toBe(true)
  })

  test('a pending placement is pending, and decided by the poll that decided it', async () => {
    const poll = (slot_id: string) => ({ as: key, params: { slot_id }, query: { wait_ms: 0 } })
    const recording = await record(
      async ({ api, clock }) => {
        const { body } = await api.accept('placements.create', { as: key, body: asked({ wait_ms: 0 }) })
        await api.accept('decisions.get', poll(body.slot_id))
        clock.advance(1_000)
        await expect.poll(async () => (await api.accept('decisions.get', poll(body.slot_id))).body.status).toBe('ready')
      },
      { decision_latency_ms: 1_000 },
    )
    await using on = await stage(playing(recording))
    const { body } = await on.api.accept('placements.create', { as: key, body: asked({ wait_ms: 0 }) })
    expect(body.status).toBe('pending')
    expect((await on.api.accept('decisions.get', poll(body.slot_id))).body.status).toBe('pending')
    await expect.poll(async () => (await on.api.accept('decisions.get', poll(body.slot_id))).body.status).toBe('ready')
    // More polls than were recorded get the last response again, with a token that works.
    const { body: again, headers } = await on.api.accept('decisions.get', poll(body.slot_id))
    expect([again.slot_id, headers[source]]).toEqual([body.slot_id, 'recording'])
    await on.api.accept('render.frame', { params: { asset_token: again.placement!.asset_token } })
  })

  test('a job with several slots: each one has its own decision', async () => {
    const body = {
      client_id: 'proj_demo',
      session_id: 's',
      job_type: 'chat',
      slots_requested: 3,
      prompt: { topic: 'coffee' },
    }
    const take = async ({ api }: Stage) => {
      const { body: job, headers } = await api.accept('jobs.create', { as: key, body })
      const seen = []
      for (const slot_id of job.slot_ids) {
        const polled = await api.accept('decisions.get', { as: key, params: { slot_id } })
        expect(polled.body.slot_id).toBe(slot_id)
        seen.push(polled.body.decision?.fill === true ? polled.body.decision.sponsor_name : null)
      }
      return { seen, source: headers[source] }
    }
    let recorded: Awaited<ReturnType<typeof take>> | undefined
    const recording = await record(async (on) => {
      recorded = await take(on)
    })
    await using on = await stage(playing(recording))
    expect(await take(on)).toEqual({ ...recorded, source: 'recording' })
  })

  test('a recorded failure is sent as it was, and the emulator does nothing', async () => {
    const recording = await record(
      async ({ api }) => {
        await api.accept('sandbox.reset', { body: {} })
        await api.accept('placements.create', { as: key, body: asked() })
        await api.refuse('placements.create', { as: key, body: asked() })
        await api.accept('placements.list')
      },
      { rate_limit: '1/min' },
    )
    await using on = await stage(playing(recording))
    const { body: created } = await on.api.accept('placements.create', { as: key, body: asked() })
    const { status, headers, body } = await on.api.refuse('placements.create', { as: key, body: asked() })
    expect([status, headers['retry-after'], headers[source]]).toEqual([429, '60', 'recording'])
    expect(body).toMatchObject({ reason_code: 'rate_limited', request_id: headers['x-request-id'] })
    const { items } = (await on.api.accept('placements.list')).body
    expect(items.map(({ slot_id }) => slot_id)).toEqual([created.slot_id])
    const journal = (await on.api.accept('requests.list')).body.items[0]
    expect(journal).toMatchObject({
      status: 429,
      reason_code: 'rate_limited',
      client_id: 'proj_demo',
      session_id: 'sess_1',
    })
  })

  test('a page: activation, placement and beacons with its tokens, for as many loads as there are', async () => {
    const load = async ({ api, clock }: Stage) => {
      const as = await activate(api)
      const { asset_token } = await fill(api, { as, origin })
      const sent = beacon(clock, { asset_token }, 'render')
      const { headers } = await api.accept('beacons.send', { as, origin, body: sent })
      return headers
    }
    const recording = await record(load)
    await using on = await stage(playing(recording))
    const headers = await load(on)
    expect(headers[source]).toBe('recording')
    expect(headers['access-control-expose-headers']).toContain(source)
    // Another load activates again, and what it asks for then was not recorded.
    const again = await on.api.accept('browser.activate', { origin, body: { publishable_key: publishable } })
    expect(again.headers[source]).toBe('recording')
    const body = asked()
    const refused = await on.api.refuse('placements.create', { as: again.body.activation_token, origin, body })
    expect(refused.body.reason_code).toBe('not_recorded')
    expect(refused.headers[source]).toBe('emulator')
    expect(refused.headers['access-control-allow-origin']).toBe(origin)
  })

  test('a failure that is no JSON, and a time to wait that was a date', async () => {
    const recording = await record(({ api }) => api.refuse('placements.create', { as: key, body: {} }), {
      change: (entry) => ({
        ...entry,
        startedDateTime: '2026-01-01T00:00:00.000Z',
        response: {
          ...entry.response,
          status: 503,
          headers: [
            { name: 'Content-Type', value: 'text/html' },
            { name: 'Retry-After', value: 'Thu, 01 Jan 2026 00:00:30 GMT' },
            { name: 'Set-Cookie', value: 'a=b' },
          ],
          content: { size: 0, mimeType: 'text/html', text: '<p>Maintenance</p>' },
        },
      }),
    })
    await using on = await stage(playing(recording))
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const response = await fetch(`${on.sandbox.url}/v1/placements`, { method: 'POST', headers, body: '{}' })
    expect(response.status).toBe(503)
    expect(await response.text()).toBe('<p>Maintenance</p>')
    const names = ['content-type', 'retry-after', 'set-cookie', source]
    expect(names.map((name) => response.headers.get(name))).toEqual([
      'text/html; charset=utf-8',
      '30',
      null,
      'recording',
    ])
  })

  test('fields that the service accepts and the contract does not have, in requests and responses', async () => {
    const body = asked({ mood: 'curious' })
    const recording = await record(({ api }) => api.accept('placements.create', { as: key, body: asked() }), {
      change: (entry) => ({
        ...entry,
        request: { ...entry.request, postData: { mimeType: 'application/json', text: JSON.stringify(body) } },
        response: {
          ...entry.response,
          content: {
            ...entry.response.content,
            text: entry.response.content.text!.replace(
              '{',
              '{"experiment":"b","help_url":"https://ads.example/base/help",',
            ),
          },
        },
      }),
    })
    await using on = await stage(playing(recording))
    const response = await on.api.send('POST', '/v1/placements', { as: key, body })
    expect(response.body).toMatchObject({
      experiment: 'b',
      help_url: `${on.sandbox.url}/help`,
      placement: { render: { frame_url: expect.stringContaining(`${on.sandbox.url}/v1/render/ast_`) } },
    })
    expect([response.status, response.warnings, response.headers[source]]).toEqual([
      200,
      ['fields_ignored'],
      'recording',
    ])
  })

  test('requests of old clients, in their shape', async () => {
    const take = async ({ api }: Stage) => {
      const { body: job } = await api.accept('jobs.create', { as: key, body: asked({ prompt: { topic: 'coffee' } }) })
      const params = { slot_id: job.slot_ids[0]! }
      const { body, headers } = await api.accept('wrapper.decision', { as: key, params })
      const { asset_token, creative } = body
      const frame = await api.accept('render.frame', { params: { asset_token: asset_token! } })
      const { url: _, ...seen } = creative!
      return { seen, isShown: frame.body.includes(creative!.sponsor_name!), source: headers[source] }
    }
    let recorded: Awaited<ReturnType<typeof take>> | undefined
    const recording = await record(async (on) => {
      recorded = await take(on)
    })
    await using on = await stage(playing(recording))
    expect(await take(on)).toEqual({ ...recorded, source: 'recording' })
  })

  test('without the overrides of the start, which are for the responses of the emulator', async () => {
    const recording = await record(({ api }) => api.accept('placements.create', { as: key, body: asked() }))
    const rule = {
      endpoint: 'placements.create',
      provenance: 'observed',
      path: 'decision.ad_label_text',
      value: 'Overridden',
    }
    const overrides = { overrides: [{ ...rule, sandbox: 'Sponsored', seen: 1 }] }
    await using on = await stage(playing(recording, { overrides, fallback: true }))
    const label = async (body: object) =>
      (await on.api.accept('placements.create', { as: key, body })).body.decision?.ad_label_text
    expect(await label(asked())).toBe('Sponsored')
    expect(await label(asked({ prompt: { topic: 'tea' } }))).toBe('Overridden')
  })

  test('the consent of a session that had it before the recording began', async () => {
    const body = { ...asked(), client_id: 'proj_strict' }
    const consent = { client_id: 'proj_strict', session_id: 'sess_1', decision: 'personalized' }
    const recording = await record(
      async ({ api }) => {
        await api.accept('consent.set', { as: 'sk_test_sandbox_strict', body: consent })
        await api.accept('placements.create', { as: 'sk_test_sandbox_strict', body })
      },
      { change: (entry) => (entry.request.url.endsWith('/v1/consent') ? null : entry) },
    )
    await using on = await stage(playing(recording))
    const { body: played } = await on.api.accept('placements.create', { as: 'sk_test_sandbox_strict', body })
    expect(played.authoritative_consent?.lifecycle_state).toBe('granted')
    await on.api.accept('render.frame', { params: { asset_token: played.placement!.asset_token } })
  })
})

describe('what was not recorded', () => {
  const coffee = asked({ prompt: { topic: 'coffee' } })
  const tea = asked({ prompt: { topic: 'tea', text: 'a private question' }, wait_ms: 10 })

  test('is refused with the nearest recorded request, and the fields that differ', async () => {
    const recording = await record((on) => takeTurn(on, coffee))
    await using on = await stage(playing(recording))
    const { body } = await on.api.refuse('placements.create', { as: key, body: tea })
    expect(body).toMatchObject({
      reason_code: 'not_recorded',
      hint: 'The nearest recorded request is entry 1, POST /v1/placements; it differs in prompt.text, prompt.topic. To let the emulator respond to what was not recorded, start with --fallback.',
    })
    const config = await on.api.refuse('projects.config', { as: key, params: { client_id: 'proj_demo' } })
    expect(config.body.hint).toMatch(/^The recording has no request to this path\. /)
    expect(on.sandbox.playback()).toMatchObject({ not_recorded: 2, played: 0 })
  })

  test('is what the emulator says, with fallback; what was recorded still is played', async () => {
    const recording = await record((on) => takeTurn(on, coffee))
    await using on = await stage(playing(recording, { fallback: true }))
    const own = await on.api.accept('placements.create', { as: key, body: tea })
    expect([own.headers[source], own.body.decision?.fill]).toEqual(['emulator', false])
    const { sources } = await takeTurn(on, coffee)
    expect(sources).toEqual(allRecorded)
    expect(on.sandbox.playback()).toMatchObject({ not_recorded: 1, played: 4, exchanges: 4 })
  })

  test('is what the emulator says of a played placement, with or without fallback', async () => {
    const recording = await record(({ api }) => api.accept('placements.create', { as: key, body: coffee }))
    await using on = await stage(playing(recording))
    const { sources, seen } = await takeTurn(on, coffee)
    expect(sources).toEqual(['recording', 'emulator', 'emulator', 'emulator'])
    expect(seen).toMatchObject({ isShown: true, beacons: [{ accepted: true }, { accepted: true }] })
  })

  test('is refused for its key first', async () => {
    const recording = await record((on) => takeTurn(on, coffee))
    await using on = await stage(playing(recording))
    const { body } = await on.api.refuse('jobs.create', { as: 'sk_test_unknown', body: coffee })
    expect(body.reason_code).toBe('key_unknown')
  })

  test('a request that the emulator refuses is refused by it, and can be sent again', async () => {
    const recording = await record((on) => takeTurn(on, coffee))
    await using on = await stage(playing(recording))
    const { body, headers } = await on.api.refuse('placements.create', { as: 'sk_test_unknown', body: coffee })
    expect([body.reason_code, headers[source]]).toEqual(['key_unknown', 'emulator'])
    expect(on.sandbox.playback()).toMatchObject({ refused: 1, played: 0 })
    expect((await takeTurn(on, coffee)).sources).toEqual(allRecorded)
  })
})

test('a file of a recording never acts on the pages of the sandbox', async () => {
  const file = (path: string, type: string, text: string) => ({
    startedDateTime: '2026-01-01T00:00:00.000Z',
    time: 1,
    request: { method: 'GET', url: `${service}${path}`, headers: [] },
    response: { status: 200, headers: [{ name: 'Content-Type', value: type }], content: { text } },
  })
  const { log } = JSON.parse(await record((on) => takeTurn(on, asked())))
  log.entries.push(
    file('/assets/one.svg', 'image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'),
    file('/assets/two.js', 'text/javascript', 'alert(1)'),
    file('/assets/three.html', 'text/html', '<script>alert(1)</script>'),
  )
  for (const path of ['/_sandbox/', '/v1/render.js', '/v1/decisions/x']) {
    log.entries.push({
      ...file(path, 'image/png', 'not a page'),
      request: { method: 'GET', url: `https://ads.example${path}`, headers: [] },
    })
  }
  await using on = await stage(playing(JSON.stringify({ log })))
  const read = async (path: string) => {
    const { status, headers } = await fetch(on.sandbox.url + path)
    return [status, headers.get('content-type'), headers.get('content-security-policy')]
  }
  expect(await read('/assets/one.svg')).toEqual([
    200,
    'image/svg+xml',
    expect.stringMatching(/default-src 'none'.*; sandbox$/),
  ])
  expect((await read('/assets/two.js'))[0]).toBe(404)
  expect((await read('/assets/three.html'))[0]).toBe(404)
  expect((await read('/v1/render.js'))[1]).toContain('javascript')
  expect((await read('/_sandbox/'))[1]).not.toBe('image/png')
})

test('media of the recording are served at their paths and shown by frames; others are those of the emulator', async () => {
  const picture = Buffer.from('not really a picture')
  const recording = await record(async (on) => {
    await takeTurn(on, asked({ overrides: { allowed_formats: ['banner'] } }))
  })
  const file = { log: JSON.parse(recording).log }
  const [created] = file.log.entries
  const text = created.response.content.text as string
  const image_url = JSON.parse(text).placement.image_url as string
  const recorded_url = `${service}/assets/pictures/one.png?v=2`
  for (const { response } of file.log.entries) {
    response.content.text = response.content.text.replaceAll(image_url, recorded_url)
  }
  file.log.entries.push({
    ...created,
    request: { method: 'GET', url: recorded_url, headers: [] },
    response: {
      status: 200,
      headers: [{ name: 'Content-Type', value: 'image/png' }],
      content: { text: picture.toString('base64'), encoding: 'base64' },
    },
  })
  await using on = await stage(playing(JSON.stringify(file)))
  const body = asked({ overrides: { allowed_formats: ['banner'] } })
  const { body: played } = await on.api.accept('placements.create', { as: key, body })
  expect(played.placement?.image_url).toBe(`${on.sandbox.url}/assets/pictures/one.png?v=2`)
  const frame = await on.api.accept('render.frame', { params: { asset_token: played.placement!.asset_token } })
  expect(frame.body).toContain('/assets/pictures/one.png?v=2')
  const shown = await fetch(played.placement!.image_url!)
  expect([shown.status, shown.headers.get('content-type'), shown.headers.get(source)]).toEqual([
    200,
    'image/png',
    'recording',
  ])
  expect(Buffer.from(await shown.arrayBuffer())).toEqual(picture)
  expect((await fetch(`${on.sandbox.url}/assets/pictures/one.png`)).status).toBe(404)
})
