/**
 * Requests made from the OpenAPI document, to a sandbox on SQLite and to one on PostgreSQL: no failure of ours, every
 * response fits its schema, and both give the same one. SVC_FUZZ_SEED throws other dice.
 */
import { randomBytes } from 'node:crypto'
import { request } from 'node:http'
import { expect, test } from 'vitest'
import type { Endpoint } from '#contract/endpoint.ts'
import { contract, type EndpointId } from '#contract/index.ts'
import { openapiDocument } from '#contract/openapi/document.ts'
import { type ManualClock, manualClock, type Sandbox, startSandbox } from '#sandbox/index.ts'
import { createDice } from '#tests/reliability/dice.ts'
import { Conversation, type Operation, readOperations, type Sent } from '#tests/reliability/openapi-requests.ts'
import { findProblem, type Response } from '#tests/reliability/responses.ts'
import { serverVariable } from './shared-store.ts'

const seed = Number(process.env.SVC_FUZZ_SEED ?? 20261127)
const store = process.env[serverVariable] ?? ''
const document = openapiDocument({ server_url: 'http://127.0.0.1:4010' })
const operations = readOperations(document)

/** What a request of these would end, replace or wait for; each has tests of its own. */
const left = ['sandbox.stop', 'sandbox.import', 'sandbox.export', 'events.stream']
/** What differs by its nature: namespaces and named tokens are for teams, the store is named, durations are signed and counted. */
const differs = [
  'bundles.page',
  'sandbox.metrics',
  'sandbox.info',
  'namespaces.list',
  'namespaces.delete',
  'tokens.list',
  'tokens.create',
  'tokens.revoke',
  'audit.list',
]
/** What replaces the state, or moves the clock far away: after everything else. */
const disturbing = [
  'clock.resume',
  'sandbox.reset',
  'snapshots.restore',
  'clock.set',
  'clock.advance',
  'scenario.use',
  'faults.add',
]

/** After these others fail, or the two have different times: faults, latency, keys that are gone, the clock of the host. */
const ending = [
  ...['keys.revoke', 'sandbox.reset', 'snapshots.restore', 'faults.add', 'scenario.use'],
  ...['projects.update', 'clock.advance', 'clock.resume', 'clock.set'],
]

/** What succeeds only with something that no example has: a team, a page, a file, a callback, a fault; and old clients. */
const demanding = [
  ...['tokens.create', 'tokens.revoke', 'namespaces.delete', 'console.confirm', 'console.revoke', 'bundles.import'],
  ...['demand.replace'],
  ...['bundles.show', 'callbacks.resend', 'faults.remove', 'browser.activation', 'wrapper.job', 'wrapper.beacon'],
  ...['browser.beacon', 'wrapper.generation', 'browser.generation', 'generation.report', 'wrapper.ticket'],
  ...['browser.ticket', 'browser.decision', 'wrapper.decision'],
]

const asked = operations.filter(({ endpoint_id }) => !left.includes(endpoint_id))

test('every hostile value of every parameter and field gets the same answer of the contract from both stores', async () => {
  await using pair = await openPair()
  const dice = createDice(seed)
  const conversation = new Conversation(asked, dice)
  const ordered = [...asked].sort((one, other) => Number(isDisturbing(one)) - Number(isDisturbing(other)))
  // A first turn, so that requests have real identifiers.
  for (const operation of ordered.filter((one) => !isDisturbing(one)))
    await pair.send(conversation, conversation.request(operation, pair.now()))
  const values = new Map<string, number>()
  for (const operation of ordered) {
    const bodies = Math.max(1, operation.bodies.length)
    for (let body = 0; body < bodies; body++) {
      const valid = conversation.request({ ...operation, bodies: operation.bodies.slice(body, body + 1) }, pair.now())
      const hostile = conversation.hostile(valid)
      for (const sent of hostile) {
        if (sent.odd.startsWith('body') && !dice.chance(0.2)) continue
        await pair.send(conversation, sent)
        values.set(operation.id, (values.get(operation.id) ?? 0) + 1)
      }
    }
  }
  expect(pair.problems).toEqual([])
  expect(values.size).toBe(asked.length)
})

test('requests that follow the links of earlier responses get the same answers from both stores', async () => {
  await using pair = await openPair()
  const some = asked.filter(({ endpoint_id }) => !ending.includes(endpoint_id))
  const own = some.filter(({ path }) => path.startsWith('/v1/'))
  const conversation = new Conversation([...some, ...own, ...own, ...own], createDice(seed + 1))
  const succeeded = new Map<string, number>()
  for (let count = 0; count < 1_500; count++) {
    const sent = conversation.next(pair.now())
    const status = await pair.send(conversation, sent)
    if (status < 300 && sent.odd === '') succeeded.set(sent.operation.id, (succeeded.get(sent.operation.id) ?? 0) + 1)
  }
  expect(pair.problems).toEqual([])
  const never = some.filter(({ id }) => !succeeded.has(id)).map(({ endpoint_id }) => endpoint_id)
  expect(never.filter((id) => !demanding.includes(id))).toEqual([])
})

