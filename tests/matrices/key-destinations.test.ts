/** Every way of a key. `tests/cli/settings.test.ts` tries a sample of it. */
import { expect, test } from 'vitest'
import { walkKeyDestinations } from '#tests/cli/key-destinations.ts'
import { share } from '#tests/share.ts'

test('a key reaches no service that did not come from the same source or was not named', async () => {
  const { cases, sent, refused, problems } = await walkKeyDestinations(share.steps(1))
  process.stdout.write(`key destinations: ${cases} cases, sent in ${sent}, refused in ${refused}\n`)
  expect(problems).toEqual([])
  expect(cases).toBeGreaterThan(share.least(1_000))
  expect(Math.min(sent, refused)).toBeGreaterThan(share.least(200))
})
