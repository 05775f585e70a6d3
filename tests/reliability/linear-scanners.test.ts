/** What looks through texts of others takes time with their length, not with its square: whole scanners, as they are called. */
import { expect, test } from 'vitest'
import { readBundle } from '#contract/bundles/text.ts'
import { collectFromHeaders } from '#contract/recordings/credential-headers.ts'
import { keepRequestHeaders, keepResponseHeaders, withoutEmail } from '#contract/recordings/recorded-parts.ts'
import { readRequestBody, redactResponseText } from '#contract/recordings/recording.ts'
import { describeUnvalidated, journalPath } from '#contract/recordings/redaction.ts'
import { createSecretMemory } from '#contract/recordings/secret-memory.ts'
import { collectFromParameters, learnDocument, learnUnknown } from '#contract/recordings/secret-sources.ts'
import { parseExactly } from '#foundation/json/exact-numbers.ts'
import { describeJsonProblem, findRepeatedName } from '#foundation/json/syntax.ts'
import { nestsDeeper } from '#foundation/json.ts'
import { findPersonalData } from '#foundation/personal-data/personal-data.ts'
import { createReadingBudget, readAll } from '#foundation/readings/readings.ts'
import { redactSecrets, redactWithBase64, secretKind, shownCommand } from '#foundation/redaction.ts'
import { createCaptures } from '#recordings/capture.ts'
import type { PassedExchange } from '#recordings/exchange.ts'
import { findKeyReason } from '#recordings/key-guard.ts'
import { recordEntry } from '#recordings/recorded-entry.ts'
import { createRewriting } from '#recordings/rewriting.ts'
import { findSlowInput, scannerPieces } from '#tests/architecture/linear.ts'

const rewriting = createRewriting('https://ads.example.com', 'http://127.0.0.1:4030')
const memory = () => createSecretMemory(Buffer.alloc(32))

test.each<[string, (text: string) => unknown]>([
  ['keys and tokens', redactSecrets],
  ['keys in base64', redactWithBase64],
  ['readings', (text) => [...readAll(text, createReadingBudget(text.length))]],
  ['production keys', findKeyReason],
  ['keys in fields', secretKind],
  ['command lines', (text) => shownCommand([text])],
  ['personal data', findPersonalData],
  ['addresses of e-mail', withoutEmail],
  ['responses', redactResponseText],
  ['JSON in responses', (text) => redactResponseText(JSON.stringify({ a: [text], password: text }))],
  ['requests', (text) => readRequestBody('beacons.send', JSON.stringify({ metadata: { text } }))],
  ['requests that nobody knows', describeUnvalidated],
  ['paths', (text) => journalPath(`/${text}?${text}`)],
  [
    'headers of requests',
    (text) => keepRequestHeaders({ 'x-a': text, authorization: text, 'sec-websocket-protocol': text }),
  ],
  ['headers of responses', (text) => keepResponseHeaders({ link: text, location: text, 'set-cookie': text })],
  ['documents', (text) => learnDocument(memory(), text)],
  ['credentials', (text) => collectFromHeaders(memory(), ['authorization', text, 'cookie', text, 'x-a', text])],
  ['queries', (text) => collectFromParameters(memory(), { slot_id: text }, text)],
  ['fields', (text) => learnUnknown(memory(), { a: text, [text]: text })],
  ['addresses in JSON', (text) => rewriting.rewriteJson(text)],
  ['addresses in documents', (text) => rewriting.rewriteText(text)],
  ['policies', (text) => rewriting.toClient(['content-security-policy', text])],
  ['exact numbers', parseExactly],
  ['long numbers', (text) => parseExactly(`[1${text.replace(/\D/g, '0')}1]`)],
  ['nesting', nestsDeeper],
  ['mistakes in JSON', describeJsonProblem],
  ['names in JSON', findRepeatedName],
  ['bundles', readBundle],
])('%s', (_, scan) => {
  expect(findSlowInput(scan, scannerPieces)).toBeNull()
})

test.each<[string, (index: number) => string]>([
  ['one beginning', (index) => `${'a'.repeat(8)}${index}`],
  ['many lengths', (index) => `${'a'.repeat(8 + (index % 500))}${index}`],
])('tokens of %s in a response that has many', (_, nameToken) => {
  expect(findSlowInput((text) => replaceMany(text, nameToken), ['a'])).toBeNull()
})

/** Learns as many tokens as a response of this length can have, and looks for them in it. */
function replaceMany(text: string, nameToken: (index: number) => string): string {
  const tokens = memory()
  for (let index = 0; index * 20 < text.length; index++) tokens.collectSecret(nameToken(index), 'tok')
  return tokens.replace('a'.repeat(text.length))
}

/** A response of a service. */
interface Response {
  body: string
  type?: string
  headers?: string[]
  path?: string
}

