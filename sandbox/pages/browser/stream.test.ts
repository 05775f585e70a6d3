import { expect, test } from 'vitest'
import type { SandboxEvent } from '#contract/resources/events.ts'
import { eventsAfter } from './stream.ts'

const event = (seq: number): SandboxEvent => ({
  ...{ seq, type: seq === 0 ? 'sandbox.reset' : 'job.created', at_ms: 1, client_id: null, slot_id: null, data: {} },
})

test('a page gets what it does not have yet, and everything once the sandbox has started over', () => {
  const numbers = (all: number[], after: number) => eventsAfter(all.map(event), after).map(({ seq }) => seq)
  expect(numbers([4, 5, 6], 5)).toEqual([6])
  expect(numbers([4, 5], 5)).toEqual([])
  expect(numbers([0, 1, 2], 5)).toEqual([0, 1, 2])
  expect(numbers([4, 0, 1], 5)).toEqual([0, 1])
})
