import { expect, test } from 'vitest'
import { lag } from './times.ts'

test('a beacon for an event in the future was early, and has no negative age', () => {
  expect([lag(40), lag(0), lag(-2924)]).toEqual(['40 ms', '0 ms', '-2.9 s'])
  expect([lag(600_000), lag(-7_300_000)]).toEqual(['10 min', '-2 h'])
})

test('a time in seconds that is read as milliseconds was long ago, in few characters', () => {
  expect(lag(1_795_647_113_692 - 1_795_647_113)).toBe('20762 d')
})
