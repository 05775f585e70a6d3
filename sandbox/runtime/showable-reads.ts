/** Reads for a response: of a store that nodes share, only what no crash and no failover of its server takes back. */
import { StorageError, type Store } from '#store/store.ts'

/** How often a read is tried while the server changes. */
const maxReads = 3

/** @throws StorageError when the server changes again and again */
export function readShowable<Output>({ shared }: Store, read: () => Promise<Output>): Promise<Output> {
  if (shared === null) return read()
  return readAgain(shared, read)
}

async function readAgain<Output>(shared: NonNullable<Store['shared']>, read: () => Promise<Output>): Promise<Output> {
  for (let attempt = 1; attempt <= maxReads; attempt++) {
    const since = shared.changes()
    const output = await read()
    if (await shared.isShowable(since)) return output
  }
  throw new StorageError(new Error('its server has changed'), 'read', 1)
}
