/** Bidders of your own: the two of the guide as they stand there, and answers of every kind that is refused. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { temporaryDirectory } from '#tests/temporary.ts'
import { asked, key, type Stage, stage } from './stage.ts'

const guide = readFileSync(new URL('../../docs/guides/own-ads.md', import.meta.url), 'utf8')
const readProgram = (language: string) => new RegExp(`^\`\`\`${language}[^\\n]*\\n(.*?)^\`\`\`$`, 'ms').exec(guide)![1]!
const readFileAt = (url: string) =>
  /```yaml\n([^`]*127\.0\.0\.1[^`]*)```/.exec(guide)![1]!.replace('http://127.0.0.1:4999/bid', url)

/** Writes the file of demand of the guide, for a bidder at a URL. */
function writeDemand(url: string, more = ''): string {
  const folder = temporaryDirectory()
  const png = new URL('../../fixtures/test-assets/banner-300x250.png', import.meta.url)
  copyFileSync(png, join(folder, 'tea-300x250.png'))
  writeFileSync(join(folder, 'demand.yaml'), readFileAt(url) + more)
  return join(folder, 'demand.yaml')
}

const tea = (more: object = {}) =>
  asked({ prompt: { topic: 'tea' }, consent: { semantic_targeting: true }, wait_ms: 5_000, ...more })

async function ask(on: Stage, body = tea()) {
  const { slot_id } = (await on.api.accept('placements.create', { as: key, body })).body
  const explain = async () => (await on.api.accept('placements.explain', { params: { slot_id } })).body
  await expect.poll(async () => (await explain()).status).not.toBe('pending')
  const detail = await explain()
  const bids = detail.auction?.filter(({ partner_id }) => partner_id === 'ptn_bidder') ?? []
  const rule = detail.trace.find(({ campaign_id }) => campaign_id === 'cmp_fernhill_tea')?.rule
  return { detail, bids, rule, slot_id }
}

async function serve(listener: RequestListener) {
  const received: string[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      received.push(JSON.stringify([request.headers, JSON.parse(Buffer.concat(chunks).toString())]))
      listener(request, response)
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  const close = async () => {
    server.closeAllConnections()
    await new Promise((done) => server.close(done))
  }
  return { url: `http://127.0.0.1:${port}/bid`, received, close, [Symbol.asyncDispose]: close }
}

const answering =
  (value: unknown, headers: Record<string, string> = {}): RequestListener =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers })
    response.end(typeof value === 'string' || Buffer.isBuffer(value) ? value : JSON.stringify(value))
  }

/** Starts a program of the guide on a free port. */
async function start(program: string, file: string, text: string) {
  const path = join(temporaryDirectory(), file)
  writeFileSync(path, text)
  const child: ChildProcess = spawn(program, [path], { env: { ...process.env, PORT: '0' }, stdio: 'pipe' })
  const exited = new Promise((done) => child.once('exit', done))
  const line = await new Promise<string>((done, fail) => {
    createInterface(child.stdout!).once('line', done)
    child.once('exit', () => fail(new Error(`${file} has ended`)))
  })
  const end = async () => {
    child.kill('SIGKILL')
    await exited
  }
  return { url: `http://127.0.0.1:${/\d+$/.exec(line)![0]}/bid`, child, end, [Symbol.asyncDispose]: end }
}

const bidders = [
  { program: process.execPath, file: 'bidder.mjs', language: 'js', answer: 'JSON.stringify({ bids })' },
  { program: 'python3', file: 'bidder.py', language: 'python', answer: 'json.dumps({"bids": bids})' },
].filter(({ program }) => spawnSync(program, ['--version']).status === 0)
if (bidders.length < 2) console.warn('Left out: the bidder in Python, which is not installed.')

