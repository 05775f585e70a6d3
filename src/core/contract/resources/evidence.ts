import { z } from 'zod'
import { isObject, type JsonObject, parseJson } from '#foundation/json.ts'
import { declareEndpoints, reading } from '../endpoint.ts'
import { evidenceKinds } from '../facts/stored-words.ts'
import { BooleanText, EpochMs, page, pageQuery, queryNumber, Since, SlotFilter } from '../fields.ts'
import { assumed, assumedFields, assumedObject, strictObject } from '../objects.ts'
import type { BeaconEvent } from './beacons.ts'

export const EvidenceKind = z.enum(evidenceKinds)

const entry = assumedFields('A77', () => ({
  seq: z.int().min(1).describe('Position in the chain of its project, from 1.'),
  kind: EvidenceKind.describe('What it records.'),
  at_ms: EpochMs.describe('When it was recorded.'),
  entry: z.string().describe('RFC 8785 canonical JSON. Asset tokens appear only as hashes.'),
  hash: z.string().describe('SHA-256 over the previous hash and the entry, hexadecimal.'),
}))

export const EvidenceEntry = strictObject(entry)
export type EvidenceEntry = z.infer<typeof EvidenceEntry>

export const EvidenceItem = assumedObject('A93', () => ({
  client_id: z.string().describe('Project ID.'),
  slot_id: assumed(z.string().nullable(), 'A77', 'Slot of the entry; null for consent.'),
  ...entry(),
}))
export type EvidenceItem = z.infer<typeof EvidenceItem>

export const Checkpoint = assumedObject('A77', () => ({
  client_id: z.string().describe('Project ID.'),
  entries: z.int().min(0).describe('Entries in the chain.'),
  head: z.string().nullable().describe('Hash of the last entry; null for an empty chain.'),
  at_ms: EpochMs.describe('When it was signed.'),
  public_key: z.string().describe('Ed25519 public key of this installation, base64url.'),
  signature: z.string().describe('Over the canonical JSON of the fields above it and kind and v; base64url.'),
}))
export type Checkpoint = z.infer<typeof Checkpoint>

export const EvidenceManifest = assumedObject('A77', () => ({
  client_id: z.string().nullable().describe('The only project that was asked for; null: every project is listed.'),
  at_ms: EpochMs.describe('When it was signed. Its checkpoints have the same time.'),
  chains: z
    .array(
      assumedObject('A77', () => ({
        client_id: z.string().describe('Project ID.'),
        entries: z.int().min(0).describe('Entries in the chain.'),
        head: z.string().nullable().describe('Hash of the last entry; null for an empty chain.'),
      })),
    )
    .describe('The chains of the export, in its order.'),
  public_key: z.string().describe('Ed25519 public key of this installation, base64url.'),
  signature: z.string().describe('Over the canonical JSON of the fields above it and kind and v; base64url.'),
}))
export type EvidenceManifest = z.infer<typeof EvidenceManifest>

export const SignedEvidence = assumedObject('A77', () => ({
  checkpoints: z.array(Checkpoint).describe('One per chain, in the order of the manifest.'),
  manifest: EvidenceManifest.describe('Signed over the list of chains.'),
}))
export type SignedEvidence = z.infer<typeof SignedEvidence>

export const EvidenceExport = assumedObject('A77', () => ({
  client_id: assumed(z.string(), 'A93', 'Project ID.'),
  entries: z.array(EvidenceEntry).describe('Oldest first.'),
  next_seq: z.int().nullable().describe('Send as after_seq for the next part; null at the end.'),
  checkpoint: Checkpoint.nullable().describe(
    'Signed over the whole chain; present in its last part, unless checkpoint=false.',
  ),
}))
export type EvidenceExport = z.infer<typeof EvidenceExport>

export const EvidenceVerification = assumedObject('A77', () => ({
  ok: z.boolean().describe('Whether every chain holds.'),
  chains: z
    .array(
      assumedObject('A77', () => ({
        client_id: z.string().describe('Project.'),
        entries: z.int().describe('Entries in the chain.'),
        head: z.string().nullable().describe('Hash of the last entry; null for an empty chain.'),
        broken_at: z.int().nullable().describe('Position of the first broken entry; null when the chain holds.'),
        problem: z.string().nullable().describe('What is wrong there.'),
        verified_before: z
          .int()
          .optional()
          .describe(
            'Entries that an earlier verification covered and this one did not read again; absent: it read all.',
          ),
      })),
    )
    .describe('One chain per project.'),
}))
export type EvidenceVerification = z.infer<typeof EvidenceVerification>

