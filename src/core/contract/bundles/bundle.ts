/** A bundle (A117): what happened in a turn, or in the newest turns of a session, as one signed value. */
import { z } from 'zod'
import { EpochMs } from '../fields.ts'
import { assumedObject } from '../objects.ts'
import { Measurements } from '../resources/beacons.ts'
import { EvidenceEntry } from '../resources/evidence.ts'
import { PlacementDetail } from '../resources/placements.ts'
import { RequestDetail } from '../resources/requests.ts'

const BundleMedia = assumedObject('A117', () => ({
  use: z.enum(['still', 'icon', 'clip']).describe('What it is in the frame; the still of a clip is its poster.'),
  media_type: z.string().describe('Media type.'),
  base64: z.string().describe('The file.'),
}))
export type BundleMedia = z.infer<typeof BundleMedia>

const BundleEvidence = assumedObject('A117', () => ({
  ...EvidenceEntry.shape,
  previous_hash: z.string().describe('The hash before it in the chain of the project, hexadecimal.'),
}))
export type BundleEvidence = z.infer<typeof BundleEvidence>

const BundleTurn = assumedObject('A117', () => ({
  placement: PlacementDetail.describe('The placement explained, without its evidence.'),
  evidence: z.array(BundleEvidence).describe('Entries about the slot and the consent it is bound to, oldest first.'),
  requests: z.array(RequestDetail).describe('What the journal has about the slot, oldest first: the first 1 000.'),
  measurements: z
    .array(
      assumedObject('A117', () => ({
        beacon_id: z.string().describe('The accepted beacon.'),
        measurements: Measurements.describe('What it measured.'),
      })),
    )
    .describe('Of accepted beacons, oldest first.'),
  media: z.array(BundleMedia).describe('The creative as it was served; empty without a fill.'),
}))
export type BundleTurn = z.infer<typeof BundleTurn>

const BundleSetting = assumedObject('A117', () => ({
  name: z.string().describe('The setting by dotted path.'),
  value: z.unknown().describe('Its value.'),
  default: z.unknown().describe('Its default.'),
}))

const BundlePart = assumedObject('A117', () => ({
  name: z.string().describe('What it is: turn 1, beacon 2 (visible).'),
  sha256: z.string().describe('Of its canonical JSON (RFC 8785), hexadecimal.'),
}))
export type BundlePart = z.infer<typeof BundlePart>

export const Bundle = assumedObject('A117', () => ({
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
