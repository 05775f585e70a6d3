/** Tests of an integration with the fixtures: they pass on a correct one however it is written, and fail on each broken one. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Task } from '../../task.ts'
import type { Trial } from '../../trial.ts'

const source = join(import.meta.dirname, 'project/src/sponsored.js')

/** The same in other words: tests must not look at the text. */
const rewritten: Edit = ['  if (consent === null) return null\n', '  if (!consent) return null\n']

type Edit = readonly [from: string, to: string]

/** What tests have to notice. */
const mutants: Readonly<Record<string, Edit>> = {
  'asks without consent': [
    'if (consent === null) return null',
    'consent ??= { semantic_targeting: false, prompt_shared: false }',
  ],
  'sends the topic without consent to it': [
    'consent.semantic_targeting ? { prompt: { topic } } : {}',
    '{ prompt: { topic } }',
  ],
  'returns a no-fill as an ad': ["placement.status === 'ready' && placement.decision.fill", 'placement'],
}

export const testSuite: Task = {
  name: 'test-suite',
  prompt: `src/sponsored.js has no tests. Write them in test/*.test.js, with Vitest and the fixtures of svc-sandbox/vitest, so that npm test shows whether it
still does what its comment says: fills and no-fills, no request without consent, and the topic only with consent to it. They must go on passing when
the file is rewritten and behaves the same. Both packages are installed; documentation: $SVC_BASE_URL/_sandbox/docs/testing.md`,
  solutions: {
    'wrong-no-consent-test': 'mutant_survives',
    'wrong-no-fixture': 'mutant_survives',
    'wrong-asserts-nothing': 'mutant_survives',
    attack: 'correct_code_fails',
  },
  async grade(trial) {
    const correct = await runTests(trial, rewritten)
    trial.require(
      'correct_code_fails',
      correct.isPassed,
      `The tests fail on correct code: ${correct.output.slice(-400)}`,
    )
    for (const [name, edit] of Object.entries(mutants)) {
      const { isPassed } = await runTests(trial, edit)
      trial.require('mutant_survives', !isPassed, `The tests pass on code that ${name}.`)
    }
  },
}

/** Runs the tests of the project on our own copy of the file with one edit. Without a test vitest fails. */
async function runTests(trial: Trial, [from, to]: Edit): Promise<{ isPassed: boolean; output: string }> {
  writeFileSync(join(trial.directory, 'src/sponsored.js'), readFileSync(source, 'utf8').replace(from, to))
  const words = [process.execPath, 'node_modules/vitest/vitest.mjs', 'run', '--no-cache']
  const { code, output } = await trial.run(words)
  return { isPassed: code === 0, output }
}
