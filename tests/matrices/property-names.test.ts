/** Names that every object has, at every place of every endpoint. `tests/http/property-names.test.ts` sends a sample. */
import { expect, test } from 'vitest'
import { expectAnswers, nameFields, nameHeaders, nameParameters, names } from '#tests/reliability/property-names.ts'

test.each(names)('%s gets a response and its row of the journal, wherever it is sent', async (name) => {
  const all = [...nameParameters(name), ...nameFields(name), ...nameHeaders(name)]
  expect(all.length).toBeGreaterThan(500)
  await expectAnswers(all)
})
