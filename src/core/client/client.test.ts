import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect, test, vi } from 'vitest'
import { createClient as createPageClient } from './browser.ts'
import { ContractError, RefusedError, ServiceError, UnreachableError } from './errors.ts'
import type { Fetch, FetchInit } from './exchange.ts'
import { createClient } from './index.ts'

const pending = { slot_id: 'slot_00000000001', status: 'pending', placement: null, decision: null }
const body = { client_id: 'proj_demo', session_id: 'sess_1', job_type: 'chat' } as const

test('a call becomes one HTTP request with bearer, path and query', async () => {
  const { fetch, sent } = respondingWith(pending)
  const client = createClient({ base_url: 'http://127.0.0.1:1/', credential: 'sk_test_a', fetch })
  expect(await client.decisions.get({ params: { slot_id: 'a/b' }, query: { wait_ms: 5 } })).toEqual(pending)
  expect(sent[0]).toMatchObject({
    url: 'http://127.0.0.1:1/v1/decisions/a%2Fb?wait_ms=5',
    init: { method: 'GET', headers: { accept: 'application/json', authorization: 'Bearer sk_test_a' } },
  })
})

test('an origin is never sent with a secret key', async () => {
  const { fetch, sent } = respondingWith(pending)
  const common = { base_url: 'http://127.0.0.1:1', origin: 'http://localhost:3000', fetch }
  await createClient({ ...common, credential: 'sk_test_a' }).placements.create({ body })
  await createClient({ ...common, credential: 'at_a' }).placements.create({ body })
  expect(sent.map(({ init }) => init.headers.origin)).toEqual([undefined, 'http://localhost:3000'])
})

test('test_outcome with a production key is refused before it is sent', async () => {
  const { fetch, sent } = respondingWith(pending)
  const client = createClient({ base_url: 'http://127.0.0.1:1', credential: 'sk_live_a', fetch })
  await expect(client.placements.create({ body: { ...body, test_outcome: 'no_fill' } })).rejects.toThrow(RefusedError)
  expect(sent).toEqual([])
})

test('the meta has request id, warnings, slots and would_bill', async () => {
  const { fetch } = respondingWith(pending, 200, {
    'x-request-id': 'req_1',
    'x-sandbox-warning': 'wait_ms_clamped, wait_ms_conflict',
    'x-sandbox-slot-ids': 'slot_1,slot_2',
    'x-sandbox-would-bill': 'viewable_impression',
  })
  const { meta } = await createClient({ base_url: 'http://127.0.0.1:1', fetch }).withResponse.placements.create({
    body,
  })
  expect(meta).toEqual({
    status: 200,
    request_id: 'req_1',
    warnings: ['wait_ms_clamped', 'wait_ms_conflict'],
    would_bill: 'viewable_impression',
    slot_ids: ['slot_1', 'slot_2'],
    differences: [],
  })
})

test('an error response is a ServiceError with its body and the seconds to wait', async () => {
  const error = {
    error: 'rate_limited',
    message: 'Over the rate limit of this key.',
    request_id: 'req_2',
    reason_code: 'rate_limited',
    hint: 'Wait.',
    fields: [],
    retryable: true,
    docs_url: '/x',
  }
  const date = 'Sat, 31 Jan 2026 12:00:00 GMT'
  for (const retry_after of ['7', 'Sat, 31 Jan 2026 12:00:07 GMT']) {
    const { fetch } = respondingWith(error, 429, { 'retry-after': retry_after, date })
    const call = createClient({ base_url: 'http://127.0.0.1:1', fetch }).placements.create({ body })
    const thrown = await call.catch((reason: unknown) => reason)
    expect(thrown).toBeInstanceOf(ServiceError)
    expect(thrown).toMatchObject({
      status: 429,
      code: 'rate_limited',
      retry_after_s: 7,
      request_id: 'req_2',
      body: error,
      message: 'Over the rate limit of this key. (rate_limited)\n  Wait.',
    })
  }
})

test('an error response of another server keeps its status and first words', async () => {
  const { fetch } = respondingWith('<h1>Bad gateway</h1>', 502)
  const call = createClient({ base_url: 'http://127.0.0.1:1', fetch }).placements.create({ body })
  await expect(call).rejects.toMatchObject({
    status: 502,
    body: null,
    code: 'internal_error',
    message: 'POST /v1/placements responded with 502, without the error body of the contract: <h1>Bad gateway</h1>',
  })
})

