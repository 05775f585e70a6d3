/** No key, no token and no prompt text stays anywhere, whatever the place of a request it was put in: the whole matrix. */
import { expect, test } from 'vitest'
import { leaks } from '#tests/reliability/secret-cases.ts'
import { share } from '#tests/share.ts'

test('no secret and no prompt text is stored or sent on, from any place of any request', async () => {
  const { tried, found } = await leaks(share.of, share.steps(1).first)
  console.log(`${tried} cases of secrets and prompt text tried`)
  expect(tried).toBeGreaterThan(100)
  expect(found).toEqual([])
})
