/** Exports and imports of many parts, whose memory is used again. */
import { setImmediate } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import Database from 'better-sqlite3'
import { request } from 'undici'
import { expect, test } from 'vitest'
import { addBeacons } from '#tests/reliability/large-state.ts'
import { fill, folder, stage } from '../stage.ts'

test('a file of many parts arrives whole, read at once or slowly, and can be imported', async () => {
  using at = folder()
  const database = `${at.path}/sandbox.db`
  {
    await using on = await stage({ database })
    await fill(on.api)
  }
  addBeacons(database, 10_000)
  await using on = await stage({ database })
  const address = `${on.sandbox.url}/_sandbox/export`
  const packed = Buffer.from(await (await request(address)).body.arrayBuffer())
  const unpacked = gunzipSync(packed)
  expect(unpacked.length).toBeGreaterThan(8 * 256 * 1_024)
  const db = new Database(unpacked)
  expect(db.pragma('integrity_check', { simple: true })).toBe('ok')
  db.close()
  const slow: Uint8Array[] = []
  for await (const part of (await request(address)).body) {
    slow.push(part)
    await setImmediate()
  }
  expect(gunzipSync(Buffer.concat(slow)).equals(unpacked)).toBe(true)
  const imported = await request(`${on.sandbox.url}/_sandbox/import`, {
    method: 'POST',
    headers: { 'content-type': 'application/gzip' },
    body: packed,
  })
  expect(imported.statusCode).toBe(200)
})
