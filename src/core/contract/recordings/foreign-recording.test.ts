/** A HAR file that another program wrote has no credential of its exchanges, once it is read. */
import { expect, test } from 'vitest'
import { readRecording } from './recording.ts'

const credential = 'q7Zk2mVd91xLr0Pc'
type Headers = readonly (readonly [name: string, value: string])[]

/** Returns a HAR file with a placement, and the response of a later one. */
function har(headers: Headers, echo: object, sent: object = {}): string {
  const entry = (listed: Headers, request: object, response: object) => ({
    startedDateTime: '2026-11-01T10:00:00.000Z',
    request: {
      method: 'POST',
      url: 'https://ads.example/base/v1/placements',
      headers: listed.map(([name, value]) => ({ name, value })),
      postData: { text: JSON.stringify({ client_id: 'p', session_id: 'turn-4711-abc', job_type: 'chat', ...request }) },
    },
    response: {
      status: 200,
      headers: [
        { name: 'Content-Type', value: 'application/json' },
        { name: 'Content-Encoding', value: 'gzip' },
      ],
      content: { text: JSON.stringify(response) },
    },
  })
  return JSON.stringify({ log: { entries: [entry(headers, sent, echo), null, {}, entry([], {}, echo)] } })
}

test.each<[string, Headers, object]>([
  [
    'placeholders',
    [
      ['Authorization', 'redacted'],
      ['Cookie', '[redacted]'],
    ],
    { a: 'redacted', b: '[redacted]' },
  ],
  ['what nothing authenticates with', [['X-Request-Id', credential]], { echo: credential, id: 'turn-4711-abc' }],
  ['words beside a credential', [['Authorization', `Bearer ${credential}`]], { a: 'Bearer', b: 'placement', c: '1' }],
])('keeps %s', (_, headers, echo) => {
  const { exchanges } = readRecording(har(headers, echo))
  const kept = { session_id: 'turn-4711-abc', response_body: { text: JSON.stringify(echo) } }
  expect(exchanges).toMatchObject([kept, kept])
})

test.each<[string, Headers, object]>([
  ['a bearer', [['Authorization', `Bearer ${credential}`]], {}],
  ['basic authentication', [['Authorization', `Basic ${btoa(`max:${credential}`)}`]], {}],
  ['an API key', [['X-Api-Key', credential]], {}],
  ['a cookie', [['Cookie', `theme=dark; sid=${credential}`]], {}],
  ['a field of a request', [], { password: credential }],
])('has no credential that an exchange authenticates with: %s', (_, headers, sent) => {
  const echo = {
    echo: credential,
    text: `it was ${credential}.`,
    encoded: btoa(` ${credential} `),
    again: [{ a: credential }],
  }
  const text = JSON.stringify(readRecording(har(headers, echo, sent)))
  expect(text).toContain('it was ')
  expect(text).not.toContain(credential)
  expect(text).not.toContain(btoa(` ${credential} `))
})
