/** Every input that a coverage-guided run has kept, through its target again, without the fuzzer. */
import { expect, test } from 'vitest'
import { listTargets, loadTarget, readCorpus } from './corpus.ts'
import { runTarget } from './target.ts'

test.each(listTargets())('%s: every input that was kept is read, or refused in words', async (name) => {
  const target = await loadTarget(name)
  const inputs = readCorpus(name)
  const finds: string[] = []
  for (const { bytes } of inputs) {
    try {
      await runTarget(target, bytes)
    } catch (error) {
      finds.push(`${JSON.stringify(bytes.toString('latin1').slice(0, 200))}: ${String(error)}`)
    }
  }
  expect(finds).toEqual([])
  expect(inputs.length).toBeGreaterThan(3)
})
