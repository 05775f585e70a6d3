/**
 * The texts of evidence entries. That of a beacon is not stored: it follows from the rows of the beacon, its slot and its
 * project, which the stored hash of the entry proves. In its place stands the version of the template that makes it, with
 * the digest of the asset token where its slot has another one by now. Entries of earlier versions have their text.
 */
import { hash } from 'node:crypto'
import { encodeId } from '#contract/ids.ts'
import { type BeaconEvidence, beaconEntry, recordText } from '#contract/resources/evidence.ts'
import { requiredText } from '../rows.ts'
import type { EvidenceListRow } from '../store.ts'

/** The version of `beaconEntry`. No text begins with it: they are JSON objects. */
const version = '1'

/** Selects entries with the rows that their texts follow from. Hashes are hexadecimal: bytes would cost as much as a row. */
export const selectEntries = `SELECT evidence.id, evidence.project_id, evidence.slot_id, evidence.seq, evidence.kind,
    evidence.ref, evidence.at_ms, evidence.entry, nullif(lower(hex(evidence.hash)), '') AS hash, client_id,
    beacon.slot_id AS slot_of_beacon, beacon_id, event, occurred_at_ms, received_at_ms, body_sha256, measurements, extras,
    hex(asset_token_hash) AS asset_token_hash,
    iif(json_valid(slot.consent), slot.consent ->> 'revision', NULL) AS consent_revision
  FROM evidence
  LEFT JOIN beacon ON evidence.kind = 'beacon' AND evidence.entry < '2' AND beacon.id = evidence.ref
  LEFT JOIN slot ON slot.id = beacon.slot_id LEFT JOIN project ON project.id = evidence.project_id`

type BeaconFields = 'client_id' | 'beacon_id' | 'event' | 'occurred_at_ms' | 'received_at_ms' | 'body_sha256'

/** An entry with the rows that its text follows from. */
export type StoredEntry = Omit<EvidenceListRow, 'is_built'> &
  Pick<BeaconEvidence, BeaconFields | 'consent_revision'> & {
    /** null: the beacon is gone, or the text is stored. */
    slot_of_beacon: number | null
    measurements: string | null
    extras: string
    asset_token_hash: string
  }

/** Replaces the asset token of a slot in what its entries follow from: they keep the one that they prove. */
export const keepAssetToken = `UPDATE evidence SET entry = '${version}' || ?
  WHERE slot_id = ? AND kind = 'beacon' AND entry = '${version}'`

/** Returns what is stored for the text of a beacon's entry, whose slot has an asset token of that hash. */
export function toStoredText(entry: string, asset_token_hash: Buffer): string {
  const digest = JSON.stringify(asset_token_hash.toString('base64url'))
  return entry.startsWith(`{"asset_token_sha256":${digest},`) ? version : entry
}

export function toEntry(stored: StoredEntry): EvidenceListRow {
  const { id, project_id, slot_id, seq, kind, ref, at_ms, slot_of_beacon } = stored
  const entry = requiredText(stored.entry, 'an entry of evidence')
  const hash = requiredText(stored.hash, 'a hash of evidence')
  const row = { id, project_id, slot_id, seq, kind, ref, at_ms, entry, hash }
  if (kind !== 'beacon' || !entry.startsWith(version)) return row
  if (slot_of_beacon === null) return { ...row, entry: '', is_built: true }
  const text = buildEntry(stored, slot_of_beacon)
  // Another time beside the entry is compared with what the text states.
  return at_ms === stored.received_at_ms ? { ...row, entry: text, is_built: true } : { ...row, entry: text }
}

function buildEntry(stored: StoredEntry, slot_id: number): string {
  const { seq, entry, received_at_ms, asset_token_hash, measurements, extras } = stored
  return beaconEntry({
    seq,
    at_ms: received_at_ms,
    client_id: stored.client_id,
    slot_id: encodeId('slot', slot_id),
    asset_token_sha256: entry.slice(version.length) || Buffer.from(asset_token_hash, 'hex').toString('base64url'),
    beacon_id: stored.beacon_id,
    event: stored.event,
    occurred_at_ms: stored.occurred_at_ms,
    received_at_ms,
    consent_revision: stored.consent_revision,
    body_sha256: stored.body_sha256,
    record_sha256: hash('sha256', recordText(measurements, extras), 'base64url'),
  })
}
