/** Bundles: what happened in a turn, as one signed file. */
import { z } from 'zod'
import { declareEndpoints, reading, writing } from '../endpoint.ts'
import { BooleanText, EpochMs, SlotFilter } from '../fields.ts'
import { limits } from '../limits.ts'
import { assumedFields, assumedObject } from '../objects.ts'

/** A bundle that was imported. It is kept until the sandbox stops. */
const importedItem = assumedFields('A117', () => ({
  bundle_id: z.string().describe('Identifier of the import.'),
  imported_at_ms: EpochMs.describe('When it was imported.'),
  problem: z.string().nullable().describe('What was changed in it since it was signed; null when nothing was.'),
  not_compared: z.string().nullable().describe('What could not be compared, in words; null when everything was.'),
  is_own: z.boolean().describe('Whether this sandbox signed it.'),
}))

const ImportedBundle = assumedObject('A117', () => ({
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
    query: assumedObject('A117', () => ({
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
    response: assumedObject('A117', () => ({ items: z.array(ImportedBundle).describe('Newest first.') })),
  },
  'bundles.import': {
    ...writing,
    path: '/_sandbox/bundles',
    summary: 'Look at a bundle beside the present state',
    description:
      'Checks the bundle, part by part, against its signature, and its page against the data, and keeps it for the inspector. Nothing else in the sandbox changes. One that was altered is imported too, with what was altered.',
    body: assumedObject('A117', () => ({
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
    params: assumedObject('A117', () => ({ bundle_id: z.string().describe('Identifier of the import.') })),
    response: assumedObject('A117', () => ({ ...importedItem(), text: z.string().describe('Its JSON.') })),
    errors: ['not_found'],
  },
})
