/** Headers and cookies of ordinary services, and numbers: nothing else in a recording changes by them. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createSecretMemory } from '#contract/recordings/secret-memory.ts'
import { createCaptures } from './capture.ts'
import { recordEntry } from './recorded-entry.ts'

const origin = 'https://ads.example'
const path = '/v1/placements'
const request = {
  client_id: 'proj_1',
  session_id: 'turn-4711-abc',
  job_type: 'chat',
  allowed_formats: ['banner'],
}
const response = {
  placement: { render: { strategy: 'hosted_frame', frame_url: `${origin}/assets/disk_test_suite.png` } },
  semantic_targeting: true,
  topic: 'espresso-machines',
  banner: 'banner-300x250',
  to: '/v1/placements',
  consent: 'CPXxRfAPXxRfAAfKABENB-CgAAAAAAAAAAYgAAAAAAAA',
  route: 'placements.create',
  region: 'mask_live_region',
  sessions: ['task_test_1', 'task_test_2'],
  expires_at_ms: 1764533161000,
  at: '1764533161000 ms',
  number: 100000000042,
}

const ordinary: [string, string][] = [
  ['x-cache-key', '/v1/placements'],
  ['x-cache-key', `${origin}/v1/placements`],
  ['surrogate-key', 'banner-300x250'],
  ['x-routing-key', 'placements.create'],
  ['x-session-id', 'turn-4711-abc'],
  ['x-session-id', '100000000042'],
  ['x-session-id', 'task_test_1'],
  ['idempotency-key', '1764533161000'],
  ['idempotency-key', 'turn-4711-abc'],
  ['x-auth-request-redirect', '/v1/placements'],
  ['x-auth-request-redirect', `${origin}/v1/placements`],
  ['x-next-page-token', '1764533161000'],
  ...[
    'variant=hosted_frame',
    'consent=semantic_targeting',
    'return_to=/v1/placements',
    'return_to=%2Fv1%2Fplacements',
    `return_to=${origin}/v1/placements`,
    'last_topic=espresso-machines',
    'ts=1764533161000',
    'session=turn-4711-abc',
    'euconsent-v2=CPXxRfAPXxRfAAfKABENB-CgAAAAAAAAAAYgAAAAAAAA',
    'client_id=banner-300x250',
    'expires=2026-11-30T20:15:00Z',
  ].map((cookie): [string, string] => ['cookie', cookie]),
  [
    'authorization',
    'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/a, SignedHeaders=content-type;host, Signature=fe5f80',
  ],
  ['authorization', 'Bearer 1764533161000'],
  ['authorization', `Bearer ${origin}/v1/placements`],
  ['x-api-key', 'placement-banner'],
]

async function record(headers: string[], body: object = {}) {
  const memory = createSecretMemory(Buffer.alloc(32))
  const capture = (value: unknown) => {
    const opened = createCaptures().open(1_000_000)
    opened.add(Buffer.from(JSON.stringify(value)))
    return opened
  }
  const json = ['content-type', 'application/json']
  const texts: string[] = []
  for (let turn = 0; turn < 2; turn++) {
    const { entry } = await recordEntry(
      {
        ...{ at_ms: 0, method: 'POST', path, http_version: '1.1', duration_ms: 5, problem: null },
        request_headers: [...json, ...headers],
        request: capture(request),
        response: {
          ...{ status: 200, status_text: 'OK', wait_ms: 4, headers: [...json, ...headers] },
          body: capture({ ...response, ...body }),
        },
      },
      origin,
      memory,
    )
    texts.push(entry.request.url, entry.request.postData?.text ?? '', entry.response.content.text ?? '')
    expect(entry.request.headers.map(({ name }) => name)).toContain('content-type')
  }
  return texts
}

test.each(ordinary)('%s: %s changes nothing else', async (name, value) => {
  const sent = JSON.stringify(request)
  const received = JSON.stringify(response)
  for (const headers of [
    [name, value],
    [`set-${name}`, value],
  ]) {
    const [url, , , later_url, later_sent, later_received] = await record(headers)
    expect([url, later_url]).toEqual([origin + path, origin + path])
    expect(later_sent).toBe(sent)
    expect(later_received).toBe(received)
  }
})

const hash = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'
const contents: Record<string, string> = {
  next_cursor: 'eyJpZCI6MTIzLCJkaXIiOiJuZXh0In0=',
  etag: `"${hash}"`,
  request_id: '01HF8Z3V5Q4T7ABCDE9K2M6N8P',
  id: '550e8400-e29b-41d4-a716-446655440000',
  idempotency_key: '550e8400-e29b-41d4-a716-446655440000',
  cacheKey: hash,
  sha256: hash,
  integrity: 'sha384-oqVuAfXRKap7fdgcCY5uykM6+R9GqQ8K/uxy9rx7HNQlGYl1kPzQho1wx4JwY8wC',
  traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  icon: 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  price: 'EUR 12.50',
  locale: 'pt-BR',
  note: 'Never share your password. Tokens expire after 30 minutes; a CSRF token is needed for forms.',
  more: 'We use JWT (header.payload.signature). Token: valid until 2026-12-01',
  'login.password.placeholder': 'Enter your password',
  password: '••••••••',
  masked: 'password=********',
  suite: 'task_test_regression_suite',
  commit: 'f30f9eab2c0b0d6a1e5d1b1a6a1b2c3d4e5f6a7b',
  gclid: 'Cj0KCQiA1ZGcBhCoARIsAGQ0kkqWn',
}

test.each(Object.entries(contents))('%s: %s in a response is kept', async (name, value) => {
  const whole = JSON.stringify({ ...response, [name]: value })
  const texts = await record([], { [name]: value })
  expect([texts[2], texts[5]]).toEqual([whole, whole])
})

/** The same with an empty text for each string, and for each name that is not of the contract. */
function shapeOf(text: string): string {
  return JSON.stringify(JSON.parse(text), (_, value: unknown) => (typeof value === 'string' ? '' : value))
}

