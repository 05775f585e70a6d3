import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PlacementRequest } from '#contract/resources/placements.ts'
import {
  choices,
  defaultState,
  findProblems,
  type PlaygroundState,
  placementBody,
  readState,
  writeState,
} from './state.ts'

const open = { client_id: 'proj_demo', session_id: 'playground-1' }

const anyState = fc
  .record({
    ...Object.fromEntries(
      Object.entries(choices).map(([name, values]) => [name, fc.constantFrom(...values.map(([value]) => value))]),
    ),
    topic: fc.string(),
    text: fc.string({ unit: 'grapheme' }),
    session: fc.string(),
    overrides: fc.string(),
    scenario: fc.string(),
    max_width: fc.nat().map(String),
  })
  .map((some) => ({ ...defaultState, ...some }) as PlaygroundState)

test('any state is a link that reads as the same state', () => {
  fc.assert(
    fc.property(anyState, (state) => {
      expect(readState(writeState(state))).toEqual(state)
    }),
  )
})

test('the default state needs no query, and what is unknown is the default', () => {
  expect(writeState(defaultState)).toBe('')
  expect(readState('?job_type=poem&format=&surprise=1')).toEqual(defaultState)
})

test('every combination of choices is a request of the contract', () => {
  for (const [format] of choices.format) {
    for (const [template] of choices.template) {
      for (const [consent] of choices.consent) {
        const state = { ...defaultState, format, template, consent, outcome: 'no_fill' as const, max_width: '300' }
        expect(() => PlacementRequest.parse(placementBody(state, open))).not.toThrow()
      }
    }
  }
})

test('fields are left out where the sandbox decides', () => {
  expect(placementBody({ ...defaultState, topic: '', consent: 'none' }, open)).toEqual({ ...open, job_type: 'chat' })
})

test('overrides are added, and win over the choices', () => {
  const state = { ...defaultState, format: 'banner' as const, overrides: '{"bidfloor":2,"allowed_formats":["clip"]}' }
  expect(placementBody(state, open).overrides).toEqual({ allowed_formats: ['clip'], bidfloor: 2 })
})

test('texts that are not numbers or objects are reported', () => {
  const state = { ...defaultState, max_width: '12px', overrides: '[1]' }
  expect(findProblems(state).map(({ field }) => field)).toEqual(['max_width', 'overrides'])
  expect(findProblems({ ...defaultState, max_width: '12', overrides: '{}' })).toEqual([])
})