/**
 * The evidence chain, as any client can verify it (A77): each hash is SHA-256 over the previous hash and the entry, so
 * that changing, removing or reordering an entry breaks the chain there. A chain without its last entries still holds;
 * the signed checkpoint of an export reveals the loss, since it states the number of entries.
 */

/** SHA-256 of UTF-8 text as 64 lower-case hexadecimal digits. */
export type Sha256Hex = (text: string) => string

/** The hash before the first entry. */
export const genesis = '0'.repeat(64)

/** Returns the hash of an entry, given the previous one: 64 hexadecimal digits, `genesis` for the first. */
export function chainHash(previous: string, entry: string, sha256Hex: Sha256Hex): string {
  return sha256Hex(previous + entry)
}

/** What the entry of a beacon states. Digests are SHA-256, base64url. */
export interface BeaconEvidence {
  /** Position in the chain of the project, from 1. */
  seq: number
  at_ms: number
  client_id: string
  slot_id: string
  asset_token_sha256: string
  beacon_id: string
  event: BeaconEvent
  occurred_at_ms: number
  received_at_ms: number
  consent_revision: number
  body_sha256: string
  /** Hash of the stored measurements and extras of the body. */
  record_sha256: string
}

/** Returns the text that `record_sha256` is the hash of. @param measurements as JSON; null: the body had none */
export function recordText(measurements: string | null, extras: string): string {
  return `${measurements}${extras}`
}

/** Returns the entry of a beacon. All of it follows from stored rows, so a database need not keep the text. */
export function beaconEntry(facts: BeaconEvidence): string {
  return JSON.stringify({
    asset_token_sha256: facts.asset_token_sha256,
    at_ms: facts.at_ms,
    beacon_id: facts.beacon_id,
    body_sha256: facts.body_sha256,
    client_id: facts.client_id,
    consent_revision: facts.consent_revision,
    event: facts.event,
    kind: 'beacon',
    occurred_at_ms: facts.occurred_at_ms,
    received_at_ms: facts.received_at_ms,
    record_sha256: facts.record_sha256,
    seq: facts.seq,
    slot_id: facts.slot_id,
    v: 1,
  })
}

/** Returns the problem of the entry at position `expected`, after the hash `previous`, or null when it holds. */
export function linkProblem(
  { seq, entry, hash }: Pick<EvidenceEntry, 'seq' | 'entry' | 'hash'>,
  expected: number,
  previous: string,
  sha256Hex: Sha256Hex,
): string | null {
  if (seq !== expected) return `Entry ${expected} is missing: entry ${seq} is in its place.`
  if (chainHash(previous, entry, sha256Hex) === hash) return null
  return `The hash of entry ${seq} does not match: the entry, its hash, or the hash before it was changed.`
}

/** What an entry states, or what is wrong with it. */
type EntryReading = { problem: null; facts: JsonObject } | { problem: string }

/**
 * Reads the entry that follows a project's chain so far, and checks its hash, its canonical form, and that each field
 * beside the entry states what the entry states. The sandbox and `svc evidence verify FILE` both decide by this.
 */
export function readEntry(
  link: EvidenceEntry,
  { client_id, entries, head }: { client_id: string; entries: number; head: string | null },
  sha256Hex: Sha256Hex,
): EntryReading {
  const { seq, kind, at_ms, entry } = link
  const broken = linkProblem(link, entries + 1, head ?? genesis, sha256Hex)
  if (broken !== null) return { problem: broken }
  const parsed = parseJson(entry)
  if (parsed === undefined) return { problem: `Entry ${seq} is not JSON.` }
  const facts = isObject(parsed) ? parsed : {}
  if (isObject(parsed) && !isCanonical(parsed, entry)) {
    return { problem: `Entry ${seq} is not canonical JSON (RFC 8785).` }
  }
  if (facts.seq !== seq) return { problem: `Entry ${seq} names ${facts.seq ?? 'no position'} as its position.` }
  for (const [name, stated] of Object.entries({ client_id, kind, at_ms })) {
    if (facts[name] !== stated) return { problem: `Entry ${seq} states another ${name} than the one beside it.` }
  }
  return { problem: null, facts }
}

