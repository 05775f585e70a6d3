import { describe, expect, it } from 'vitest'
import type { RecordedExchange, RecordedId } from '#contract/recordings/recording.ts'
import type { Json } from '#foundation/json.ts'
import { createPlayback, type SentRequest } from './playback.ts'
import { createScript } from './script.ts'

const base_url = 'http://127.0.0.1:4010'

interface Fields {
  params?: Record<string, string>
  body?: Json
  status?: number
  response?: Json | null
  session_id?: string | null
}

let entries = 0

function exchange(endpoint: RecordedId, method: string, fields: Fields = {}): RecordedExchange {
  const { params = {}, body = null, status = 200, response = {}, session_id = null } = fields
  return {
    entry: entries++,
    at_ms: entries,
    duration_ms: 1,
    endpoint,
    method,
    base_url: 'https://ads.example',
    path: '/v1/somewhere',
    params,
    query: {},
    request_headers: {},
    request_body: body,
    status,
    response_headers: {},
    response_body: response === null ? null : { text: JSON.stringify(response) },
    session_id,
  }
}

/** What every placement is asked for with. */
const asked = { client_id: 'proj_demo', job_type: 'chat' }

function place(session_id: string, topic: string, response: Json): RecordedExchange {
  return exchange('placements.create', 'POST', { body: { ...asked, session_id, prompt: { topic } }, response })
}

function poll(slot_id: string, response: Json): RecordedExchange {
  return exchange('decisions.get', 'GET', { params: { slot_id }, response })
}

let beacons = 0

function rendered(asset_token: string): Json {
  beacons++
  return { beacon_id: `beacon-${beacons}`, asset_token, event: 'render', occurred_at_ms: beacons, seq: beacons }
}

function asking(endpoint: RecordedId, body: Json | null, params: Record<string, string> = {}): SentRequest {
  return { endpoint, params, query: {}, text: body === null ? '' : JSON.stringify(body) }
}

function placing(session_id: string, topic: string): SentRequest {
  return asking('placements.create', { ...asked, session_id, prompt: { topic } })
}

/** Plays a request, and returns the body for a response of the emulator; what `find` says when nothing is played. */
function play(playback: ReturnType<typeof createPlayback>, request: SentRequest, present: Json = {}): Json | null {
  const match = playback.find(request)
  return match.kind === 'recorded' ? match.played.respond({ body: present, headers: {}, base_url }) : match.kind
}

