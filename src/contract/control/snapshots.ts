import { z } from 'zod'
import { declareEndpoints, reading, writeErrors, writing } from '../endpoint.ts'
import { EpochMs } from '../fields.ts'
import { assumed } from '../provenance.ts'

const name = z
  .string()
  .max(64)
  .regex(/^[a-z0-9][a-z0-9._-]*$/)

export const Snapshot = z.strictObject({
  name: assumed(z.string(), 'A93', 'Its name.'),
  saved_at_ms: assumed(EpochMs, 'A93', 'When it was saved, by the system clock.'),
  size_bytes: assumed(z.int(), 'A93', 'Size of its file.'),
  schema_version: assumed(z.int(), 'A93', 'Number of the last migration it has had.'),
})
export type Snapshot = z.infer<typeof Snapshot>

const params = z.strictObject({
  name: assumed(name, 'A93', 'Lower-case letters, digits, dots, hyphens and underscores; at most 64.'),
})

export const endpoints = declareEndpoints({
  'snapshots.list': {
    ...reading,
    path: '/_sandbox/snapshots',
    summary: 'List the snapshots',
    description: 'Newest first. Those of a sandbox in memory are gone when it stops.',
    query: z.strictObject({}),
    response: z.strictObject({ items: assumed(z.array(Snapshot), 'A93', 'All of them.') }),
    errors: ['field_unknown', 'origin_refused', 'internal_error'],
  },
  'snapshots.save': {
    ...writing,
    params,
    path: '/_sandbox/snapshots/{name}',
    summary: 'Save the state under a name',
    description:
      'Everything as it is at one instant: projects, keys, placements, beacons, evidence, journal, clock, fault rules and scenario. Requests go on meanwhile.',
    body: z.strictObject({
      replace: assumed(z.boolean().optional(), 'A93', 'Replace the snapshot of that name, if there is one.'),
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
    response: z.strictObject({ ok: assumed(z.literal(true), 'A93', 'true when done.') }),
    errors: ['not_found', 'schema_invalid', 'origin_refused', 'internal_error'],
  },
})
