/**
 * The texts of evidence entries. That of a beacon is not stored: it follows from the rows of the beacon, its slot and its
 * project, which the stored hash of the entry proves. In its place stands the version of the template that makes it, with
 * the digest of the asset token where its slot has another one by now. Entries of earlier versions have their text.
 */
import { hash } from 'node:crypto'
import type Database from 'better-sqlite3'
import { encodeId } from '#contract/ids.ts'
import { type BeaconEvidence, beaconEntry, recordText } from '#contract/resources/evidence.ts'
import { requiredText } from '../rows.ts'
import type { EvidenceListRow } from '../store.ts'

/** The version of `beaconEntry`. No text begins with it: they are JSON objects. */
const version = '1'

/** Selects entries with the rows that their texts follow from, but the slots. Hashes are hexadecimal: bytes would cost as much as a row. */
export const selectEntries = `SELECT evidence.id, evidence.project_id, evidence.slot_id, evidence.seq, evidence.kind,
    evidence.ref, evidence.at_ms, evidence.entry, nullif(lower(hex(evidence.hash)), '') AS hash, client_id,
    beacon.slot_id AS slot_of_beacon, beacon_id, event, occurred_at_ms, received_at_ms, body_sha256, measurements, extras
  FROM evidence
  LEFT JOIN beacon ON evidence.kind = 'beacon' AND evidence.entry < '2' AND beacon.id = evidence.ref
  LEFT JOIN project ON project.id = evidence.project_id`

type BeaconFields = 'client_id' | 'beacon_id' | 'event' | 'occurred_at_ms' | 'received_at_ms' | 'body_sha256'

/** An entry with the rows that its text follows from. */
export type StoredEntry = Omit<EvidenceListRow, 'is_built'> &
  Pick<BeaconEvidence, BeaconFields> & {
    /** null: the beacon is gone, or the text is stored. */
    slot_of_beacon: number | null
    measurements: string | null
    extras: string
  }

/** What the entries of a slot's beacons state of its decision. */
type SlotFacts = Pick<BeaconEvidence, 'slot_id' | 'asset_token_sha256' | 'consent_revision'>
type Slots = ReadonlyMap<number, SlotFacts>

/** Replaces the asset token of a slot in what its entries follow from: they keep the one that they prove. */
export const keepAssetToken = `UPDATE evidence SET entry = '${version}' || ?
  WHERE slot_id = ? AND kind = 'beacon' AND entry = '${version}'`

/** Returns what is stored for the text of a beacon's entry, whose slot has an asset token of that hash. */
export function toStoredText(entry: string, asset_token_hash: Buffer): string {
  const digest = JSON.stringify(asset_token_hash.toString('base64url'))
  return entry.startsWith(`{"asset_token_sha256":${digest},`) ? version : entry
}

/**
 * Returns a function that adds the texts to entries, in the transaction that has read them. It reads the slots once for all
 * of their beacons: joined to each, they would cost as much as the rest of the row.
 */
export function entryTexts(db: Database.Database): (stored: readonly StoredEntry[]) => EvidenceListRow[] {
  const findSlots = db.prepare<[string], { id: number; asset_token_hash: string; consent_revision: number }>(
    `SELECT value AS id, hex(asset_token_hash) AS asset_token_hash,
       iif(json_valid(consent), consent ->> 'revision', NULL) AS consent_revision
     FROM json_each(?) LEFT JOIN slot ON slot.id = value WHERE value IS NOT NULL`,
  )
  return (stored) => {
    const slots = readSlots(new Set(stored.map(({ slot_of_beacon }) => slot_of_beacon)))
    const digests = new Map<string, string>()
    return stored.map((entry) => toEntry(entry, slots, digests))
  }

  function readSlots(ids: ReadonlySet<number | null>): Slots {
    const slots = findSlots.all(JSON.stringify([...ids])).map(({ id, asset_token_hash, consent_revision }) => {
      const asset_token_sha256 = Buffer.from(asset_token_hash, 'hex').toString('base64url')
      return [id, { slot_id: encodeId('slot', id), asset_token_sha256, consent_revision }] as const
    })
    return new Map(slots)
  }
}

/** @param digests of the records before it: most have no measurements, and are equal */
function toEntry(stored: StoredEntry, slots: Slots, digests: Map<string, string>): EvidenceListRow {
  const { id, project_id, slot_id, seq, kind, ref, at_ms, slot_of_beacon } = stored
  const entry = requiredText(stored.entry, 'an entry of evidence')
  const hash = requiredText(stored.hash, 'a hash of evidence')
  const row: EvidenceListRow = { id, project_id, slot_id, seq, kind, ref, at_ms, entry, hash }
  if (kind !== 'beacon' || !entry.startsWith(version)) return row
  row.entry = slot_of_beacon === null ? '' : buildEntry(stored, slots.get(slot_of_beacon)!, digests)
  // Another time beside the entry is compared with what the text states.
  if (slot_of_beacon === null || at_ms === stored.received_at_ms) row.is_built = true
  return row
}

function buildEntry(stored: StoredEntry, slot: SlotFacts, digests: Map<string, string>): string {
  const { seq, entry, received_at_ms, measurements, extras } = stored
  const record = recordText(measurements, extras)
  let record_sha256 = digests.get(record)
  if (record_sha256 === undefined) {
    record_sha256 = hash('sha256', record, 'base64url')
    digests.set(record, record_sha256)
  }
  return beaconEntry({
    seq,
    at_ms: received_at_ms,
    client_id: stored.client_id,
    slot_id: slot.slot_id,
    asset_token_sha256: entry.slice(version.length) || slot.asset_token_sha256,
    beacon_id: stored.beacon_id,
    event: stored.event,
    occurred_at_ms: stored.occurred_at_ms,
    received_at_ms,
    consent_revision: slot.consent_revision,
    body_sha256: stored.body_sha256,
    record_sha256,
  })
}