describe.each(bidders)('the bidder of the guide in $language', ({ program, file, language, answer }) => {
  const text = readProgram(language)

  test('wins with its price, passes on other topics, is late when it hangs, and may go away', async () => {
    expect(text.trim().split('\n').length).toBeLessThanOrEqual(23)
    await using bidder = await start(program, file, text)
    await using on = await stage({ demand: writeDemand(bidder.url, 'window_ms: 5000\n') })
    const winning = await ask(on)
    expect(winning.bids).toMatchObject([
      { campaign_id: 'cmp_fernhill_tea', price_cpm: 41.5, currency: 'USD', outcome: 'offered', problem: null },
    ])
    const decision = { revenue_estimate: { gross_cpm: 41.5 } }
    expect(winning.detail).toMatchObject({ campaign_id: 'cmp_fernhill_tea', decision })
    const passed = await ask(on, tea({ prompt: { topic: 'shoes' } }))
    expect([passed.bids[0]?.outcome, passed.bids[0]?.problem, passed.rule]).toEqual(['no_bid', null, 'no_bid'])
    await using hurried = await stage({ demand: writeDemand(bidder.url, 'window_ms: 50\n') })
    bidder.child.kill('SIGSTOP')
    const late = await ask(hurried)
    expect([late.bids[0]?.problem, late.rule]).toEqual(['No answer within 50 ms.', 'partner_timeout'])
    await bidder.end()
    const away = await ask(on)
    expect([away.bids[0]?.problem, away.rule]).toEqual(['Nothing listens at its URL.', 'partner_error'])
  })

  test('that sends rubbish loses', async () => {
    expect(text).toContain(answer)
    await using bidder = await start(program, file, text.replace(answer, '"<script>alert(1)</script>"'))
    await using on = await stage({ demand: writeDemand(bidder.url, 'window_ms: 5000\n') })
    const { bids, rule } = await ask(on)
    expect([bids[0]?.problem, rule]).toEqual(['Its answer is no JSON.', 'partner_malformed'])
  })
})

const bid = { campaign_id: 'cmp_fernhill_tea', price_cpm: 41, currency: 'USD' }
const one = (change: object) => answering({ bids: [{ ...bid, ...change }] })
const hostileText = '\u001b[2J<script>alert(1)</script>'

describe('an answer', () => {
  test.each<[what: string, listener: RequestListener, outcome: string]>([
    ['without bids', answering({ bids: [] }), 'no_bid'],
    ['of nothing', answering({}), 'no_bid'],
    ['204', (_request, response) => void response.writeHead(204).end(), 'no_bid'],
    ['with a charset', answering({ bids: [bid] }, { 'content-type': 'Application/JSON; charset=utf-8' }), 'offered'],
    ['in euros', one({ currency: 'EUR' }), 'offered'],
    ['without a currency', one({ currency: undefined }), 'offered'],
  ])('%s is fine', async (_what, listener, outcome) => {
    await using bidder = await serve(listener)
    await using on = await stage({ demand: writeDemand(bidder.url, 'window_ms: 5000\n'), only: true })
    const { bids, detail } = await ask(on)
    expect(bids).toMatchObject([{ outcome, problem: null }])
    expect(detail.fill).toBe(outcome === 'offered')
  })

  const price = 'bids.0.price_cpm must be more than 0 and at most 1000000.'
  const currency = 'bids.0.currency must be a currency of the rate table, such as USD.'
  const campaign = 'bids.0.campaign_id must be the campaign_id of one of its campaigns.'
  const field = 'bids.0 has a field other than campaign_id, price_cpm and currency.'
  const raw =
    (text: string): RequestListener =>
    (request) =>
      void request.socket.end(text)
  test.each<[what: string, listener: RequestListener, rule: string, problem: string]>([
    ['a negative price', one({ price_cpm: -3 }), 'bid_refused', price],
    ['no price', one({ price_cpm: undefined }), 'bid_refused', price],
    ['a price of zero', one({ price_cpm: 0 }), 'bid_refused', price],
    ['a huge price', one({ price_cpm: 1e300 }), 'bid_refused', price],
    [
      'an endless price',
      answering(`{"bids":[{"campaign_id":"cmp_fernhill_tea","price_cpm":1e999}]}`),
      'bid_refused',
      price,
    ],
    ['a price as text', one({ price_cpm: '41' }), 'bid_refused', price],
    ['an unknown currency', one({ currency: 'XXX' }), 'bid_refused', currency],
    ['a currency of a prototype', one({ currency: '__proto__' }), 'bid_refused', currency],
    ['markup of its own', one({ adm: hostileText }), 'bid_refused', field],
    [
      'a prototype',
      answering(`{"bids":[{"campaign_id":"cmp_fernhill_tea","price_cpm":1,"__proto__":{}}]}`),
      'bid_refused',
      field,
    ],
    ['an unknown campaign', one({ campaign_id: 'cmp_nobody' }), 'no_bid', campaign],
    ['a campaign of another', one({ campaign_id: 'cmp_larkfield_coffee' }), 'no_bid', campaign],
    ['a campaign of markup', one({ campaign_id: hostileText }), 'no_bid', campaign],
    ['no object', answering({ bids: [7] }), 'no_bid', 'bids.0 must be an object.'],
    ['bids as an object', answering({ bids: {} }), 'partner_malformed', 'bids must be an array.'],
    [
      'another field',
      answering({ bids: [bid], seat: hostileText }),
      'partner_malformed',
      'Its answer has a field other than bids.',
    ],
    ['an array', answering([bid]), 'partner_malformed', 'Its answer is no JSON object.'],
    [
      '51 bids',
      answering({ bids: Array(51).fill(bid) }),
      'partner_malformed',
      'It sent 51 bids, and at most 50 are taken.',
    ],
    ['bad JSON', answering('{"bids": [,]}'), 'partner_malformed', 'Its answer is no JSON.'],
    ['deep JSON', answering('['.repeat(30_000)), 'partner_malformed', 'Its answer is no JSON.'],
    [
      'Latin-1',
      answering(Buffer.from('{"bids": ["\xe9"]}', 'latin1')),
      'partner_malformed',
      'Its answer is not UTF-8.',
    ],
    [
      'HTML',
      answering({ bids: [bid] }, { 'content-type': 'text/html' }),
      'partner_malformed',
      'Its content-type is not application/json.',
    ],
    [
      'gzip',
      answering(gzipSync('{}'), { 'content-encoding': 'gzip' }),
      'partner_malformed',
      'Its answer is compressed.',
    ],
    ['over 64 KiB', answering(' '.repeat(65_537)), 'partner_oversized', 'Its answer has more than 64 KiB.'],
    [
      'a redirect',
      (_request, response) => void response.writeHead(307, { location: '/elsewhere' }).end(),
      'partner_error',
      'It answered with a redirect, which is not followed.',
    ],
    [
      'status 500',
      (_request, response) => void response.writeHead(500).end(),
      'partner_error',
      'It answered with status 500, not 200.',
    ],
    [
      'status 201',
      (_request, response) => void response.writeHead(201).end('{}'),
      'partner_error',
      'It answered with status 201, not 200.',
    ],
    [
      'a closed connection',
      (request) => void request.socket.destroy(),
      'partner_error',
      'It closed the connection without an answer.',
    ],
    [
      'half an answer',
      raw('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{"bids"'),
      'partner_error',
      'It closed the connection without an answer.',
    ],
    ['no HTTP', raw('hello\r\n\r\n'), 'partner_error', 'Its answer is not HTTP.'],
    [
      'another protocol',
      raw('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
      'partner_error',
      'It closed the connection without an answer.',
    ],
  ])('with %s is refused, and says why', async (_what, listener, rule, problem) => {
    await using bidder = await serve(listener)
    await using on = await stage({ demand: writeDemand(bidder.url, 'window_ms: 5000\n') })
    const asked = await ask(on)
    expect([asked.bids[0]?.problem, asked.rule]).toEqual([problem, rule])
    expect(asked.detail.campaign_id).not.toBe('cmp_fernhill_tea')
    expect(JSON.stringify(asked.detail)).not.toMatch(/script|u001b/)
  })

  test('that drips, or never comes, is late', async () => {
    await using bidder = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const timer = setInterval(() => response.write(' '), 10)
      response.on('close', () => clearInterval(timer))
    })
    await using on = await stage({ demand: writeDemand(bidder.url, 'window_ms: 100\n') })
    const { bids, rule } = await ask(on)
    expect([bids[0]?.outcome, bids[0]?.problem, rule]).toEqual(['late', 'No answer within 100 ms.', 'partner_timeout'])
  })
})

