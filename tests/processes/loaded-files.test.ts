/** What more command lines load than those of tests/cli/bin.test.ts. */
import { expect, test } from 'vitest'
import { loadedFiles, mostBytes, sumSize } from '#tests/cli/loaded-files.ts'
import { startTestCli } from '#tests/cli/test-cli.ts'

test.each(['sandbox -h', 'qa run --nonsense --help', 'nonsense'])(
  'svc %s loads neither the contract nor a schema',
  async (line) => {
    const files = await loadedFiles(line.split(' '))
    expect(sumSize(files)).toBeLessThan(mostBytes.help)
    expect(files.length).toBeLessThan(10)
  },
)

test.each(['placements create -o json', 'api projects.config'])(
  'svc %s, which calls a running sandbox, loads neither',
  async (line) => {
    await using cli = await startTestCli()
    expect(sumSize(await loadedFiles(line.split(' '), cli.home))).toBeLessThan(mostBytes.call)
  },
)
