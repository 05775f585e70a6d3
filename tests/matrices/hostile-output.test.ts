/** Every command with hostile text in everything that it may print. `tests/cli/printed.test.ts` tries a sample of it. */
import { expect, test } from 'vitest'
import { loadAll } from '#cli/run/command.ts'
import { commands } from '#src/program.ts'
import { walkHostileFiles, walkHostileOutput } from '#tests/cli/hostile-output.ts'
import { share } from '#tests/share.ts'

test('no text that was stored or received steers a terminal, whatever the command', async () => {
  const { cases, bytes, commands: tried, problems } = await walkHostileOutput({ ...share.steps(7), isEachTried: true })
  process.stdout.write(`hostile output: ${cases} cases of ${tried.size} commands, ${bytes} bytes looked at\n`)
  expect(problems).toEqual([])
  expect([...tried].sort()).toEqual([...new Set((await loadAll(commands)).map(({ path }) => path))].sort())
  expect(cases).toBeGreaterThan(share.least(500))
})

test('nor does text of files and arguments', async () => {
  const { cases, bytes, problems } = await walkHostileFiles(share.steps(1))
  process.stdout.write(`hostile files and arguments: ${cases} cases, ${bytes} bytes looked at\n`)
  expect(problems).toEqual([])
  expect(cases).toBeGreaterThan(share.least(500))
})
