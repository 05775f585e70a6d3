import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { encodeId } from '#contract/ids.ts'
import { beaconEvents } from '#contract/resources/beacons.ts'
import { beaconEntry } from '#contract/resources/evidence.ts'
import { entryTexts, keepAssetToken, type StoredEntry, selectEntries, toStoredText } from './entries.ts'
import { openDatabase } from './file/open.ts'

const digest = (text: string) => createHash('sha256').update(text).digest('base64url')
const id = fc.integer({ min: 1, max: 2 ** 52 })
const time = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER })
/** What the schemas permit, and more: SQLite stores any well-formed text. */
const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 40 })
const json = fc.dictionary(fc.string({ maxLength: 5 }), fc.oneof(fc.double({ noNaN: true }), text, fc.boolean()))

const history = fc.record({
  ...{ seq: id, slot: id, beacon: id, beacon_id: text, body_sha256: text, client_id: text },
  event: fc.constantFrom(...beaconEvents),
  ...{ occurred_at_ms: time, received_at_ms: time, consent_revision: fc.integer({ min: 1, max: 2 ** 31 }) },
  measurements: fc.option(json),
  extras: json,
  token: fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes)),
  ...{ isOther: fc.boolean(), isReplaced: fc.boolean() },
})

test('the text of every beacon entry is what was recorded, also when the asset token was another, or is replaced', () => {
  const { db, close } = openDatabase(':memory:', 1)
  const insert = {
    project: db.prepare("INSERT INTO project VALUES (1, ?, 1, 1, '{}', NULL)"),
    slot: db.prepare('INSERT INTO slot (id, job_id, due_at_ms, asset_token_hash, consent) VALUES (?, 1, 1, ?, ?)'),
    beacon: db.prepare('INSERT INTO beacon VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)'),
    entry: db.prepare("INSERT INTO evidence VALUES (NULL, 1, ?, 'beacon', ?, ?, ?, ?, x'00')"),
  }
  const withTexts = entryTexts(db)
  let built = 0
  fc.assert(
    fc.property(history, (given) => {
      const { seq, slot, beacon, beacon_id, event, occurred_at_ms, received_at_ms, body_sha256, token } = given
      const [measurements, extras] = [JSON.stringify(given.measurements), JSON.stringify(given.extras)]
      const own = given.isOther ? Buffer.alloc(32, 2) : token
      const entry = beaconEntry({
        ...{ seq, beacon_id, event, occurred_at_ms, received_at_ms, body_sha256, client_id: given.client_id },
        ...{ at_ms: received_at_ms, slot_id: encodeId('slot', slot), consent_revision: given.consent_revision },
        asset_token_sha256: own.toString('base64url'),
        record_sha256: digest(`${measurements}${extras}`),
      })
      const consent = JSON.stringify({ lifecycle_state: 'granted', revision: given.consent_revision, source: 'none' })
      db.exec('DELETE FROM project; DELETE FROM slot; DELETE FROM beacon; DELETE FROM evidence')
      insert.project.run(given.client_id)
      insert.slot.run(slot, token, consent)
      const stored = given.measurements === null ? null : measurements
      insert.beacon.run(beacon, slot, beacon_id, event, occurred_at_ms, received_at_ms, body_sha256, stored, extras)
      insert.entry.run(seq, beacon, slot, received_at_ms, toStoredText(entry, token))
      if (given.isReplaced) {
        db.prepare(keepAssetToken).run(token.toString('base64url'), slot)
        db.prepare('UPDATE slot SET asset_token_hash = ?').run(Buffer.alloc(32, 1))
      }
      const read = withTexts(db.prepare<[], StoredEntry>(selectEntries).all())[0]!
      expect(read.entry).toBe(entry)
      if (read.is_built === true) built++
    }),
  )
  expect(built).toBeGreaterThan(20)
  close()
})
