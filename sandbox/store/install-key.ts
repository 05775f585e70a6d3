/** The key that asset tokens are derived from: beside the database, never in it, readable by its owner only. */
import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'

const length = 32

/** Reads the key of the database at `path`, or makes it. A database in memory gets one that is gone with it. */
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
