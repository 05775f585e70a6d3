/**
 * Every command with answers that no service of the contract gives: each ends with a message, none as a bug of svc.
 * `tests/cli/exit-codes.test.ts` tries a sample.
 */
import { expect, test } from 'vitest'
import { walkOddAnswers } from '#tests/cli/odd-answers.ts'
import { share } from '#tests/share.ts'

test('an answer off the contract ends in a message that names what was off', async () => {
  const { cases, commands, problems } = await walkOddAnswers(share.steps(9))
  process.stdout.write(`odd answers: ${cases} cases of ${commands.size} commands\n`)
  expect(problems).toEqual([])
  expect(cases).toBeGreaterThan(share.least(900))
})
