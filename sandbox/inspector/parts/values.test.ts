import { expect, test } from 'vitest'
import { lag } from './Values.tsx'

test('a beacon for an event in the future was early, and has no negative age', () => {
  expect([lag(40), lag(0), lag(-2924)]).toEqual(['40 ms', '0 ms', '2.9 s early'])
})
