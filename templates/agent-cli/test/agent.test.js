/** The agent against a sandbox: `npm test` starts one for it. */
import assert from 'node:assert/strict'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, test } from 'node:test'
import { runTask } from '../src/agent.js'
import { readAnswer, writeAnswer } from '../src/consent.js'
import { waitBeforeRetry } from '../src/service.js'
import { readSettings } from '../src/settings.js'
import { placementText, withdraw } from '../src/sponsored.js'

const settings = readSettings(process.env)
const file = join(mkdtempSync(join(tmpdir(), 'agent-')), 'consent.json')
const work = async (text, tell) => tell(`Done: ${text}`)
// A busy computer may need longer than users wait.
const grace_ms = 10_000

afterEach(() => control('DELETE', 'faults', {}))
afterEach(() => control('DELETE', 'scenarios', {}))

test('a task ends with a labelled suggestion, which is reported as rendered and visible', async () => {
  const terminal = keptTerminal()
  const answer = consent()
  const showing = await runTask('coffee', { settings, answer, terminal, work, grace_ms })
  const [done, blank, label, title] = terminal.text.split('\n')
  assert.deepEqual([done, blank], ['Done: coffee', ''])
  assert.match(label, /^(Sponsored|Ad)\b.*: \S/)
  assert.match(title, /^ {2}\S/)
  assert.ok(terminal.text.includes(showing.click_url))
  await showing.watch(new AbortController().signal)
  await showing.click()
  await showing.click()
  assert.deepEqual(await beacons(answer), ['click', 'render', 'visible'])
})

test('a suggestion that a key has followed at once is not reported as visible', async () => {
  const answer = consent()
  const showing = await runTask('coffee', { settings, answer, terminal: keptTerminal(), work, grace_ms })
  await showing.watch(AbortSignal.abort())
  assert.deepEqual(await beacons(answer), ['render'])
})

test('without an answer, with a no, or into a pipe nothing is requested', async () => {
  const before = await countPlacements()
  for (const answer of [null, writeAnswer(file, false)]) {
    assert.equal(await runTask('coffee', { settings, answer, terminal: keptTerminal(), work, grace_ms }), null)
  }
  const pipe = { ...keptTerminal(), isTTY: false }
  assert.equal(await runTask('coffee', { settings, answer: consent(), terminal: pipe, work }), null)
  assert.equal(await countPlacements(), before)
})

test('an answer that cannot be read is no answer', () => {
  writeFileSync(file, '{"granted":true}')
  assert.equal(readAnswer(file), null)
  writeFileSync(file, 'yes')
  assert.equal(readAnswer(file), null)
})

test('the text of a task goes along only when it may', async () => {
  await runTask('coffee for two', { settings, answer: consent(), terminal: keptTerminal(), work, grace_ms })
  assert.equal((await lastRequest()).prompt, undefined)
  const answer = consent({ semantic_targeting: true, prompt_shared: false })
  await runTask('coffee for two', { settings, answer, terminal: keptTerminal(), work, grace_ms })
  assert.deepEqual((await lastRequest()).prompt, { topic: 'coffee' })
})

test('after a withdrawal nothing more is reported', async () => {
  const answer = consent()
  const showing = await runTask('coffee', { settings, answer, terminal: keptTerminal(), work, grace_ms })
  await withdraw(settings, answer.session_id)
  await showing.click()
  assert.deepEqual(await beacons(answer), ['render'])
})

for (const scenario of [
  'no_fill',
  'consent_denied',
  'garbled_response',
  'drop_connection',
  'unavailable',
  'rate_limited',
]) {
  test(`the task is still done: ${scenario}`, async () => {
    await control('POST', `scenarios/${scenario}`, {})
    const terminal = keptTerminal()
    await runTask('coffee', { settings, answer: consent(), terminal, work, grace_ms })
    assert.ok(terminal.text.startsWith('Done: coffee\n'))
  })
}

test('a pending decision is waited for while the work goes on, and not longer', async () => {
  await control('POST', 'scenarios/pending_then_ready', {})
  const slow = async (text, tell) => {
    await new Promise((done) => setTimeout(done, 3_500))
    tell(`Done: ${text}`)
  }
  const options = { settings, answer: consent(), terminal: keptTerminal() }
  assert.notEqual(await runTask('coffee', { ...options, work: slow }), null)
  assert.equal(await runTask('coffee', { ...options, work }), null)
})

test('a 429 is repeated only when Retry-After says when', () => {
  const date = 'Sat, 31 Jan 2026 12:00:00 GMT'
  const wait = (status, headers) => waitBeforeRetry({ status, headers: new Headers(headers) }, 1)
  assert.equal(wait(429, {}), null)
  assert.equal(wait(429, { 'retry-after': '2' }), 2_000)
  assert.equal(wait(429, { 'retry-after': 'Sat, 31 Jan 2026 12:00:03 GMT', date }), 3_000)
  assert.equal(wait(400, { 'retry-after': '2' }), null)
  assert.equal(wait(503, {}), 250)
})

test('text of an advertiser cannot steer the terminal', () => {
  const placement = { ad_label_text: 'Sponsored', sponsor_name: 'A\u001b[2JB', click_url: 'javascript:alert(1)' }
  const assets = { title: 'one\ntwo', description: '\u202eback', cta_text: 'Go' }
  const lines = placementText({ placement, decision: { assets } })
  assert.deepEqual(lines, ['Sponsored: A [2JB', '  one two', '  back', '  Go: no address'])
})

function consent(purposes) {
  writeAnswer(file, true, purposes)
  return readAnswer(file)
}

function keptTerminal() {
  return {
    isTTY: true,
    columns: 80,
    rows: 24,
    text: '',
    write(text) {
      this.text += text
    },
  }
}

/** The events of a session that the sandbox has accepted, sorted. */
async function beacons({ session_id }) {
  const { items } = await control('GET', `beacons?session_id=${session_id}&verdict=accepted`)
  return items.map(({ event }) => event).toSorted()
}

async function countPlacements() {
  return (await control('POST', 'requests/count', { method: 'POST', path: '/v1/placements' })).count
}

async function lastRequest() {
  const { items } = await control('GET', 'requests?path=/v1/placements&limit=1')
  return JSON.parse((await control('GET', `requests/${items[0].request_id}`)).request_body)
}

/** The control plane of the sandbox: the requests it received, and the faults to inject. */
async function control(method, path, body) {
  const headers = { 'content-type': 'application/json' }
  const init = body === undefined ? { method } : { method, headers, body: JSON.stringify(body) }
  return (await fetch(new URL(`/_sandbox/${path}`, settings.base_url), init)).json()
}