const credential = fc.oneof(
  fc.string({ minLength: 8, maxLength: 24, unit: 'binary-ascii' }),
  fc.stringMatching(/^[0-9]{4,16}$/),
  fc.stringMatching(/^[0-9a-f]{12,16}$/),
  fc.constantFrom(
    ...['","status":"', '":1,"expires_at_ms":', '0,"b":1764533161000', 'true,"c":null', '\\","a":"\\', 'u0041u0042u'],
  ),
)

test('what is learnt is replaced in the strings of JSON alone: the rest of it stays, whatever a credential is', () => {
  fc.assert(
    fc.property(
      fc.array(credential, { minLength: 1, maxLength: 4 }),
      fc.boolean(),
      fc.gen(),
      (secrets, isPretty, gen) => {
        const memory = createSecretMemory(Buffer.alloc(32))
        for (const each of secrets) {
          memory.collectCredential(each)
          memory.collectSecret(each, 'tok')
        }
        const text = fc.oneof(
          fc.constantFrom(...secrets),
          fc.constantFrom(...secrets).map((each) => `a\n${each}\u0001`),
          fc.string(),
        )
        const items = gen(
          fc.array,
          fc.oneof(text, fc.integer(), fc.constantFrom(1764533161000, true, null), fc.double({ noNaN: true })),
        )
        const number = Number(secrets.find((each) => /^[1-9]\d*$/.test(each)) ?? 7)
        const value = {
          status: 'ready',
          expires_at_ms: number,
          items,
          more: { a: number, b: [JSON.stringify(items), number] },
        }
        const json = JSON.stringify(value, null, isPretty ? 2 : 0)
        expect(shapeOf(memory.replace(json))).toBe(shapeOf(json))
        expect(JSON.parse(memory.replace(json))).toMatchObject({ expires_at_ms: number })
      },
    ),
  )
})