/** Whether the text of an entry is canonical. Entries are flat, so names in order and the numbers of JSON.stringify suffice. */
function isCanonical(entry: JsonObject, text: string): boolean {
  const names = Object.keys(entry)
  if (names.some((name, index) => index > 0 && names[index - 1]! >= name)) return false
  const isPlain = Object.values(entry).every((value) =>
    typeof value === 'string' ? value.isWellFormed() : typeof value !== 'object' || value === null,
  )
  return isPlain && JSON.stringify(entry) === text
}

/** The facts of a chain that a checkpoint states. */
type UnsignedCheckpoint = Omit<Checkpoint, 'public_key' | 'signature'>

/** Returns the canonical JSON (RFC 8785) that is signed. */
export function checkpointText({ client_id, entries, head, at_ms }: UnsignedCheckpoint): string {
  return (
    `{"at_ms":${at_ms},"client_id":${JSON.stringify(client_id)},"entries":${entries}` +
    `,"head":${JSON.stringify(head)},"kind":"checkpoint","v":1}`
  )
}

/** Returns the canonical JSON (RFC 8785) of a manifest that is signed. */
export function manifestText({ at_ms, chains, client_id }: Omit<EvidenceManifest, 'public_key' | 'signature'>): string {
  const listed = chains.map((chain) => ({ client_id: chain.client_id, entries: chain.entries, head: chain.head }))
  return JSON.stringify({ at_ms, chains: listed, client_id, kind: 'manifest', v: 1 })
}

export const control = declareEndpoints({
  'evidence.list': {
    ...reading,
    path: '/_sandbox/evidence',
    summary: 'List evidence entries',
    description: 'The entries of every chain.',
    query: assumedObject('A93', () => ({
      ...pageQuery(),
      client_id: z.string().optional().describe('Only this project.'),
      slot_id: SlotFilter.optional().describe('Only entries about this slot.'),
      kind: EvidenceKind.optional().describe('Only entries of this kind.'),
      since: Since.optional().describe('Only entries recorded since then.'),
    })),
    response: page(EvidenceItem),
  },
  'evidence.export': {
    ...reading,
    path: '/_sandbox/projects/{client_id}/evidence',
    summary: 'Export evidence with a signed checkpoint',
    description:
      'The chain of a project from its first entry, in parts; the last part has the checkpoint. A broken chain is not signed.',
    params: assumedObject('A93', () => ({ client_id: z.string().describe('Project ID.') })),
    query: assumedObject('A77', () => ({
      after_seq: queryNumber(z.int().min(0))
        .optional()
        .describe('Begin after this position; absent: at the first entry.'),
      limit: assumed(
        queryNumber(z.int().min(1).max(1000)).optional(),
        'A93',
        'Entries in a part, 1 to 1000; default 1000.',
      ),
      checkpoint: BooleanText.optional().describe(
        'false: only entries, which are not verified, also of a broken chain.',
      ),
    })),
    response: EvidenceExport,
    errors: ['not_found', 'evidence_broken'],
  },
  'evidence.manifest': {
    ...reading,
    path: '/_sandbox/evidence/manifest',
    summary: 'Sign a manifest of the evidence chains',
    description:
      'Verifies the chains and signs how far they go: a checkpoint for each, and a manifest of all of them, with which an export ends. A broken chain is not signed.',
    query: assumedObject('A77', () => ({
      client_id: z.string().optional().describe('Only this project; absent: every project.'),
    })),
    response: SignedEvidence,
    errors: ['not_found', 'evidence_broken'],
  },
  'evidence.verify': {
    ...reading,
    path: '/_sandbox/evidence/verify',
    summary: 'Verify the evidence chains',
    description:
      'Recomputes the hashes, compares each entry with the row it records, and names the first broken entry. Continues from where an earlier verification ended; `full` reads every entry again.',
    query: assumedObject('A77', () => ({
      full: z.enum(['true']).optional().describe('Read every entry, also those that were verified before.'),
    })),
    response: EvidenceVerification,
  },
})
