import { afterAll, beforeAll, expect, test } from 'vitest'
import { contractListing } from '#contract/listing.ts'
import { suiteOfEntry, suiteText } from '#inspector/views/requests/qa-suite.ts'
import { expand } from '#qa/run/plan.ts'
import { loadSuite } from '#qa/suite/load.ts'
import { beacon, fill, key, origin, publishable, type Stage, stage } from '#tests/http/stage.ts'
import { runCases } from '#tests/mutations/suites.ts'

const { endpoints } = contractListing()
let here: Stage
beforeAll(async () => {
  here = await stage()
})
afterAll(() => here?.[Symbol.asyncDispose]())

/** Saves the newest request of the journal as a suite, and runs that. */
async function saveAndRun(): Promise<{ text: string; outcomes: string[]; failures: string }> {
  const { items } = (await here.api.accept('requests.list', { query: { limit: '1' } })).body
  const entry = (await here.api.accept('requests.show', { params: { request_id: items[0]!.request_id } })).body
  const text = await suiteText(suiteOfEntry(entry, endpoints))
  const cases = expand([loadSuite(text, 'saved.yaml', '.')])
  const keys = { secret_key: key, publishable_key: publishable }
  const result = await runCases(cases, { url: here.sandbox.url, keys }, { bail: false })
  const failures = JSON.stringify(result.cases.filter(({ outcome }) => outcome !== 'passed'))
  return { text, outcomes: result.cases.map(({ outcome }) => outcome), failures }
}

const body = { client_id: 'proj_demo', session_id: 'sess_1', job_type: 'chat' }
const requests: [name: string, send: () => Promise<unknown>, contains: string][] = [
  [
    'a placement with prompt text',
    () =>
      here.api.accept('placements.create', { as: key, body: { ...body, prompt: { topic: 'coffee', text: 'secret' } } }),
    '# prompt.text is left out',
  ],
  [
    'a refused placement',
    () => here.api.refuse('placements.create', { as: key, body: { ...body, jobs: 1 } }),
    'field_unknown',
  ],
  [
    'texts that look like variables',
    () => here.api.accept('placements.create', { as: key, body: { ...body, prompt: { topic: '{{secret_key}}' } } }),
    '{{brace}}{secret_key}}',
  ],
  ['a refused key', () => here.api.refuse('placements.create', { as: 'sk_test_nobody', body }), 'sk_test_unknown'],
  [
    'an activation',
    () => here.api.accept('browser.activate', { origin, body: { publishable_key: publishable } }),
    '{{publishable_key}}',
  ],
  [
    'a beacon',
    async () => {
      const filled = await fill(here.api)
      return here.api.accept('beacons.send', { as: key, body: beacon(here.clock, filled, 'render') })
    },
    'frame: fill',
  ],
  [
    'a poll',
    async () => {
      const { slot_id } = await fill(here.api)
      return here.api.accept('decisions.get', { as: key, params: { slot_id }, query: { wait_ms: '0' } })
    },
    'slot_id: "{{fill.body.slot_id}}"',
  ],
]

test.each(requests)('%s of the journal is saved as a suite that passes', async (_name, send, contains) => {
  await send()
  const { text, outcomes, failures } = await saveAndRun()
  expect(text).toContain(contains)
  expect(failures).toBe('[]')
  expect(outcomes).toEqual(['passed'])
})

test('a suite fails where the sandbox responds differently', async () => {
  await here.api.refuse('placements.create', { as: key, body: { ...body, jobs: 1 } })
  const { items } = (await here.api.accept('requests.list', { query: { limit: '1' } })).body
  const entry = (await here.api.accept('requests.show', { params: { request_id: items[0]!.request_id } })).body
  const saved = suiteOfEntry({ ...entry, status: 200, reason_code: null }, endpoints)
  const cases = expand([loadSuite(await suiteText(saved), 'saved.yaml', '.')])
  const keys = { secret_key: key, publishable_key: publishable }
  const result = await runCases(cases, { url: here.sandbox.url, keys }, { bail: false })
  expect(result.cases.map(({ outcome }) => outcome)).toEqual(['failed'])
})
