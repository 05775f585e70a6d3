import { describe, expect, it } from 'vitest'
import { v1 } from '../index.ts'
import { endpointFields } from '../listing.ts'
import { findRole } from './field-roles.ts'
import { RecordingError, readRecording } from './recording.ts'

const key = `sk_test_${'k'.repeat(32)}`
const token = `ast_00000000001_${'t'.repeat(43)}`

function entry(method: string, url: string, fields: { body?: object; status?: number; answer?: object } = {}) {
  const { body, status = 200, answer } = fields
  return {
    startedDateTime: '2026-11-01T10:00:00.000Z',
    time: 12,
    request: {
      method,
      url,
      headers: [{ name: 'Authorization', value: `Bearer ${key}` }],
      ...(body === undefined ? {} : { postData: { mimeType: 'application/json', text: JSON.stringify(body) } }),
    },
    response: {
      status,
      headers: [{ name: 'Content-Type', value: 'application/json' }],
      content: { text: JSON.stringify(answer ?? {}) },
    },
  }
}

function har(...entries: object[]): string {
  return JSON.stringify({ log: { version: '1.2', creator: { name: 'a browser', version: '9' }, entries } })
}

const request = {
  client_id: 'proj_demo',
  session_id: 'sess_1',
  job_type: 'chat',
  prompt: { topic: 'coffee', text: 'the secret plan' },
}

describe('readRecording', () => {
  it('finds the exchanges of the API below any address, and counts what it leaves out', () => {
    const text = har(
      entry('GET', 'https://app.example/index.html'),
      entry('OPTIONS', 'https://ads.example/base/v1/placements'),
      entry('POST', 'https://ads.example/base/v1/placements', { body: request }),
      entry('GET', `https://ads.example/base/v1/render/${token}`),
      entry('GET', 'https://ads.example/base/assets/creatives/one.png'),
      entry('POST', 'https://ads.example/base/v1/consent', { status: 0 }),
    )
    const { exchanges, left_out, creator, recorded_at_ms } = readRecording(text)
    expect(exchanges.map(({ endpoint, path }) => [endpoint, path])).toEqual([
      ['placements.create', '/v1/placements'],
      ['render.frame', '/v1/render/ast_00000000001_redacted'],
      [null, '/assets/creatives/one.png'],
    ])
    expect(exchanges[0]).toMatchObject({ base_url: 'https://ads.example/base', session_id: 'sess_1', duration_ms: 12 })
    expect(left_out).toEqual({ not_of_api: 1, preflight: 1, no_response: 1 })
    expect([creator, recorded_at_ms]).toEqual(['a browser 9', Date.parse('2026-11-01T10:00:00Z')])
  })

  it('keeps no key, token or prompt text of a file that has them', () => {
    const text = har(
      entry('POST', 'http://h/v1/placements', { body: request, answer: { placement: { asset_token: token } } }),
      entry('POST', 'http://h/v1/placements', { body: { ...request, invented: 'the secret plan' } }),
    )
    const kept = JSON.stringify(readRecording(text))
    expect(kept).toContain('coffee')
    expect(kept).toContain('ast_00000000001_redacted')
    expect(kept).not.toMatch(/secret plan|k{8}|t{8}/)
  })

  it.each([
    ['a path', `https://ads.example/tenant/sk_live_${'k'.repeat(32)}`],
    ['a name', `https://sk_live_${'k'.repeat(32)}.ads.example`],
    ['a user', `https://sk_live_${'k'.repeat(32)}@ads.example`],
  ])('keeps no key that the service is addressed by, as %s', (_, address) => {
    const files = [{ ...entry('GET', `${address}/assets/one.png`) }]
    const { exchanges } = readRecording(har(entry('POST', `${address}/v1/placements`, { body: request }), ...files))
    expect(exchanges.map(({ path }) => path)).toEqual(['/v1/placements', '/assets/one.png'])
    expect(exchanges[0]!.base_url).toContain('ads.example')
    expect(JSON.stringify(exchanges)).not.toMatch(/k{8}/)
  })

  it('leaves out an entry of which a kill left the beginning, and counts it', () => {
    const entries = ['one', 'two'].map((name) => JSON.stringify(entry('GET', `http://h/v1/decisions/${name}`)))
    const text = `{"log":{"version":"1.2","entries":[\n${entries.join(',\n')}\n]}}\n`
    expect(readRecording(text).exchanges).toHaveLength(2)
    const cut = readRecording(text.slice(0, text.indexOf('two') + 1))
    expect([cut.exchanges.map(({ path }) => path), cut.left_out.no_response]).toEqual([['/v1/decisions/one'], 1])
    const first = readRecording(text.slice(0, text.indexOf('one') + 1))
    expect([first.exchanges, first.left_out.no_response]).toEqual([[], 1])
  })

  it.each([
    ['no json', 'is not JSON; a recording is a HAR file'],
    ['{"log":{}}', 'is not a HAR file: it has no log.entries'],
    [har({}), 'entry 1 is not one of HAR 1.2: startedDateTime is missing or wrong'],
    [har({ ...entry('GET', 'http://h/'), startedDateTime: 'noon' }), 'startedDateTime is missing or wrong'],
  ])('refuses %s', (text, message) => {
    expect(() => readRecording(text)).toThrow(RecordingError)
    expect(() => readRecording(text)).toThrow(message)
  })
})

it('knows the role of every identifier, time, token and address of v1', () => {
  const fields = Object.values(v1).flatMap((endpoint) => endpointFields(endpoint))
  const unknown = fields.filter(
    ({ where, path }) =>
      where === 'response' && findRole(path) === 'value' && /(_id|_ids|_at|_at_ms|_time_ms|token|_url|cpm)$/.test(path),
  )
  // The rules of rendering have a name, which is the same in every response.
  expect([...new Set(unknown.map(({ path }) => path))]).toEqual(['decision.constraints.ruleset_id'])
})
