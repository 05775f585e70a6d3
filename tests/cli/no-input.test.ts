import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Command } from '#cli/run/command.ts'
import { runCommand } from '#cli/run/command-line.ts'
import { keptStream, startTestCli, type TestCli, temporaryDirectory, testHost } from './test-cli.ts'

/** Returns whether a command run with these words may ask. */
async function mayAsk(words: readonly string[], stdin_is_terminal: boolean): Promise<boolean | undefined> {
  let answer: boolean | undefined
  const ask: Command = {
    name: 'ask',
    summary: 'Ask where it may',
    examples: ['ask', 'ask --no-input'],
    async run({ system }) {
      answer = system.stdin_is_terminal
      return 0
    },
  }
  const home = temporaryDirectory()
  const given = { env: { SVC_HOME: home }, cwd: home, stdin: '', stdout: keptStream(true), stderr: keptStream(true) }
  const system = { ...testHost(given), stdin_is_terminal }
  expect(await runCommand([{ name: 'ask', load: async () => ask }], () => '', ['ask', ...words], system)).toBe(0)
  return answer
}

test('a command asks on a terminal only, and never with --no-input', async () => {
  expect(await mayAsk([], true)).toBe(true)
  expect(await mayAsk(['--no-input'], true)).toBe(false)
  expect(await mayAsk([], false)).toBe(false)
})

describe('sandbox reset', () => {
  let file: TestCli
  beforeAll(async () => {
    file = await startTestCli({ database: `${temporaryDirectory()}/a.db` })
  })
  afterAll(() => file[Symbol.asyncDispose]())

  /** Runs it on a terminal where `answer` is typed. */
  async function reset(cli: TestCli, answer: string, args = '') {
    await cli.svc('placements create -q')
    const terminal = { isTerminal: true, system: { stdin_is_terminal: true }, env: { NO_COLOR: '1' } }
    const { code, stderr } = await cli.svc(`sandbox reset ${args}`, { ...terminal, stdin: answer })
    const { items } = JSON.parse((await cli.svc('placements list -o json')).stdout) as { items: unknown[] }
    return { code, stderr: stderr.replace(/Delete .*\[y\/N\] /, '?'), isEmpty: items.length === 0 }
  }

  test('of a file asks on a terminal', async () => {
    const refused = expect.stringContaining(
      '?error: Nothing was reset.\nhint: To skip the question: svc sandbox reset --yes',
    )
    for (const answer of ['\n', 'n\n', '']) {
      expect(await reset(file, answer)).toEqual({ code: 2, stderr: refused, isEmpty: false })
    }
    expect(await reset(file, 'y\n')).toEqual({ code: 0, stderr: '?', isEmpty: true })
  })

  test('does not ask with --yes, with --no-input, or in memory', async () => {
    for (const args of ['--yes', '-y', '--no-input'])
      expect(await reset(file, '', args)).toMatchObject({ code: 0, isEmpty: true })
    await using memory = await startTestCli()
    expect(await reset(memory, '')).toMatchObject({ code: 0, isEmpty: true })
  })

  test('does not ask without a terminal', async () => {
    expect(await file.svc('sandbox reset')).toEqual({ code: 0, stdout: 'Reset to the seed.\n', stderr: '' })
    expect(await file.svc('sandbox reset -o none')).toEqual({ code: 0, stdout: '', stderr: '' })
  })
})
