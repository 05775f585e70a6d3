/** What is judged of nodes alone: that they report the same, and that what fails may be sent again. */
import { expect, test } from 'vitest'
import { createSample } from '#tests/histories/sample.ts'
import { compareStates } from './final-state.ts'
import { checkResponses } from './run.ts'

test('two nodes that report different states are found', () => {
  const { state } = createSample()
  const exported = { ...state, beacons: state.beacons.filter(({ verdict }) => verdict === 'accepted') }
  expect(compareStates(exported, state)).toEqual([])
  expect(compareStates({ ...exported, beacons: [] }, state)).toEqual([expect.stringContaining('different beacons')])
})

test('a failure that is no 503, a refusal without a mistake, and a history without a placement are found', () => {
  const { history } = createSample()
  expect(checkResponses(history)).toEqual([])
  history.operations[2]!.outcome = { kind: 'unknown', why: '500 internal' }
  history.operations[5]!.outcome = { kind: 'refused', status: 404, body: {} }
  expect(checkResponses(history)).toEqual([
    expect.stringMatching(/operation 3 .* is answered with 500/),
    expect.stringMatching(/operation 6 .*, place, is refused with 404/),
  ])
  history.operations.splice(0)
  expect(checkResponses(history)).toEqual([expect.stringContaining('there is nothing to check')])
})
