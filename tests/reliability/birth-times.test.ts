/** A file system without times of birth: the time of the last change stands for them, and every write moves it. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { startSandbox } from '../../sandbox/index.ts'
import { temporaryDirectory } from '../temporary.ts'

const lockFiles = vi.hoisted(() => ({ areReplaced: false, looks: 0 }))

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>()
  const statSync = (path: string, options: { bigint?: boolean }) => {
    const stat = fs.statSync(path, options as { bigint: true; throwIfNoEntry: false })
    if (stat === undefined || options?.bigint !== true) return stat
    const ino = lockFiles.areReplaced ? BigInt(++lockFiles.looks) : stat.ino
    return Object.assign(stat, { ino, birthtimeNs: stat.ctimeNs + BigInt(++lockFiles.looks) })
  }
  return { ...fs, statSync, default: { ...fs, statSync } }
})

test('a sandbox starts on its database there, one process at a time', async () => {
  const directory = temporaryDirectory()
  const database = join(directory, 'sandbox.db')
  const sandbox = await startSandbox({ database })
  await expect(startSandbox({ database })).rejects.toMatchObject({ code: 'database_in_use' })
  await sandbox.close()
  expect(readdirSync(directory)).toEqual(['sandbox.db', 'sandbox.db.key'])
})

test('where the lock file is another one at each look, the start ends with an error', async () => {
  lockFiles.areReplaced = true
  const database = join(temporaryDirectory(), 'sandbox.db')
  await expect(startSandbox({ database })).rejects.toMatchObject({
    code: 'database_in_use',
    message: expect.stringContaining('replaces it again and again'),
  })
})