test('when a page responds instead, the message has only its visible words', async () => {
  const page =
    '<!doctype html><html><head><title>502</title><style>p{}</style></head>\n<body><!-- nginx --><p>Bad &amp;lt; <b>gateway</b></p><script>if (1 < 2) run()</script></body></html>'
  const shown = async (html: string) => {
    const { fetch } = respondingWith(html, 502)
    const call = createClient({ base_url: 'http://127.0.0.1:1', fetch }).placements.create({ body })
    return call.then(String, (error: Error) => error.message)
  }
  expect(await shown(page)).toBe('POST /v1/placements responded with 502 and a page: Bad &lt; gateway')
  expect(await shown('<html></html>')).toBe('POST /v1/placements responded with 502 and a page.')
  // With the square of their number these would take minutes.
  for (const tag of ['<', '<!--', '<head>']) {
    const message = await shown(`<html>Down${tag.repeat(1_000_000)}`)
    expect(message).toMatch(/^POST \/v1\/placements responded with 502 and a page: Down<*$/)
  }
  expect(await shown('')).toBe('POST /v1/placements responded with 502, without the error body of the contract.')
})

test('a response that differs from the contract is thrown, reported or returned', async () => {
  const { fetch } = respondingWith({ ...pending, status: 'done' })
  const options = { base_url: 'http://127.0.0.1:1', fetch }
  const thrown = await createClient(options)
    .placements.create({ body })
    .catch((reason: unknown) => reason)
  expect(thrown).toBeInstanceOf(ContractError)
  expect((thrown as ContractError).differences).toEqual([
    'status: Invalid option: expected one of "pending"|"ready"|"expired"',
  ])
  const reported = await createClient({ ...options, validate: 'report' }).withResponse.placements.create({ body })
  expect(reported.meta.differences).toHaveLength(1)
  expect(await createClient({ ...options, validate: false }).placements.create({ body })).toMatchObject({
    status: 'done',
  })
})

test('no response is an UnreachableError, either refused or timed out', async () => {
  const refused: Fetch = async () => {
    throw new TypeError('fetch failed', {
      cause: Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
    })
  }
  const late: Fetch = (_, { signal }) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  const calls = [refused, late].map((fetch) =>
    createClient({ base_url: 'http://127.0.0.1:1', fetch, timeout_ms: 10 })
      .health.live()
      .catch((reason: unknown) => reason),
  )
  const [first, second] = await Promise.all(calls)
  expect(first).toBeInstanceOf(UnreachableError)
  expect(first).toMatchObject({
    timed_out: false,
    message: 'http://127.0.0.1:1 cannot be reached: nothing listens there (ECONNREFUSED).',
  })
  expect(second).toMatchObject({ timed_out: true, message: 'http://127.0.0.1:1 did not respond within 10 ms.' })
})

test('events arrive one by one, regardless of the chunks of the stream', async () => {
  const event = (seq: number) => ({
    seq,
    type: 'job.created',
    at_ms: 1,
    client_id: 'proj_demo',
    slot_id: null,
    data: { text: 'ä' },
  })
  const text = `: hello\n\nid: 1\ndata: ${JSON.stringify(event(1))}\n\nid: 2\r\ndata: ${JSON.stringify(event(2))}\r\n\r\n`
  const bytes = new TextEncoder().encode(text)
  const chunks = [bytes.slice(0, 30), bytes.slice(30, 131), bytes.slice(131)]
  const headers = { 'content-type': 'text/event-stream; charset=utf-8' }
  const fetch: Fetch = async () => new Response(buildStream(chunks), { headers })
  const received = []
  for await (const item of createClient({ base_url: 'http://127.0.0.1:1', fetch }).events.stream()) received.push(item)
  expect(received).toEqual([event(1), event(2)])
})

test('a response that is not a stream of events is a ContractError', async () => {
  const { fetch } = respondingWith('<html></html>', 200, { 'content-type': 'text/html' })
  const events = createClient({ base_url: 'http://127.0.0.1:1', fetch }).events.stream()
  await expect(events.next()).rejects.toMatchObject({
    name: 'ContractError',
    differences: ['content-type: expected text/event-stream, received text/html'],
  })
})