test('a second bid for a campaign is refused, and the first one counts', async () => {
  await using bidder = await serve(answering({ bids: [bid, { ...bid, price_cpm: 99 }] }))
  await using on = await stage({ demand: writeDemand(bidder.url, 'window_ms: 5000\n') })
  const { bids, detail } = await ask(on)
  expect(bids.map(({ outcome, problem }) => [outcome, problem])).toEqual([
    ['offered', null],
    ['refused', 'bids.1.campaign_id has a bid already.'],
  ])
  expect(detail.decision).toMatchObject({ revenue_estimate: { gross_cpm: 41 } })
})

test('it is asked with the request that explain shows, once, and a restart does not ask again', async () => {
  const database = join(temporaryDirectory(), 'sandbox.db')
  await using bidder = await serve(answering({ bids: [bid] }))
  const demand = writeDemand(bidder.url, 'window_ms: 5000\n')
  const on = await stage({ demand, database })
  const { detail, slot_id } = await ask(on, tea({ prompt: { topic: 'tea', text: 'the secret of my tea' } }))
  const { body: journal } = await on.api.accept('requests.list', {})
  expect(journal.items.map(({ path }) => path)).not.toContain('/bid')
  await on[Symbol.asyncDispose]()
  expect(bidder.received).toHaveLength(1)
  const [headers, body] = JSON.parse(bidder.received[0]!)
  expect(body).toEqual(detail.partner_request)
  expect(Object.keys(headers).toSorted()).toEqual(['accept', 'connection', 'content-length', 'content-type', 'host'])
  expect(bidder.received[0]).not.toMatch(/secret of|sess_|sk_test/)
  await using again = await stage({ demand, database })
  const { body: later } = await again.api.accept('placements.explain', { params: { slot_id } })
  expect(later.auction).toEqual(detail.auction)
  expect(bidder.received).toHaveLength(1)
})

