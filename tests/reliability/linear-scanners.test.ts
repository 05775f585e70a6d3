/** What looks through texts of others takes time with their length, not with its square: whole scanners, as they are called. */
import { expect, test } from 'vitest'
import { readBundle } from '#contract/bundles/text.ts'
import { keepRequestHeaders, keepResponseHeaders, withoutEmail } from '#contract/recordings/recorded-parts.ts'
import { readRequestBody, redactResponseText } from '#contract/recordings/recording.ts'
import { describeUnvalidated, journalPath } from '#contract/recordings/redaction.ts'
import { parseExactly } from '#foundation/exact-numbers.ts'
import { nestsDeeper } from '#foundation/json.ts'
import { describeJsonProblem, findRepeatedName } from '#foundation/json-syntax.ts'
import { findPersonalData } from '#foundation/personal-data/personal-data.ts'
import { holdsLiveKey, redactSecrets, redactWithBase64, secretKind, shownCommand } from '#foundation/redaction.ts'
import { createRewriting } from '#recordings/rewriting.ts'
import { createSecretMemory } from '#recordings/secret-memory.ts'
import { learnDocument, learnHeaders, learnParameters, learnUnknown } from '#recordings/secret-sources.ts'
import { findSlowInput, scannerPieces } from '#tests/architecture/linear.ts'

const rewriting = createRewriting('https://ads.example.com', 'http://127.0.0.1:4030')
const memory = () => createSecretMemory(Buffer.alloc(32))

test.each<[string, (text: string) => unknown]>([
  ['keys and tokens', redactSecrets],
  ['keys in base64', redactWithBase64],
  ['production keys', (text) => holdsLiveKey(text)],
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
  ['credentials', (text) => learnHeaders(memory(), { authorization: text, cookie: text, 'x-a': text })],
  ['queries', (text) => learnParameters(memory(), { slot_id: text }, text)],
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
  for (let index = 0; index * 20 < text.length; index++) tokens.learnSecret(nameToken(index), 'tok')
  return tokens.replace('a'.repeat(text.length))
}
