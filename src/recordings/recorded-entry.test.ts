/** What an entry keeps of secrets that a service has set: in the exchange that sets them, and in later ones. */
import { expect, test } from 'vitest'
import { createCaptures } from './capture.ts'
import type { PassedExchange } from './exchange.ts'
import { recordEntry } from './recorded-entry.ts'
import { createSecretMemory } from './secret-memory.ts'

const origin = 'https://ads.example'
const value = 'q7Zk2mVd91xLr0Pc'
const json = ['content-type', 'application/json']

interface Parts {
  path?: string
  request_headers?: string[]
  request?: string
  response_headers?: string[]
  response?: string
}

function passed(parts: Parts): PassedExchange {
  const { path = '/v1/placements', request_headers = [], request = '', response_headers = [], response = '{}' } = parts
  const capture = (text: string) => {
    const opened = createCaptures().open(1_000_000)
    opened.add(Buffer.from(text))
    return opened
  }
  return {
    ...{ at_ms: 0, method: 'POST', path, http_version: '1.1', duration_ms: 5, problem: null },
    request_headers: [...json, ...request_headers],
    request: capture(request),
    response: {
      ...{ status: 200, status_text: 'OK', wait_ms: 4 },
      headers: [...json, ...response_headers],
      body: capture(response),
    },
  }
}

/** Records exchanges one after the other, and returns the text of their entries. */
async function record(...exchanges: Parts[]): Promise<string> {
  const memory = createSecretMemory(Buffer.alloc(32))
  const entries = []
  for (const parts of exchanges) entries.push((await recordEntry(passed(parts), origin, memory)).entry)
  return JSON.stringify(entries)
}

test('keeps what a cookie is not: the rest of the response, and values that are words', async () => {
  const text = await record({
    response_headers: ['set-cookie', 'theme=dark; Path=/'],
    response: '{"status":"ready","mode":"dark"}',
  })
  expect(text).toContain('{\\"status\\":\\"ready\\",\\"mode\\":\\"dark\\"}')
})

const sets: Parts = { response_headers: ['set-cookie', `sid=${value}; Path=/; HttpOnly`] }

test.each<[string, Parts[]]>([
  ['set by the response', [sets]],
  ['sent by the request', [{ request_headers: ['cookie', `a=1; sid=${value}`] }]],
  ['repeated in its body', [{ ...sets, response: JSON.stringify({ status: 'ready', seen: value }) }]],
  ['repeated in another header', [{ response_headers: [...sets.response_headers!, 'x-session', `s-${value}`] }]],
  [
    'sent later in a body',
    [sets, { request: JSON.stringify({ client_id: 'p', session_id: value, job_type: 'chat' }) }],
  ],
  ['sent later in the path', [sets, { path: `/v1/decisions/${value}?wait_ms=5` }]],
  ['sent later in the query', [sets, { path: `/v1/placements?sid=${value}` }]],
  ['repeated later in a body', [sets, { response: JSON.stringify({ message: `for ${value}` }) }]],
])('keeps no value of a cookie: %s', async (_, exchanges) => {
  const text = await record(...exchanges)
  expect(text).toContain(`"url":"${origin}/v1/`)
  expect(text).not.toContain(value)
})
