/** A file system without times of birth: the time of the last change stands for them, and every write moves it. */
import fs, { readdirSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startSandbox } from '#sandbox/index.ts'
import { temporaryDirectory } from '#tests/temporary.ts'

const lockFiles = { areReplaced: false, areStable: false, looks: 0 }
const { statSync } = fs

function replaceStat(stat: unknown): void {
  Object.assign(fs, { statSync: stat })
  // Also for the modules that have imported it.
  syncBuiltinESMExports()
}

beforeAll(() =>
  replaceStat((path: string, options: { bigint?: true } | undefined) => {
    const stat = statSync(path, options as { bigint: true; throwIfNoEntry: false })
    if (stat === undefined || options?.bigint !== true) return stat
    if (lockFiles.areStable) {
      // Only a write moves the time, later than the clock of the file system can tell.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
      return Object.assign(stat, { birthtimeNs: stat.ctimeNs })
    }
    const ino = lockFiles.areReplaced ? BigInt(++lockFiles.looks) : stat.ino
    return Object.assign(stat, { ino, birthtimeNs: stat.ctimeNs + BigInt(++lockFiles.looks) })
  }),
)
afterAll(() => replaceStat(statSync))

test('a sandbox starts on its database there, one process at a time', async () => {
  const directory = temporaryDirectory()
  const database = join(directory, 'sandbox.db')
  const sandbox = await startSandbox({ database })
  await expect(startSandbox({ database })).rejects.toMatchObject({ code: 'database_in_use' })
  await sandbox.close()
  expect(readdirSync(directory)).toEqual(['sandbox.db', 'sandbox.db.key'])
})

test('a start that finds its own number in the lock file does not take itself for a sandbox that was killed', async () => {
  lockFiles.areStable = true
  try {
    const database = join(temporaryDirectory(), 'sandbox.db')
    await (await startSandbox({ database })).close()
    await using again = await startSandbox({ database })
    expect(again.warnings).toEqual([])
  } finally {
    lockFiles.areStable = false
  }
})

test('where the lock file is another one at each look, the start ends with an error', async () => {
  lockFiles.areReplaced = true
  const database = join(temporaryDirectory(), 'sandbox.db')
  await expect(startSandbox({ database })).rejects.toMatchObject({
    code: 'database_in_use',
    message: expect.stringContaining('replaces it again and again'),
  })
})