test('a redirect is an error and takes nothing elsewhere, unless it is chosen', async () => {
  const received: string[] = []
  await using other = await serving((incoming, outgoing) => {
    received.push(`${incoming.method} ${incoming.headers['x-sandbox-token']}`)
    outgoing.end('{"ok":true}')
  })
  for (const status of [301, 302, 303, 307, 308]) {
    await using service = await serving((_, outgoing) => outgoing.writeHead(status, { location: other.url }).end())
    const options = { base_url: service.url, headers: { 'x-sandbox-token': 'sbx_1' }, validate: false }
    await expect(createClient(options).health.live()).rejects.toMatchObject({
      status,
      message: `GET /_sandbox/livez responded with ${status}, a redirect to ${other.url}. It was not followed.`,
    })
    await expect(createClient({ ...options, retries: 0 }).createJob(body)).rejects.toMatchObject({ status })
    const socket = createClient({ ...options, onError: () => {} })
    expect(await socket.getDecision('slot_00000000001', { push: true, wait_ms: 0, timeout_ms: 1 })).toBe(null)
    await expect(createClient(options).events.stream().next()).rejects.toMatchObject({ status })
    const inPage = createPageClient({ ...options, validate: undefined })
    await expect(inPage.projects.config({ params: { client_id: 'proj_demo' } })).rejects.toMatchObject({ status })
    expect(received).toEqual([])
    expect(await createClient({ ...options, redirect: 'follow' }).health.live()).toEqual({ ok: true })
    expect(received.splice(0)).toEqual(['GET sbx_1'])
  }
})

test('a response is read up to 64 MiB, unpacked, and a smaller limit can be chosen', { tags: 'depth' }, async () => {
  const bomb = gzipSync(Buffer.alloc(70 * 2 ** 20, ' '))
  await using service = await serving((incoming, outgoing) => {
    const status = incoming.url === '/_sandbox/readyz' ? 503 : 200
    outgoing.writeHead(status, { 'content-encoding': 'gzip' }).end(incoming.method === 'GET' ? bomb : gzipSync('{}'))
  })
  const tooLarge = { name: 'ContractError', differences: ['more than 67108864 bytes'] }
  const { health } = createClient({ base_url: service.url })
  await expect(health.live()).rejects.toMatchObject({ ...tooLarge, status: 200 })
  await expect(health.ready()).rejects.toMatchObject({ ...tooLarge, status: 503 })
  const params = { slot_id: 'slot_00000000001' }
  await expect(createPageClient({ base_url: service.url }).decisions.get({ params })).rejects.toMatchObject(tooLarge)
  const small = createClient({ base_url: service.url, max_bytes: 1_000, validate: false })
  await expect(small.decisions.get({ params })).rejects.toMatchObject({
    differences: ['more than 1000 bytes'],
  })
  expect(await small.jobs.create({ body })).toEqual({})
  const endless = buildStream(Array.from({ length: 3 }, () => new Uint8Array(2 ** 19).fill(32)))
  const fetch: Fetch = async () => new Response(endless, { headers: { 'content-type': 'text/event-stream' } })
  const events = createClient({ base_url: service.url, fetch }).events.stream()
  await expect(events.next()).rejects.toMatchObject({ name: 'ContractError', differences: ['an event does not end'] })
})

test('a body that stalls ends with the time limit, which is 30 s unless another is chosen', async () => {
  await using service = await serving((_, outgoing) => outgoing.write('{"ok":'))
  const client = createClient({ base_url: service.url, timeout_ms: 300 })
  await expect(client.health.live()).rejects.toMatchObject({ name: 'UnreachableError', timed_out: true })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const calls = [createClient, createPageClient].map((create) => {
      const fetch: Fetch = (_, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      const call = create({ base_url: service.url, fetch }).projects.config({ params: { client_id: 'p' } })
      return call.catch((error: Error) => error.message)
    })
    await vi.advanceTimersByTimeAsync(30_000)
    const late = `${service.url} did not respond within 30000 ms.`
    expect(await Promise.all(calls)).toEqual([late, late])
  } finally {
    vi.useRealTimers()
  }
})

async function serving(respond: RequestListener): Promise<{ url: string } & AsyncDisposable> {
  const server = createServer(respond).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function respondingWith(body: unknown, status = 200, headers: Record<string, string> = {}) {
  const sent: { url: string; init: FetchInit }[] = []
  const fetch: Fetch = async (url, init) => {
    sent.push({ url, init })
    return new Response(typeof body === 'string' ? body : JSON.stringify(body), { status, headers })
  }
  return { fetch, sent }
}

function buildStream(chunks: Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk)
      controller.close()
    },
  })
}
