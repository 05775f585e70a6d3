/** A test that fails, for the tests of how scripts end: vitest.config.ts makes it the only one of a suite on demand. */
import { expect, test } from 'vitest'

test('one is two', () => {
  expect(1).toBe(2)
})