const toExchange = ({ body, type = 'application/json', headers = [], path = '/v1/decisions/slot_1' }: Response) => {
  const capture = (text: string) => {
    const opened = createCaptures().open(5_000_000)
    opened.add(Buffer.from(text))
    return opened
  }
  return {
    ...{ at_ms: 0, method: 'GET', path, http_version: '1.1', request_headers: [], duration_ms: 1, problem: null },
    request: createCaptures().open(1_000),
    response: {
      ...{ status: 200, status_text: 'OK', wait_ms: 1, body: capture(body) },
      headers: ['content-type', type, ...headers],
    },
  } satisfies PassedExchange
}

const fill = (piece: string, length: number) => piece.repeat(Math.ceil(length / piece.length))
const usual = (length: number): Response => ({
  body: `[${fill('{"id":"item1","title":"A fine thing to read","n":12},', length)}{}]`,
})
const mails = Array.from({ length: 400 }, (_, index) => [
  `x-a${index}`,
  `${'a'.repeat(8 + (index % 56))}@${fill('b.', 2 + 2 * (index >> 3))}cc`,
]).flat()
/** Each name occurs once: what is known of earlier ones is of no use. */
let names = 0
const frame = { type: 'text/html', path: '/v1/render/ast_1' }

/** Returns microseconds of the processor for a response of this length. */
async function measureCost(make: (length: number) => Response, length: number): Promise<number> {
  const started = process.threadCpuUsage()
  for (let runs = 1; ; runs++) {
    await recordEntry(toExchange(make(length)), 'https://ads.example.com', memory())
    const { user, system } = process.threadCpuUsage(started)
    // It is counted in steps of some milliseconds.
    if (user + system >= 24_000) return (user + system) / runs
  }
}

/** Measures up to three times, until a value is below `enough`: other work beside it takes part in some. */
async function lowest(measure: () => Promise<number>, enough: number): Promise<number> {
  let least = await measure()
  for (let time = 1; time < 3 && least >= enough; time++) least = Math.min(least, await measure())
  return least
}

const shortBody = 30_000
/** 4 for work that is linear, 16 for the square. */
const maxGrowth = 9
/** Of the work for a usual body of the same length. */
const maxTimesUsual = 100

test.each<[string, (length: number) => Response]>([
  ['usual JSON', usual],
  [
    'texts within eight long names',
    (length) => ({
      body: `${Array.from({ length: 8 }, (_, index) => `{"${`aB${index}`.repeat(42)}":`).join('')}["a"${fill(',"a"', length)}]${'}'.repeat(8)}`,
    }),
  ],
  ['addresses with one beginning, and a long word', (length) => ({ headers: mails, body: `"${fill('a', length)}"` })],
  [
    'a tag with many names and values, in a frame',
    (length) => ({ ...frame, body: fill(`<a ${'id=x '.repeat(200)}${'value="y" '.repeat(120)}>`, length) }),
  ],
  ['a form that is none', (length) => ({ type: 'text/plain', body: `${fill('a=b&', length)}<` })],
  ['a form in JSON', (length) => ({ body: JSON.stringify([`${fill('a=b&', length)}<`]) })],
  ['parameters with commas', (length) => ({ body: JSON.stringify([`password=${fill('a,', length)}`]) })],
  ['nested arrays', (length) => ({ body: fill('[', length) })],
  ['nested objects', (length) => ({ body: fill('{"token":', length) })],
  [
    'other names',
    (length) => ({ body: `{${Array.from({ length: length / 12 }, () => `"aT${names++}":"b"`).join()}}` }),
  ],
  [
    'tokens',
    (length) => ({
      body: JSON.stringify({ ticket: Array.from({ length: length / 20 }, (_, n) => `a${n}bcdefghijkl`) }),
    }),
  ],
  [
    'beginnings of private keys',
    (length) => ({ body: JSON.stringify([fill('-----BEGIN A PRIVATE KEY-----', length)]) }),
  ],
  ['beginnings of addresses', (length) => ({ body: JSON.stringify([fill('://a:b', length), fill('://a:@', length)]) })],
  ['pairs', (length) => ({ body: `{${fill('"value":"a","name":"password",', length)}"a":1}` })],
  ['escaped quotes', (length) => ({ body: JSON.stringify([fill('":', length)]) })],
  ['events', (length) => ({ type: 'text/event-stream', body: fill('data: {"a":"b"}\n', length) })],
  ['names in a script', (length) => ({ ...frame, body: fill('token="', length) })],
])('an exchange with %s', async (_, make) => {
  let cost = 0
  const growth = await lowest(async () => {
    cost = await lowest(() => measureCost(make, shortBody), 0)
    return (await measureCost(make, 4 * shortBody)) / cost
  }, maxGrowth)
  usualCost ??= await lowest(() => measureCost(usual, shortBody), 0)
  expect({ growth, timesUsual: cost / usualCost }).toEqual({
    growth: below(maxGrowth),
    timesUsual: below(maxTimesUsual),
  })
})

let usualCost: number | undefined
const below = (limit: number) => expect.toSatisfy((ratio: number) => ratio < limit, `less than ${limit}`)
