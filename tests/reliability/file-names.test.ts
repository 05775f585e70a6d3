/** One database under several names, and who may read its files. */
import { chmodSync, existsSync, linkSync, mkdirSync, readdirSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { startSandbox } from '#sandbox/index.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { startChild } from './child.ts'

const refusal = (database: string) =>
  startSandbox({ database }).then(
    async (sandbox) => {
      await sandbox.close()
      return null
    },
    (error: { code: string; message: string }) => error,
  )

describe('a database that another sandbox uses', () => {
  test('is refused under a symbolic link, in the same process and in another', async () => {
    const folder = temporaryDirectory()
    const [database, link, dangling] = ['sandbox.db', 'link.db', 'dangling.db'].map((name) => join(folder, name))
    symlinkSync(database!, dangling!)
    const owner = await startChild({ database: dangling! })
    symlinkSync('sandbox.db', link!)
    mkdirSync(join(folder, 'below'))
    symlinkSync(folder, join(folder, 'below/up'))
    try {
      for (const name of [database!, link!, dangling!, join(folder, 'below/up/link.db')]) {
        expect(await refusal(name)).toMatchObject({
          code: 'database_in_use',
          message: expect.stringContaining(`pid ${owner.pid}`),
        })
      }
      await using _same = await startSandbox({ database: join(folder, 'same.db') })
      symlinkSync('same.db', join(folder, 'other.db'))
      expect(await refusal(join(folder, 'other.db'))).toMatchObject({ code: 'database_in_use' })
    } finally {
      await owner.close()
    }
    expect(await refusal(link!)).toBeNull()
    // Lock, key and snapshots of every name are beside the one file.
    expect(
      readdirSync(folder)
        .filter((name) => /^(link|dangling)/.test(name))
        .toSorted(),
    ).toEqual(['dangling.db', 'link.db'])
    expect(existsSync(`${database}.key`)).toBe(true)
  })

  test('is refused under a hard link, in the same process and in another', async () => {
    const folder = temporaryDirectory()
    const [database, hard] = ['sandbox.db', 'hard.db'].map((name) => join(folder, name)) as [string, string]
    const owner = await startChild({ database })
    linkSync(database, hard)
    try {
      expect(await refusal(hard)).toMatchObject({
        code: 'database_in_use',
        message: `${hard} is in use by another sandbox, under another name of the same file.`,
      })
      expect(existsSync(`${hard}.lock`)).toBe(false)
      expect((await fetch(`${owner.url}/_sandbox/evidence/verify`)).status).toBe(200)
    } finally {
      await owner.close()
    }
    expect(await refusal(hard)).toBeNull()
    await using _same = await startSandbox({ database })
    expect(await refusal(hard)).toMatchObject({ code: 'database_in_use' })
  })
})

describe('only the owner may read', () => {
  test('database, log, key, snapshots, and the folder that is made for them, whatever the umask', async () => {
    const before = process.umask(0)
    try {
      const folder = join(temporaryDirectory(), 'made')
      const database = join(folder, 'sandbox.db')
      await using sandbox = await startSandbox({ database })
      await fetch(`${sandbox.url}/_sandbox/snapshots/one`, { method: 'POST' })
      expect(modesIn(folder)).toEqual({
        '.': '700',
        'sandbox.db': '600',
        'sandbox.db-shm': '600',
        'sandbox.db-wal': '600',
        'sandbox.db.key': '600',
        'sandbox.db.lock': '600',
        'sandbox.db.snapshots': '700',
        'sandbox.db.snapshots/snapshot-one.db': '600',
      })
    } finally {
      process.umask(before)
    }
  })

  test('a database that an earlier version made for all', async () => {
    const folder = temporaryDirectory()
    const database = join(folder, 'sandbox.db')
    await (await startSandbox({ database })).close()
    for (const file of [database, `${database}.key`]) chmodSync(file, 0o664)
    await using _sandbox = await startSandbox({ database })
    const log = { 'sandbox.db-wal': '600', 'sandbox.db-shm': '600' }
    expect(modesIn(folder)).toMatchObject({ 'sandbox.db': '600', 'sandbox.db.key': '600', ...log })
  })
})

test('a start that is refused leaves no empty database', async () => {
  const folder = temporaryDirectory()
  const database = join(folder, 'new.db')
  mkdirSync(`${database}-wal`)
  expect(await refusal(database)).not.toBeNull()
  expect(readdirSync(folder).toSorted()).toEqual(['new.db-wal'])
})

function modesIn(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true }).map(String)
  const modes = ['.', ...names].map((name) => [name, (statSync(join(folder, name)).mode & 0o777).toString(8)])
  return Object.fromEntries(modes)
}
