import { z } from 'zod'
import { declareEndpoints, reading, writeErrors, writing } from '../endpoint.ts'
import { EpochMs } from '../fields.ts'
import { assumedObject } from '../provenance.ts'

const name = z
  .string()
  .max(64)
  .regex(/^[a-z0-9][a-z0-9._-]*$/)

export const Snapshot = assumedObject('A93', {
  name: z.string().describe('Its name.'),
  saved_at_ms: EpochMs.describe('When it was saved, by the system clock.'),
  size_bytes: z.int().describe('Size of its file.'),
  schema_version: z.int().describe('Number of the last migration it has had.'),
})
export type Snapshot = z.infer<typeof Snapshot>

const params = assumedObject('A93', {
  name: name.describe('Lower-case letters, digits, dots, hyphens and underscores; at most 64.'),
})

export const endpoints = declareEndpoints({
  'snapshots.list': {
    ...reading,
    path: '/_sandbox/snapshots',
    summary: 'List the snapshots',
    description: 'Newest first. Those of a sandbox in memory are gone when it stops.',
    query: z.strictObject({}),
    response: assumedObject('A93', { items: z.array(Snapshot).describe('All of them.') }),
    errors: ['field_unknown', 'origin_refused', 'internal_error'],
  },
  'snapshots.save': {
    ...writing,
    params,
    path: '/_sandbox/snapshots/{name}',
    summary: 'Save the state under a name',
    description:
      'Everything as it is at one instant: projects, keys, placements, beacons, evidence, journal, clock, fault rules and scenario. Requests go on meanwhile.',
    body: assumedObject('A93', {
      replace: z.boolean().optional().describe('Replace the snapshot of that name, if there is one.'),
    }),
    response: Snapshot,
    errors: [...writeErrors, 'schema_invalid', 'snapshot_exists'],
  },
  'snapshots.restore': {
    ...writing,
    params,
    path: '/_sandbox/snapshots/{name}/restore',
    summary: 'Go back to a snapshot',
    description:
      'In one transaction; every request sees the old state or the new one. Identifiers and event numbers go on growing, long polls are answered; the clock is set as it was, and fault rules go on from what they had counted.',
    body: z.strictObject({}),
    response: Snapshot,
    errors: [...writeErrors, 'schema_invalid', 'not_found', 'archive_invalid', 'archive_newer'],
  },
  'snapshots.delete': {
    ...reading,
    method: 'DELETE',
    path: '/_sandbox/snapshots/{name}',
    summary: 'Delete a snapshot',
    description: 'The state of the sandbox stays as it is.',
    params,
    response: assumedObject('A93', { ok: z.literal(true).describe('true when done.') }),
    errors: ['not_found', 'schema_invalid', 'origin_refused', 'internal_error'],
  },
})
