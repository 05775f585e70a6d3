/** Whole states of the store: saved under a name, restored, given away, taken in. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type Database from 'better-sqlite3'
import type { ReceivedState, Refusal, Store } from '../store.ts'
import { databaseCopies, problemOf, workingCopy } from './copies.ts'
import { migrations } from './migrations.ts'
import { OpenError, openDatabase } from './open.ts'
import { replaceAll, schemaOf } from './replace.ts'

export interface StateParts {
  db: Database.Database
  path: string
  pid: number
  /** Runs work while no transaction is open. */
  runExclusive<Result>(work: () => Result): Result
  /** Opens another database the way this one was opened. */
  open(path: string): Store
  /** Within the transaction that has replaced every row: seeds, forgets what is kept at hand, notes the event. */
  replaced(at_ms: number): void
  /** After its commit. */
  committed(): void
  /** After a failure, with everything as it was. */
  failed(): void
}

type States = Pick<
  Store,
  'saveSnapshot' | 'listSnapshots' | 'deleteSnapshot' | 'restoreSnapshot' | 'exportState' | 'receiveState'
>

export function stateMethods(parts: StateParts): States & { close(): void } {
  const { db, runExclusive } = parts
  const copies = databaseCopies(db, parts.path, runExclusive)

  const replace = (path: string, at_ms: number) =>
    runExclusive(() => {
      try {
        replaceAll(db, path, () => parts.replaced(at_ms))
      } catch (error) {
        parts.failed()
        throw error
      }
      parts.committed()
    })

  return {
    async saveSnapshot(name, mayReplace) {
      if (!mayReplace && copies.find(name) !== null) return null
      const written = await copies.write()
      if (!copies.keep(written, name, mayReplace)) {
        copies.remove(written)
        return null
      }
      const { path: _, ...row } = copies.find(name)!
      return row
    },
    listSnapshots: async () => copies.list(),
    deleteSnapshot: async (name) => copies.delete(name),

    async restoreSnapshot(name, at_ms) {
      const snapshot = copies.find(name)
      if (snapshot === null) return 'missing'
      const refusal = problemOf(snapshot.path, 'quick_check')
      if (refusal !== null) return refusal
      const { path: _, ...row } = snapshot
      if (snapshot.schema_version === migrations.length) {
        replace(snapshot.path, at_ms)
        return { status: 'restored', snapshot: row }
      }
      const working = workingCopy(copies, snapshot.path)
      try {
        openDatabase(working.path, parts.pid).close()
        replace(working.path, at_ms)
        return { status: 'restored', snapshot: row }
      } finally {
        working.remove()
      }
    },

    async exportState() {
      const path = await copies.write()
      return { path, remove: () => copies.remove(path) }
    },

    async receiveState(bytes) {
      const folder = copies.folder()
      const path = join(folder, 'state.db')
      try {
        await writeFile(path, bytes, { mode: 0o600 })
        const received = openReceived(path, folder)
        if (received.status === 'refused') copies.remove(folder)
        return received
      } catch (error) {
        copies.remove(folder)
        throw error
      }
    },

    close: copies.close,
  }

  function openReceived(path: string, folder: string): ReceivedState | Refusal {
    const refusal = problemOf(path, 'integrity_check')
    if (refusal !== null) return refusal
    try {
      const { db: migrated, close } = openDatabase(path, parts.pid)
      const isSame = schemaOf(migrated) === schemaOf(db)
      close()
      if (!isSame) return { status: 'refused', reason: 'invalid', problem: 'its tables are not those of a sandbox' }
      const store = parts.open(path)
      return {
        status: 'received',
        store,
        async replace(at_ms) {
          await store.close()
          replace(path, at_ms)
        },
        async discard() {
          await store.close()
          copies.remove(folder)
        },
      }
    } catch (error) {
      if (error instanceof OpenError) return { status: 'refused', reason: 'invalid', problem: error.message }
      throw error
    }
  }
}
