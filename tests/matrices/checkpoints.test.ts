/** Logs of many megabytes are copied by a thread. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test, vi } from 'vitest'
import { backgroundCheckpoints } from '#store/sqlite/file/write-ahead-log.ts'
import { temporaryDirectory } from '#tests/temporary.ts'

test('a whole state in the log is copied by the thread alone, the short rest of a long log where the commits are', async () => {
  const path = join(temporaryDirectory(), 'log.db')
  const db = new Database(path)
  db.pragma('journal_mode = WAL')
  db.exec('CREATE TABLE one (bytes)')
  const writer = new Database(path)
  writer.pragma('wal_autocheckpoint = 0')
  const writePages = (pages: number) => writer.prepare('INSERT INTO one VALUES (zeroblob(?))').run(pages * 4_096)
  const checkpoints = backgroundCheckpoints(db, path, (error) => expect.fail(String(error)))
  const pragma = vi.spyOn(db, 'pragma')
  const size = () => statSync(path).size
  for (let turn = 1; turn <= 2; turn++) {
    writePages(7_000)
    checkpoints.committed(7_000)
    await expect.poll(size).toBeGreaterThan(turn * 7_000 * 4_096)
    // The thread has copied the log; its message follows.
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(pragma.mock.calls).toEqual([])
  }
  const short = () => {
    checkpoints.committed(1)
    return pragma.mock.calls
  }
  await expect.poll(short).toEqual([['wal_checkpoint(PASSIVE)']])
  await checkpoints.close()
  writer.close()
  db.close()
})
