import { expect, test } from 'vitest'
import { lag } from './Values.tsx'

test('a beacon of an event that lies ahead was early, and has no negative age', () => {
  expect([lag(40), lag(0), lag(-2924)]).toEqual(['40 ms', '0 ms', '2.9 s early'])
})
