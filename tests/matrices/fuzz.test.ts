/**
 * Bad input, however malformed, is a 4xx of the contract: never a failure of ours, never a crash, never a hang. The dice
 * are seeded; SVC_FUZZ_SEED throws others.
 */
import { join } from 'node:path'
import { Client, type Dispatcher, request } from 'undici'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Endpoint } from '#contract/endpoint.ts'
import { contract } from '#contract/index.ts'
import type { ActivationResult } from '#contract/resources/browser.ts'
import type { PlacementResponse } from '#contract/resources/placements.ts'
import { type Child, startChild } from '#tests/reliability/child.ts'
import { createDice } from '#tests/reliability/dice.ts'
import { heldCases, wireCase } from '#tests/reliability/malformed-http.ts'
import { type Malformed, malformed } from '#tests/reliability/malformed-request.ts'
import { type Known, type Sample, samples } from '#tests/reliability/requests.ts'
import { findProblem, type Response } from '#tests/reliability/responses.ts'
import { exchange, listStatuses, responsesIn } from '#tests/reliability/wire.ts'
import { share } from '#tests/share.ts'
import { temporaryDirectory } from '#tests/temporary.ts'

const seed = Number(process.env.SVC_FUZZ_SEED ?? 20260101)
const counts = { requests: share.least(17_000), wires: share.least(4_000) }
const within_ms = 12_000
const mostMemory_bytes = 400 * 1024 * 1024
const origin = 'http://localhost:3000'

let sandbox: Child
let known: Known

beforeAll(async () => {
  sandbox = await startChild({
    database: join(temporaryDirectory(), 'sandbox.db'),
    rate_limit: 'off',
    journal_limit: 5_000,
  })
  known = await learn()
})

afterAll(() => sandbox.close())

test(`${counts.requests} malformed requests each get a response of the contract (seed ${seed})`, async () => {
  const dice = createDice(seed)
  const all = samples(known, Date.now)
  const weights = all.map((sample) => sample.weight)
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const problems: string[] = []
  const lane = async (left: () => boolean) => {
    let client = openClient()
    while (left()) {
      const one = malformed(dice, pickWeighted(all, dice.roll() * total), known)
      const problem = await ask(client, one)
      if (problem !== null) {
        await client.destroy()
        client = openClient()
      }
      if (problem !== null && problem !== 'closed') problems.push(`${one.name} -> ${problem}`)
    }
    await client.destroy()
  }
  await inParallel(16, counts.requests, lane)
  expect([...firstFew(problems), ...sandbox.reports.slice(0, 3)], `seed ${seed}`).toEqual([])
  await isUnharmed()
})

test.concurrent(`${counts.wires} requests that are not HTTP get a response or are closed (seed ${seed})`, async () => {
  const dice = createDice(seed + 1)
  const { host } = new URL(sandbox.url)
  const problems: string[] = []
  const run = async (one: ReturnType<typeof wireCase>) => {
    const { received, isSettled } = await exchange(sandbox.url, one, within_ms)
    if (!isSettled) problems.push(`${one.name} (${one.ending}) -> neither responded to nor closed`)
    for (const response of responsesIn(received)) {
      const problem = findProblem(response, null)
      if (problem !== null) problems.push(`${one.name} (${one.ending}) -> ${problem}`)
    }
  }
  const held = heldCases(host).map(run)
  await inParallel(32, counts.wires, async (left) => {
    while (left()) await run(wireCase(dice, host))
  })
  await Promise.all(held)
  expect([...firstFew(problems), ...sandbox.reports.slice(0, 3)], `seed ${seed}`).toEqual([])
  await isUnharmed()
})

/** The sandbox goes on as if nothing had happened. */
async function isUnharmed(): Promise<void> {
  expect(sandbox.reports, `seed ${seed}`).toEqual([])
  const placement = await ok('POST', '/v1/placements', {
    client_id: 'proj_demo',
    session_id: 'after',
    job_type: 'chat',
  })
  expect(placement).toMatchObject({ status: 'ready', decision: { fill: true } })
  expect(await ok('GET', '/_sandbox/evidence/verify')).toMatchObject({ ok: true })
  for (const id of ['placements.list', 'beacons.list', 'requests.list'] as const) await readAll(contract[id])
  expect(await sandbox.memory()).toBeLessThan(mostMemory_bytes)
}

/** Everything that the malformed requests have left behind can be listed, and fits the contract. */
async function readAll(endpoint: Endpoint): Promise<void> {
  let cursor: string | null = null
  do {
    const path: string = `${endpoint.path}?limit=1000${cursor === null ? '' : `&cursor=${cursor}`}`
    const response = await read(await request(`${sandbox.url}${path}`))
    expect(findProblem(response, endpoint), path).toBeNull()
    cursor = (JSON.parse(response.body) as { next_cursor: string | null }).next_cursor
  } while (cursor !== null)
}