describe('a playback', () => {
  it('follows a slot by its identifier and its token, in the order of its requests', () => {
    const script = createScript({
      exchanges: [
        place('s', 'coffee', { slot_id: 'A', turn: 1 }),
        place('s', 'coffee', { slot_id: 'B', turn: 2 }),
        poll('B', { slot_id: 'B', asset_token: 'ast_b', of: 'B' }),
        poll('A', { slot_id: 'A', status: 'pending', of: 'A' }),
        poll('A', { slot_id: 'A', asset_token: 'ast_a', of: 'A' }),
        exchange('beacons.send', 'POST', { body: rendered('ast_a'), response: { of: 'A' } }),
        exchange('beacons.send', 'POST', { body: rendered('ast_b'), response: { of: 'B' } }),
      ],
    })
    const playback = createPlayback(script, false)
    expect(play(playback, placing('now', 'coffee'), { slot_id: 'X' })).toEqual({ slot_id: 'X', turn: 1 })
    expect(play(playback, placing('now', 'coffee'), { slot_id: 'Y' })).toEqual({ slot_id: 'Y', turn: 2 })
    const polled = (slot_id: string) =>
      play(playback, asking('decisions.get', null, { slot_id }), { slot_id, asset_token: `ast_${slot_id}` })
    expect(polled('X')).toEqual({ slot_id: 'X', status: 'pending', of: 'A' })
    expect(polled('Y')).toEqual({ slot_id: 'Y', asset_token: 'ast_Y', of: 'B' })
    expect(polled('X')).toEqual({ slot_id: 'X', asset_token: 'ast_X', of: 'A' })
    const beacon = (asset_token: string) => play(playback, asking('beacons.send', rendered(asset_token)))
    expect(beacon('ast_Y')).toEqual({ of: 'B' })
    expect(beacon('ast_X')).toEqual({ of: 'A' })
    // A beacon more than was recorded is for the emulator; a poll more gets the last response.
    expect(beacon('ast_X')).toBe('emulator')
    expect(polled('X')).toMatchObject({ asset_token: 'ast_X' })
    expect(playback.report()).toEqual({ exchanges: 7, played: 7, not_recorded: 0, refused: 0, unplayed: [] })
  })

  it('compares neither measurements nor times, and the presence of a prompt alone', () => {
    const body = (measured: number) => ({
      ...asked,
      session_id: 's',
      prompt: { text: `[removed: ${measured} characters]` },
      wait_ms: measured,
      predicted_latency_ms: measured,
    })
    const script = createScript({ exchanges: [exchange('placements.create', 'POST', { body: body(1) })] })
    expect(play(createPlayback(script, false), asking('placements.create', body(2)))).toEqual({})
    const without = { ...asked, session_id: 's', wait_ms: 1 }
    expect(play(createPlayback(script, false), asking('placements.create', without))).toBe('missing')
  })

  it('gives back what the emulator refused, and counts it', () => {
    const script = createScript({ exchanges: [place('s', 'coffee', { turn: 1 }), place('s', 'coffee', { turn: 2 })] })
    const playback = createPlayback(script, false)
    const [first, second] = [playback.find(placing('s', 'coffee')), playback.find(placing('s', 'coffee'))]
    if (first.kind !== 'recorded' || second.kind !== 'recorded') throw new Error('both were recorded')
    first.played.release()
    expect(playback.report()).toMatchObject({ played: 1, refused: 1 })
    expect(play(playback, placing('s', 'coffee'))).toEqual({ turn: 1 })
    expect(play(playback, placing('s', 'coffee'))).toBe('missing')
  })

  it('plays sessions of the present side by side, and all again after a restart', () => {
    const script = createScript({
      exchanges: [place('a', 'coffee', { of: 'a' }), place('b', 'coffee', { of: 'b' }), place('b', 'tea', { of: 'b' })],
    })
    const playback = createPlayback(script, false)
    expect(play(playback, placing('one', 'coffee'))).toEqual({ of: 'a' })
    expect(play(playback, placing('two', 'coffee'))).toEqual({ of: 'b' })
    expect(play(playback, placing('three', 'coffee'))).toEqual({ of: 'a' })
    expect(play(playback, placing('two', 'tea'))).toEqual({ of: 'b' })
    expect(play(playback, placing('one', 'tea'))).toBe('missing')
    // One of the same name plays itself.
    expect(play(playback, placing('b', 'tea'))).toEqual({ of: 'b' })
    playback.restart()
    expect(play(playback, placing('one', 'coffee'))).toEqual({ of: 'a' })
    expect(playback.report().unplayed).toEqual([{ method: 'POST', path: '/v1/placements', count: 2 }])
  })

  it('repeats the last success of what a client does again without a session', () => {
    const activate = (response: Json, status = 200) =>
      exchange('browser.activate', 'POST', { body: { publishable_key: 'pk_test_redacted' }, response, status })
    const script = createScript({
      exchanges: [activate({ project_id: 'p' }), activate({ error: 'rate_limited' }, 429)],
    })
    const playback = createPlayback(script, false)
    const ask = () => play(playback, asking('browser.activate', { publishable_key: 'pk_live_redacted' }))
    expect([ask(), ask(), ask()]).toEqual([{ project_id: 'p' }, { error: 'rate_limited' }, { project_id: 'p' }])
  })
})

describe('a script', () => {
  it('has only what can be played', () => {
    const script = createScript({
      exchanges: [
        exchange('render.script', 'GET'),
        exchange('render.frame', 'GET'),
        exchange('projects.config', 'GET', { status: 304, response: null }),
        exchange('placements.create', 'POST', { response: null }),
        exchange('placements.create', 'POST', { status: 502, response: null }),
      ],
    })
    expect(script.exchanges.map(({ status, json }) => [status, json])).toEqual([[502, null]])
    expect(script.without_body).toBe(1)
  })

  it('knows the decision of a slot from the first response that has it', () => {
    const fill = { fill: true, format: 'banner', dimensions: { width: 300, height: 600 }, sponsor_name: 'One' }
    const script = createScript({
      exchanges: [
        place('s', 'coffee', { slot_id: 'A', status: 'pending', decision: null }),
        poll('A', { slot_id: 'A', decision: fill, authoritative_consent: { lifecycle_state: 'granted' } }),
        poll('A', { slot_id: 'A', decision: { fill: false, no_fill_reason: 'slot_expired' } }),
        poll('B', {
          slot_id: 'B',
          fill: true,
          creative: { type: 'clip', url: 'https://ads.example/a.mp4', width: 640 },
        }),
        poll('C', { slot_id: 'C', decision: { fill: false, no_fill_reason: 'a reason of tomorrow' } }),
      ],
    })
    expect(script.decisions.get('A')).toMatchObject({
      outcome: { status: 'filled', width: 300, height: 600, sponsor_name: 'One' },
      consent: { isGranted: true },
      names: { campaign_id: 'cmp_recorded_1' },
    })
    expect(script.decisions.get('B')?.outcome).toMatchObject({ format: 'clip', video_url: 'https://ads.example/a.mp4' })
    expect(script.decisions.get('C')).toMatchObject({
      outcome: { status: 'no_fill', reason: 'no_demand' },
      names: null,
    })
  })
})
