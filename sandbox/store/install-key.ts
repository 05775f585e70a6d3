/** The key that asset tokens are derived from: in a file beside the database that only its owner can read. */
import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'

const length = 32

/** Reads the key of the database at `path`, or creates it. A database in memory gets a key that is never stored. */
export function installKey(path: string): Uint8Array {
  if (path === ':memory:') return randomBytes(length)
  const keyPath = `${path}.key`
  if (existsSync(keyPath)) {
    const key = Buffer.from(readFileSync(keyPath, 'utf8').trim(), 'base64url')
    if (key.length === length) return key
  }
  const key = randomBytes(length)
  writeFileSync(keyPath, `${key.toString('base64url')}\n`, { mode: 0o600 })
  chmodSync(keyPath, 0o600)
  return key
}
