import { expect, test } from 'vitest'
import type { Command } from '../../src/cli/run/command.ts'
import { runCommand } from '../../src/cli/run/run-command.ts'
import { keptStream, temporaryDirectory, testHost } from './test-cli.ts'

/** Returns whether a command run with these words may ask. */
async function mayAsk(words: readonly string[], stdin_is_terminal: boolean): Promise<boolean | undefined> {
  let answer: boolean | undefined
  const ask: Command = {
    name: 'ask',
    summary: 'Ask where it may',
    examples: ['ask', 'ask --no-input'],
    async run({ host }) {
      answer = host.stdin_is_terminal
      return 0
    },
  }
  const home = temporaryDirectory()
  const given = { env: { SVC_HOME: home }, cwd: home, stdin: '', stdout: keptStream(true), stderr: keptStream(true) }
  const host = { ...testHost(given), stdin_is_terminal }
  expect(await runCommand([{ name: 'ask', load: async () => ask }], () => '', ['ask', ...words], host)).toBe(0)
  return answer
}

test('a command asks on a terminal only, and never with --no-input', async () => {
  expect(await mayAsk([], true)).toBe(true)
  expect(await mayAsk(['--no-input'], true)).toBe(false)
  expect(await mayAsk([], false)).toBe(false)
})