test('without consent, and for a forced campaign, nobody is asked', async () => {
  await using bidder = await serve(answering({ bids: [bid] }))
  await using on = await stage({ demand: writeDemand(bidder.url) })
  const forced = await ask(on, tea({ overrides: { force_campaign_id: 'cmp_fernhill_tea' } }))
  expect(forced.detail).toMatchObject({ campaign_id: 'cmp_fernhill_tea', billing: { would_bill: false } })
  const purposes = { semantic_targeting: false }
  const consent = { client_id: 'proj_demo', session_id: 'sess_2', decision: 'denied', purposes }
  await on.api.accept('consent.set', { as: key, body: consent })
  const denied = await ask(on, asked({ session_id: 'sess_2' }))
  expect(denied.detail.no_fill_reason).toBe('consent_not_granted')
  expect(bidder.received).toEqual([])
})

test('consent that is withdrawn while a bidder is asked applies, and it is asked no second time', async () => {
  const { promise: withdrawn, resolve: goOn } = Promise.withResolvers<void>()
  await using bidder = await serve((request, response) => {
    void withdrawn.then(() => answering({ bids: [bid] })(request, response))
  })
  await using on = await stage({ demand: writeDemand(bidder.url, 'window_ms: 10000\n') })
  const { slot_id } = (await on.api.accept('placements.create', { as: key, body: tea({ wait_ms: 0 }) })).body
  await expect.poll(() => bidder.received.length).toBe(1)
  const purposes = { semantic_targeting: false }
  const consent = { client_id: 'proj_demo', session_id: 'sess_1', decision: 'denied', purposes }
  await on.api.accept('consent.set', { as: key, body: consent })
  goOn()
  const reason = async () => (await on.api.accept('placements.explain', { params: { slot_id } })).body.no_fill_reason
  await expect.poll(reason).toBe('consent_not_granted')
  expect(bidder.received).toHaveLength(1)
})

test('a stop does not wait for a bidder, and the slot is decided by the next start', async () => {
  const database = join(temporaryDirectory(), 'sandbox.db')
  let hangs = true
  await using bidder = await serve((request, response) => {
    if (!hangs) answering({ bids: [bid] })(request, response)
  })
  const demand = writeDemand(bidder.url, 'window_ms: 10000\n')
  const on = await stage({ demand, database })
  const { slot_id, status } = (await on.api.accept('placements.create', { as: key, body: tea({ wait_ms: 0 }) })).body
  expect(status).toBe('pending')
  await expect.poll(() => bidder.received.length).toBe(1)
  await on[Symbol.asyncDispose]()
  hangs = false
  await using again = await stage({ demand, database })
  const outcome = async () => (await again.api.accept('placements.explain', { params: { slot_id } })).body.campaign_id
  await expect.poll(outcome).toBe('cmp_fernhill_tea')
})

test.each([
  'https://127.0.0.1:4999/bid',
  'http://evil.example/bid',
  'http://10.0.0.1/bid',
  'http://0.0.0.0:4999/bid',
  'http://[::ffff:127.0.0.1]:4999/bid',
  'http://127.0.0.1.evil.example/bid',
  'http://evil.localhost/bid',
  'http://me:secret@127.0.0.1/bid',
])('the bidder %s is refused at its line', async (url) => {
  const message = expect.stringMatching(
    /demand\.yaml:3:14: campaigns\.0\.partner must be the id of one of partners, or http/,
  )
  await expect(stage({ demand: writeDemand(url) })).rejects.toMatchObject({ code: 'demand_invalid', message })
  const listed = `partners:\n  - { id: mine, url: "${url}" }\n`
  await expect(stage({ demand: writeDemand('mine', listed) })).rejects.toMatchObject({
    message: expect.stringMatching(/demand\.yaml:9:22: partners\.0\.url must be http on this computer/),
  })
})

test('a bidder has no simulated latency', async () => {
  const listed = 'partners:\n  - { id: mine, url: "http://localhost:4999", latency_ms: 4 }\n'
  await expect(stage({ demand: writeDemand('mine', listed) })).rejects.toMatchObject({
    message: expect.stringMatching(/latency_ms is of simulated partners, and mine is a bidder of your own\./),
  })
})
