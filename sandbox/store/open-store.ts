/** Opens the store that the options name: a SQLite file, memory, or a PostgreSQL database that nodes share. */

import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { createFolder } from '../../src/foundation/file-system.ts'
import { unwritable } from '../sandbox-error.ts'
import { openSqliteStore } from './sqlite/index.ts'
import { explain } from './sqlite/open.ts'
import type { Store, StoreOptions } from './store.ts'

export type StoreAddress =
  /** A file, or `:memory:`. */
  { kind: 'file'; path: string } | { kind: 'postgres'; url: string; namespace: string | null; isSeeded: boolean }

interface OpenedStore {
  store: Store
  /** What asset tokens are derived from. */
  signing_key: Uint8Array
}

/** @throws SandboxError */
export async function openStore(address: StoreAddress, options: StoreOptions): Promise<OpenedStore> {
  if (address.kind === 'postgres') {
    // Loaded only here: a start with a file pays nothing for it.
    const { openPostgresStore } = await import('./postgres/index.ts')
    return openPostgresStore({ ...options, ...address })
  }
  const { path } = address
  const folder = dirname(path)
  try {
    if (path !== ':memory:') createFolder(folder, 0o700)
  } catch (error) {
    throw unwritable(folder, error)
  }
  const store = openSqliteStore({ ...options, path })
  try {
    // Created once the database has been accepted: a refused start leaves no key beside it.
    return { store, signing_key: installKey(path) }
  } catch (error) {
    await store.close()
    throw unwritable(`${path}.key`, error)
  }
}

const installKey_bytes = 32

/**
 * Reads the key that asset tokens are derived from, or creates it: a file beside the database that only its owner can read. A
 * database in memory gets a key that is never stored.
 */
function installKey(path: string): Uint8Array {
  if (path === ':memory:') return randomBytes(installKey_bytes)
  const keyPath = `${path}.key`
  if (existsSync(keyPath)) {
    const key = Buffer.from(readFileSync(keyPath, 'utf8').trim(), 'base64url')
    if (key.length === installKey_bytes) return key
  }
  const key = randomBytes(installKey_bytes)
  writeFileSync(keyPath, `${key.toString('base64url')}\n`, { mode: 0o600 })
  chmodSync(keyPath, 0o600)
  return key
}

/** Returns why what a store holds cannot be read, as a SandboxError; what has another cause unchanged. */
export async function explainStore(address: StoreAddress, store: Store, error: unknown): Promise<unknown> {
  if (address.kind === 'file') return explain(error, address.path)
  const postgres = await import('./postgres/open.ts')
  return postgres.explain(error, store.location)
}

/** Replaces the admin token of a shared store, for the holder of its URL. @throws SandboxError */
export async function replaceAdminToken(
  url: string,
  at_ms: number,
  createToken: () => { text: string; hash: Uint8Array },
): Promise<{ name: string; token: string }> {
  const [{ connectDatabase, explain }, { replaceAdmin }] = await Promise.all([
    import('./postgres/open.ts'),
    import('./postgres/sharing.ts'),
  ])
  const database = await connectDatabase({ url, namespace: null, report: () => {} })
  try {
    return await replaceAdmin(database, at_ms, createToken)
  } catch (error) {
    throw explain(error, database.location)
  } finally {
    await database.close()
  }
}