function isDisturbing({ endpoint_id }: Operation): boolean {
  return disturbing.includes(endpoint_id)
}

/** Two sandboxes that differ in their store alone. */
async function openPair() {
  const clocks = [watchedClock(), watchedClock()] as const
  const failures: unknown[] = []
  const options = { seed: 7, rate_limit: 'off', demands_token: false, report: (error: unknown) => failures.push(error) }
  const sqlite = await startSandbox({ ...options, clock: clocks[0] })
  const postgres = await startSandbox({
    ...options,
    clock: clocks[1],
    store,
    namespace: randomBytes(8).toString('hex'),
  })
  const problems: string[] = []
  return {
    problems,
    now: () => clocks[0].now(),
    /** Sends a request to both, and notes what is wrong with the responses. */
    async send(conversation: Conversation, sent: Sent): Promise<number> {
      const [one, other] = await both(sqlite, postgres, sent, clocks)
      const name = `${sent.method} ${sent.path.slice(0, 200)} ${sent.odd} (seed ${seed})`
      const endpoint: Endpoint = contract[sent.operation.endpoint_id as EndpointId]
      for (const [kind, response] of Object.entries({ sqlite: one, postgres: other })) {
        const problem = findProblem(response, endpoint)
        if (problem !== null) problems.push(`${kind}: ${name} -> ${problem}`)
      }
      const [text, otherText] = [stable(one.body), stable(other.body)]
      const isSame = one.status === other.status && text === otherText
      if (!isSame && !differs.includes(sent.operation.endpoint_id)) {
        problems.push(
          `${name} -> ${one.status} ${excerpt(text, otherText)}, other ${other.status} ${excerpt(otherText, text)}`,
        )
      }
      if (failures.length > 0)
        problems.push(...failures.splice(0).map((failure) => `${name} -> reported ${String(failure)}`))
      conversation.learn(sent, one.status, one.body)
      return one.status
    },
    async [Symbol.asyncDispose]() {
      await sqlite.close()
      await postgres.close()
    },
  }
}

/** Where two texts begin to differ. */
function excerpt(text: string, other: string): string {
  let at = 0
  while (at < text.length && text[at] === other[at]) at++
  return text.slice(Math.max(0, at - 40), at + 160)
}

interface WatchedClock extends ManualClock {
  /** Alarms that are still to come. */
  readonly alarms: ReadonlySet<object>
}

function watchedClock(): WatchedClock {
  const clock = manualClock()
  const { at } = clock
  const alarms = new Set<object>()
  return Object.assign(clock, {
    alarms,
    at(at_ms: number, callback: () => void) {
      const alarm = {}
      alarms.add(alarm)
      const cancel = at(at_ms, () => {
        alarms.delete(alarm)
        callback()
      })
      return () => {
        alarms.delete(alarm)
        cancel()
      }
    },
  })
}

/**
 * A request that waits for a time of the sandbox gets it: the clocks move until both have responded, once each that has not
 * waits for its clock. Before, one of them may be slow, and would find another time than the other.
 */
async function both(sqlite: Sandbox, postgres: Sandbox, sent: Sent, clocks: readonly WatchedClock[]) {
  const open = new Set(clocks)
  const responses = Promise.all(
    [sqlite, postgres].map((sandbox, index) => exchange(sandbox, sent).finally(() => open.delete(clocks[index]!))),
  )
  const timer = setInterval(() => {
    if ([...open].every(({ alarms }) => alarms.size > 0)) for (const clock of clocks) clock.advance(1_000)
  }, 50)
  try {
    return (await responses) as [Response, Response]
  } finally {
    clearInterval(timer)
  }
}

/**
 * Returns a text without what differs between any two sandboxes: numbers of files and of the clock of the host, and nonces
 * of pages.
 */
function stable(text: string): string {
  return text.replaceAll(unequal, '$1 any')
}

const unequal =
  /("(?:size_bytes|saved_at_ms|schema_version|offset_ms|imported_at_ms|duration_ms)":|moved by |nonce=|nonce-)-?[^,}<>;']+/g

function exchange(sandbox: Sandbox, { method, path, headers, body }: Sent): Promise<Response> {
  return new Promise((resolve, reject) => {
    const outgoing = request(sandbox.url, { method, path, headers }, (incoming) => {
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
      incoming.on('error', reject)
      incoming.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8')
        const body = text.replaceAll(`127.0.0.1:${sandbox.port}`, 'HOST')
        resolve({ status: incoming.statusCode!, headers: incoming.headers, body })
      })
    })
    outgoing.on('error', reject)
    outgoing.end(body ?? undefined)
  })
}
