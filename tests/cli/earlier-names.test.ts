/** The commands of the version before: each is still there, or says what it is called now. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadAll } from '#cli/run/command.ts'
import { describeRenamed, keptCommands, renamedCommands } from '#cli/run/renamed-commands.ts'
import { commands } from '#src/program.ts'
import { svc, temporaryDirectory } from './test-cli.ts'

const earlier = readFileSync(join(import.meta.dirname, 'earlier-names.txt'), 'utf8')
  .trim()
  .split('\n')
const paths = new Set((await loadAll(commands)).map(({ path }) => path))
const env = { SVC_HOME: temporaryDirectory() }

test('each of the 121 is a command, or in the table, which has no other', () => {
  expect(earlier).toHaveLength(121)
  const gone = earlier.filter((name) => !paths.has(name))
  expect(gone.toSorted()).toEqual([...Object.keys(renamedCommands), ...Object.keys(keptCommands)].toSorted())
})

test.each(Object.entries(renamedCommands))('svc %s is refused in one line that says %s', async (name, now) => {
  for (const words of [name, `${name} word --flag`, `-o text ${name} --flag`]) {
    const { code, stdout, stderr } = await svc(words, { env })
    expect([words, code, stdout, stderr]).toEqual([words, 2, '', `error: svc ${name} is now ${now}.\n`])
  }
})

test('names that scripts call run as before, with a note', async () => {
  for (const [name, now] of [...Object.entries(keptCommands), ['bundle slot_1', 'svc bundle create slot_1'] as const]) {
    const help = await svc(`${name} --help`, { env })
    expect([name, help.code, help.stdout]).toEqual([name, 0, (await svc(`${now.slice(4)} --help`, { env })).stdout])
  }
  const noSandbox = { ...env, SVC_BASE_URL: 'http://127.0.0.1:9' }
  const { code, stderr } = await svc('billing reconcile nothing.csv', { env: noSandbox })
  expect([code, stderr.split('\n')[0]]).toEqual([2, 'svc billing reconcile is now svc beacons reconcile'])
  expect((await svc('bundle slot_1 -q', { env: noSandbox })).stderr).not.toContain('is now')
})

test('what the table says is a command that is there, with its flags', async () => {
  const { parseCommandLine } = await import('#cli/run/command-line.ts')
  for (const now of [...Object.values(renamedCommands), ...Object.values(keptCommands)]) {
    if (now.startsWith('curl ')) continue
    const words = now.split(' ').slice(1)
    const parsed = await parseCommandLine(commands, words)
    const isMissingArgument = parsed.kind === 'invalid' && parsed.error.code === 'missing_argument'
    expect([now, isMissingArgument || parsed.kind]).toEqual([now, isMissingArgument || 'command'])
  }
})

test('a name that goes on, or a group that is there, is not refused', () => {
  expect(describeRenamed(['healthy', 'ready'])).toBeNull()
  expect(describeRenamed(['sandbox', 'status'])).toBeNull()
})

test('the first level has at most 24 names', () => {
  expect(commands.length).toBeLessThanOrEqual(24)
})