function openClient(): Client {
  return new Client(sandbox.url, { headersTimeout: within_ms, bodyTimeout: within_ms })
}

/** Returns what is wrong with the response, null, or `closed` when the server ended the connection. */
async function ask(client: Client, one: Malformed): Promise<string | null> {
  const { sample, method, path, headers, body } = one
  try {
    const reply = await client.request({ method: method as Dispatcher.HttpMethod, path, headers, body: body ?? null })
    if (String(reply.headers['content-type']).startsWith('text/event-stream')) {
      reply.body.on('error', () => {}).destroy()
      return 'closed'
    }
    const isMeant = method === sample.method && path.split('?')[0] === sample.path.split('?')[0]
    return findProblem(await read(reply), isMeant ? sample.endpoint : null)
  } catch (error) {
    const { code, name, message } = error as Error & { code?: string }
    if (code === 'UND_ERR_INVALID_ARG') return null
    if (code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === 'EPIPE') return 'closed'
    return `${code ?? name}: ${message}`
  }
}

async function read({ statusCode, headers, body }: Dispatcher.ResponseData): Promise<Response> {
  return { status: statusCode, headers, body: await body.text() }
}

async function ok<T>(method: 'GET' | 'POST', path: string, body?: object, headers = {}): Promise<T> {
  return JSON.parse((await fetched(method, path, body, headers)).body) as T
}

async function fetched(method: 'GET' | 'POST', path: string, body?: object, headers = {}): Promise<Response> {
  const reply = await request(`${sandbox.url}${path}`, {
    method,
    headers: { authorization: 'Bearer sk_test_sandbox_demo', 'content-type': 'application/json', ...headers },
    body: body === undefined ? null : JSON.stringify(body),
  })
  const response = await read(reply)
  expect(response.status, `${method} ${path}: ${response.body}`).toBeLessThan(300)
  return response
}

/** Real identifiers and tokens, so that malformed requests get as far as they can. */
async function learn(): Promise<Known> {
  const fill = async (format: string) => {
    const { slot_id, decision } = await ok<PlacementResponse>('POST', '/v1/placements', {
      client_id: 'proj_demo',
      session_id: `known-${format}`,
      job_type: 'chat',
      overrides: { allowed_formats: [format] },
    })
    return { slot_id, asset_token: decision?.asset_token ?? '' }
  }
  const banner = await fill('banner')
  const clip = await fill('clip')
  const key = { publishable_key: 'pk_test_sandbox_demo' }
  const page = { origin, authorization: `Bearer ${key.publishable_key}` }
  const { activation_token } = await ok<ActivationResult>('POST', '/v1/browser/activate', key, page)
  const frame = await fetched('GET', `/v1/render/${clip.asset_token}`)
  return {
    ...banner,
    clip_slot_id: clip.slot_id,
    clip_asset_token: clip.asset_token,
    activation_token,
    beacon_token: /bt_[0-9a-z]{11}_[A-Za-z0-9_-]{43}/.exec(frame.body)![0],
    request_id: String(frame.headers['x-request-id']),
    origin,
  }
}

function pickWeighted(all: readonly Sample[], at: number): Sample {
  let left = at
  for (const sample of all) {
    left -= sample.weight
    if (left < 0) return sample
  }
  return all.at(-1)!
}

async function inParallel(lanes: number, count: number, lane: (left: () => boolean) => Promise<void>): Promise<void> {
  let left = count
  await Promise.all(Array.from({ length: lanes }, () => lane(() => left-- > 0)))
}

function firstFew(problems: string[]): string[] {
  return problems.length > 12 ? [...problems.slice(0, 12), `and ${problems.length - 12} more`] : problems
}

// It waits for the server to give up, beside the test above.
test.concurrent('a body that stalls after its response brings no second one', async () => {
  const head = 'host: localhost\r\ncontent-type: application/json\r\ncontent-length: 90000'
  const requests = [`POST /v1/beacons HTTP/1.1\r\n${head}\r\n\r\n{`, `POST /v1/none HTTP/1.1\r\n${head}\r\n\r\n{`]
  const all = await Promise.all(requests.map((request) => listStatuses(sandbox.url, [request])))
  expect(all).toEqual([[413], [404]])
})

test.concurrent('a connection on which nothing is sent is closed without a response', async () => {
  expect(await listStatuses(sandbox.url, [''])).toEqual([])
})
