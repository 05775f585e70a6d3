import { describe, expect, it } from 'vitest'
import { v1 } from '../index.ts'
import { endpointFields } from '../listing.ts'
import { fieldRoles } from './field-roles.ts'
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
    expect(left_out).toEqual({ not_of_api: 1, preflight: 1, no_response: 1, unreadable: 0 })
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

  const api = entry('POST', 'https://ads.example/v1/placements', { body: request, answer: { slot_id: 'slot_1' } })
  const other = { ...entry('GET', 'https://cdn.example/x.js'), time: 1 }
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const { request: sent, response: answered } = api

  it.each<[string, object]>([
    ['no response', { ...other, response: null }],
    ['no status and no content', { ...other, response: { headers: [] } }],
    ['a status as text', { ...other, response: { ...other.response, status: 'blocked' } }],
    ['headers that are null', { ...other, request: { ...other.request, headers: null }, response: { headers: null } }],
    ['no time', { ...other, startedDateTime: '' }],
    ['a body that is null', { ...other, response: { ...other.response, content: { text: null } } }],
    ['a call stack of any depth', { ...other, _initiator: 'stack' }],
  ])('reads a file with an entry of another host that has %s', (_, odd) => {
    const stack = '['.repeat(100_000) + ']'.repeat(100_000)
    const { exchanges, left_out } = readRecording(har(odd, api).replace('"stack"', stack))
    expect(exchanges.map(({ endpoint }) => endpoint)).toEqual(['placements.create'])
    expect(left_out).toEqual({ not_of_api: 1, preflight: 0, no_response: 0, unreadable: 0 })
  })

  it.each<[string, object]>([
    ['as it is', api],
    ['with a status as text', { ...api, response: { ...answered, status: '200' } }],
    [
      'with a header that is null',
      { ...api, request: { ...sent, headers: [null, { name: 'a', value: null }, ...sent.headers] } },
    ],
    ['with a time that is null', { ...api, time: null }],
    [
      'with a response as base64',
      { ...api, response: { ...answered, content: { encoding: 'base64', text: base64(answered.content.text) } } },
    ],
    [
      'with a response as base64 of UTF-16',
      {
        ...api,
        response: {
          ...answered,
          content: {
            encoding: 'BASE64',
            text: Buffer.from(`\ufeff${answered.content.text}`, 'utf16le').toString('base64'),
          },
        },
      },
    ],
    [
      'with a request as base64',
      { ...api, request: { ...sent, postData: { encoding: 'base64', text: base64(sent.postData!.text) } } },
    ],
    [
      'with a request as base64 in a field of a proxy',
      {
        ...api,
        request: { ...sent, postData: undefined, _content: { encoding: 'base64', text: base64(sent.postData!.text) } },
      },
    ],
  ])('reads an entry of the API %s', (_, written) => {
    const { exchanges, left_out } = readRecording(har(written))
    expect(exchanges).toMatchObject([
      { request_body: { session_id: 'sess_1' }, status: 200, response_body: { text: '{"slot_id":"slot_1"}' } },
    ])
    expect(left_out.unreadable).toBe(0)
  })

  it.each<[string, object, reason: 'no_response' | 'unreadable', string | null]>([
    ['no response', { ...api, response: null }, 'no_response', null],
    ['no time', { ...api, startedDateTime: 'noon' }, 'unreadable', 'entry 2: startedDateTime'],
    ['no status', { ...api, response: { headers: [] } }, 'unreadable', 'entry 2: response.status'],
    ['no address', {}, 'unreadable', 'entry 2: request.method or request.url'],
  ])('counts an entry of the API with %s, and plays the others', (_, odd, reason, first_unreadable) => {
    const recording = readRecording(har(api, odd))
    expect(recording.exchanges).toHaveLength(1)
    expect(recording.left_out).toEqual({ not_of_api: 0, preflight: 0, no_response: 0, unreadable: 0, [reason]: 1 })
    expect(recording.first_unreadable).toBe(first_unreadable)
  })

  it('has no body where a browser no longer had it, and keeps the bytes of media', () => {
    const image = { ...entry('GET', 'https://ads.example/assets/creatives/one.png') }
    const lost = { ...api, response: { ...answered, content: { size: 20, text: '' } } }
    const picture = {
      ...image.response,
      headers: [{ name: 'content-type', value: 'image/png' }],
      content: { encoding: 'base64', text: 'iVBORw==' },
    }
    const { exchanges } = readRecording(har(lost, { ...image, response: picture }))
    expect(exchanges.map(({ response_body }) => response_body)).toEqual([null, { base64: 'iVBORw==' }])
  })

  it.each([
    ['no json', 'is not JSON; a recording is a HAR file'],
    ['{"log":{}}', 'is not a HAR file: it has no log.entries'],
  ])('refuses %s', (text, message) => {
    expect(() => readRecording(text)).toThrow(RecordingError)
    expect(() => readRecording(text)).toThrow(message)
  })
})

it('knows the role of every field of v1', () => {
  const fields = Object.values(v1).flatMap((endpoint) => endpointFields(endpoint))
  const names = fields.map(({ path }) => path.replaceAll('[]', '').split('.').at(-1) ?? '')
  expect([...new Set(names)].filter((name) => !Object.hasOwn(fieldRoles, name))).toEqual([])
})
