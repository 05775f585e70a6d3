/** Bundles: what happened in a turn, as one signed file. */
import { z } from 'zod'
import { declareEndpoints, reading, writing } from '../endpoint.ts'
import { BooleanText, EpochMs, SlotFilter } from '../fields.ts'
import { limits } from '../limits.ts'
import { assumedFields, assumedObject } from '../objects.ts'
import { Measurements } from './beacons.ts'
import { EvidenceEntry } from './evidence.ts'
import { PlacementDetail } from './placements.ts'
import { RequestDetail } from './requests.ts'

const BundleMedia = assumedObject('A107', () => ({
  use: z.enum(['still', 'icon', 'clip']).describe('What it is in the frame; the still of a clip is its poster.'),
  media_type: z.string().describe('Media type.'),
  base64: z.string().describe('The file.'),
}))
export type BundleMedia = z.infer<typeof BundleMedia>

const BundleEvidence = assumedObject('A107', () => ({
  ...EvidenceEntry.shape,
  previous_hash: z.string().describe('The hash before it in the chain of the project, hexadecimal.'),
}))
export type BundleEvidence = z.infer<typeof BundleEvidence>

const BundleTurn = assumedObject('A107', () => ({
  placement: PlacementDetail.describe('The placement explained, without its evidence.'),
  evidence: z.array(BundleEvidence).describe('Entries about the slot and the consent it is bound to, oldest first.'),
  requests: z.array(RequestDetail).describe('What the journal has about the slot, oldest first.'),
  measurements: z
    .array(
      assumedObject('A107', () => ({
        beacon_id: z.string().describe('The accepted beacon.'),
        measurements: Measurements.describe('What it measured.'),
      })),
    )
    .describe('Of accepted beacons, oldest first.'),
  media: z.array(BundleMedia).describe('The creative as it was served; empty without a fill.'),
}))
export type BundleTurn = z.infer<typeof BundleTurn>

const BundleSetting = assumedObject('A107', () => ({
  name: z.string().describe('The setting by dotted path.'),
  value: z.unknown().describe('Its value.'),
  default: z.unknown().describe('Its default.'),
}))

const BundlePart = assumedObject('A107', () => ({
  name: z.string().describe('What it is: turn 1, beacon 2 (visible).'),
  sha256: z.string().describe('Of its canonical JSON (RFC 8785), hexadecimal.'),
}))
export type BundlePart = z.infer<typeof BundlePart>

export const Bundle = assumedObject('A107', () => ({
  kind: z.literal('svc_bundle').describe('What the file is.'),
  v: z.literal(1).describe('Version of the format.'),
  svc_version: z.string().describe('Version of svc.'),
  at_ms: EpochMs.describe('When it was written, by the sandbox clock.'),
  clock_offset_ms: z.int().describe('How far the sandbox clock was ahead of the system, milliseconds.'),
  client_id: z.string().describe('Project ID.'),
  session_id: z.string().nullable().describe('Session of its turns, if they name one.'),
  settings: z.array(BundleSetting).describe('Settings of the project that differ from the defaults.'),
  scenario: z.string().nullable().describe('The scenario in use.'),
  fault_rules: z.int().describe('Number of fault rules in force.'),
  left_out: z.int().describe('Turns of the session that are not in it: the newest are.'),
  turns: z.array(BundleTurn).describe('Oldest first.'),
  parts: z.array(BundlePart).describe('Every part of it by its hash.'),
  public_key: z.string().describe('Ed25519 public key of this installation, base64url.'),
  signature: z.string().describe('Over the canonical JSON of at_ms, client_id, kind, parts and v; base64url.'),
}))
export type Bundle = z.infer<typeof Bundle>

/** A bundle that was imported. It is kept until the sandbox stops. */
const importedItem = assumedFields('A107', () => ({
  bundle_id: z.string().describe('Identifier of the import.'),
  imported_at_ms: EpochMs.describe('When it was imported.'),
  problem: z.string().nullable().describe('What was changed in it since it was signed; null when nothing was.'),
  is_own: z.boolean().describe('Whether this sandbox signed it.'),
}))

const ImportedBundle = assumedObject('A107', () => ({
  ...importedItem(),
  client_id: z.string().describe('Project ID.'),
  session_id: z.string().nullable().describe('Session, if it has one.'),
  slot_ids: z.array(z.string()).describe('Slots of its turns.'),
  at_ms: EpochMs.describe('When it was written.'),
}))
export type ImportedBundle = z.infer<typeof ImportedBundle>

export const control = declareEndpoints({
  'bundles.page': {
    ...reading,
    path: '/_sandbox/bundle.html',
    summary: 'Write a turn as one signed file that opens anywhere',
    description:
      'Everything the sandbox knows of the turn of a slot, or of the newest turns of a session: requests, decision with its trace, consent, beacons with their verdicts, billing, evidence with its hashes, settings that differ from the defaults. One page without a script, which holds its data: redacted, and signed part by part.',
    query: assumedObject('A107', () => ({
      slot_id: SlotFilter.optional().describe('The turn of this slot; without it and session_id, the newest.'),
      session_id: z.string().max(256).optional().describe('The newest turns of this session, at most 20.'),
      client_id: z.string().optional().describe('Only this project.'),
      media: BooleanText.optional().describe('true: with the clip, not only its still. Default false.'),
    })),
    response: { media_type: 'text/html; charset=utf-8' },
    errors: ['not_found', 'evidence_broken'],
  },
  'bundles.list': {
    ...reading,
    path: '/_sandbox/bundles',
    summary: 'List imported bundles',
    description: 'The last 20, newest first. They are kept until the sandbox stops.',
    response: assumedObject('A107', () => ({ items: z.array(ImportedBundle).describe('Newest first.') })),
  },
  'bundles.import': {
    ...writing,
    path: '/_sandbox/bundles',
    summary: 'Look at a bundle beside the present state',
    description:
      'Checks the bundle, part by part, against its signature, and keeps it for the inspector. Nothing else in the sandbox changes. One that was altered is imported too, with what was altered.',
    body: assumedObject('A107', () => ({
      text: z.string().describe('The bundle: its JSON as the file has it, or the whole page.'),
    })),
    body_limit_bytes: limits.bundle_bytes,
    response: ImportedBundle,
    errors: ['bundle_invalid'],
  },
  'bundles.show': {
    ...reading,
    path: '/_sandbox/bundles/{bundle_id}',
    summary: 'Show an imported bundle',
    description: 'The data of a bundle as it was imported, and what was altered in it.',
    params: assumedObject('A107', () => ({ bundle_id: z.string().describe('Identifier of the import.') })),
    response: assumedObject('A107', () => ({ ...importedItem(), text: z.string().describe('Its JSON.') })),
    errors: ['not_found'],
  },
})
