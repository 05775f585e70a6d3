/** Fields in the wrong place of a job, and what is kept of those that are ignored. What jobs mean is in the shipped suite `jobs`. */
import { expect, test } from 'vitest'
import { asked, key, stage } from './stage.ts'

const browser = { contract_version: 'csl_wrapper_ingress_create/v1', job: { job_type: 'chat' } }

test('a field of the canonical form is refused with its place; other unknown fields are ignored with a warning', async () => {
  await using on = await stage()
  const placed = { session_id: 'context.chat_session_id', overrides: /slot_config/, client_id: 'context.client_id' }
  for (const [name, place] of Object.entries(placed)) {
    const body = { ...browser, colour: 'x', [name]: 'x' }
    const { fields, reason_code } = (await on.api.refuse('jobs.create', { as: key, body })).body
    const expected = typeof place === 'string' ? place : expect.stringMatching(place)
    expect([reason_code, fields]).toEqual([
      'field_unknown',
      [{ path: name, message: 'is in the wrong place', expected }],
    ])
  }
  const unknown = { ...browser, colour: 'x', job: { tone: 1 }, slot_config: { strictness: 'high' } }
  const { body, warnings } = await on.api.accept('jobs.create', { as: key, body: unknown })
  expect(warnings).toEqual(['fields_ignored', 'client_id_from_key'])
  const { text } = await on.api.accept('requests.show', { params: { request_id: body.request_id } })
  expect(text).not.toContain('strictness')
  const wrong = { ...unknown, job: { tone: 1, slots_requested: 'two' } }
  const refused = await on.api.refuse('jobs.create', { as: key, body: wrong })
  expect(refused.body.fields.map(({ path }) => path)).toEqual(['job.slots_requested'])
})

test('contract_version in a canonical body is named, not the fields of the other form', async () => {
  await using on = await stage()
  const body = { contract_version: 'a/v1', ...asked() }
  const { fields } = (await on.api.refuse('jobs.create', { as: key, body })).body
  expect(fields).toMatchObject([{ path: 'contract_version', message: 'is in the wrong place' }])
})
