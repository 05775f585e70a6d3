import { z } from 'zod'
import { declareEndpoints, reading, writing } from '../../endpoint.ts'
import { Done, EpochMs, NoFields } from '../../fields.ts'
import { assumedObject } from '../../objects.ts'

/** Lower-case letters, digits, dots, hyphens and underscores. */
export const SnapshotName = z
  .string()
  .max(64)
  .regex(/^[a-z0-9][a-z0-9._-]*$/, 'must be lower-case letters, digits, dots, hyphens and underscores')

export const Snapshot = assumedObject('A93', () => ({
  name: z.string().describe('Name of the snapshot.'),
  saved_at_ms: EpochMs.describe('When it was saved, by the system clock.'),
  size_bytes: z.int().describe('Size of its file.'),
  schema_version: z.int().describe('Number of its last migration.'),
}))
export type Snapshot = z.infer<typeof Snapshot>

const snapshotParams = assumedObject('A93', () => ({
  name: SnapshotName.describe('Lower-case letters, digits, dots, hyphens and underscores; at most 64.'),
}))

export const control = declareEndpoints({
  'snapshots.list': {
    ...reading,
    path: '/_sandbox/snapshots',
    summary: 'List the snapshots',
    description: 'Newest first. The snapshots of a sandbox in memory are lost when it stops.',
    response: assumedObject('A93', () => ({ items: z.array(Snapshot).describe('All snapshots.') })),
  },
  'snapshots.save': {
    ...writing,
    params: snapshotParams,
    path: '/_sandbox/snapshots/{name}',
    summary: 'Save the state under a name',
    description:
      'The complete state at one point in time: projects, keys, placements, beacons, evidence, journal, clock, fault rules and scenario. Requests continue meanwhile.',
    body: assumedObject('A93', () => ({
      replace: z.boolean().optional().describe('Replace the snapshot with this name, if it exists.'),
    })),
    response: Snapshot,
    errors: ['snapshot_exists'],
  },
  'snapshots.restore': {
    ...writing,
    role: 'admin',
    params: snapshotParams,
    path: '/_sandbox/snapshots/{name}/restore',
    summary: 'Restore a snapshot',
    description:
      'In one transaction: every request sees the old state or the new one. Identifiers and event numbers continue, long polls end; the clock and the counters of fault rules are restored.',
    body: NoFields,
    response: Snapshot,
    errors: ['not_found', 'archive_invalid', 'archive_newer'],
  },
  'snapshots.delete': {
    ...writing,
    role: 'admin',
    method: 'DELETE',
    path: '/_sandbox/snapshots/{name}',
    summary: 'Delete a snapshot',
    description: 'The state of the sandbox does not change.',
    params: snapshotParams,
    response: Done,
    errors: ['not_found'],
  },
})
