import { z } from 'zod'
import { declareEndpoints, reading, writing } from '../endpoint.ts'
import { Done, EpochMs, NoFields } from '../fields.ts'
import { limits } from '../limits.ts'
import { assumed, assumedObject } from '../objects.ts'
import { EvidenceVerification } from './evidence.ts'

export const SandboxInfo = assumedObject('A93', () => ({
  version: z.string().describe('Version of svc.'),
  pid: z.int().describe('Process identifier.'),
  url: z.string().describe('Base URL on this computer.'),
  public_url: z.string().describe('The base of frame URLs and links: svc start --public-url, else the base URL.'),
  inspector_url: z.string().describe('Address of the inspector.'),
  database: z.string().describe('Path of the database file, or :memory:.'),
  schema_version: z.int().describe('Number of the last migration.'),
  nodes: z
    .array(
      assumedObject('A97', () => ({
        number: z.int().describe('Number of the node: part of the identifiers that it creates.'),
        url: z.string().describe('Its base URL, or its public URL.'),
        host: z.string().describe('Name of its computer.'),
        pid: z.int().describe('Its process identifier.'),
        version: z.string().describe('Its version of svc.'),
        started_at_ms: EpochMs.describe('When it was started, by the system clock.'),
        clock_ahead_ms: z
          .int()
          .nullable()
          .describe('How far its computer is ahead of the database, milliseconds; null when it has not said so.'),
      })),
    )
    .nullable()
    .describe('Nodes that share the store and are alive; null for a database that one process owns.'),
  seed: z.int().nullable().describe('Seed; null when identifiers and tokens are random.'),
  clock: assumedObject('A93', () => ({
    now_ms: EpochMs.describe('Sandbox time, Unix epoch milliseconds.'),
    offset_ms: z.int().describe('Ahead of the system clock, milliseconds.'),
    frozen: z.boolean().describe('Whether it is stopped.'),
  })).describe('One clock for tokens, consent, rate windows, staleness and latency.'),
  journal: assumedObject('A93', () => ({
    enabled: z.boolean().describe('Whether exchanges are recorded.'),
    limit: z.int().describe('Maximum number of stored exchanges; the oldest are dropped first.'),
    size: z.int().describe('Stored exchanges.'),
    dropped: z.int().describe('Exchanges dropped because of the limit.'),
    foreign: z
      .int()
      .describe('Requests of pages that no project allows, since the start or the last reset: not in the journal.'),
  })).describe('The request journal. Its size is limited.'),
  events: assumedObject('A93', () => ({
    limit: z.int().describe('Maximum number of stored events; the oldest are dropped first.'),
    size: z.int().describe('Stored events.'),
    dropped: z.int().describe('Events dropped because of the limit.'),
    last_dropped_seq: z.int().describe('Sequence number of the last dropped event; 0 when there is none.'),
  })).describe('Events that a stream can resume from. Their number is limited.'),
  projects: z
    .array(
      assumedObject('A93', () => ({
        client_id: z.string().describe('Project ID.'),
        allowed_origins: z.array(z.string()).describe('Origins that may activate and embed.'),
        config_revision: assumed(z.int(), 'A80', 'Incremented by every change of the settings.'),
      })),
    )
    .describe('Projects of this sandbox. Never a key.'),
  warnings: z.array(z.string()).describe('What you should know about this sandbox.'),
}))
export type SandboxInfo = z.infer<typeof SandboxInfo>

export const Integrity = assumedObject('A93', () => ({
  ok: z.boolean().describe('Whether the database and every evidence chain hold.'),
  database: assumedObject('A93', () => ({
    ok: z.boolean().describe('Whether no problem was found.'),
    problems: z.array(z.string()).describe('Problems that were found, at most 20 lines.'),
  })).describe(
    'For a file, the quick_check of SQLite; for PostgreSQL, which checks its pages itself, whether the counters of chains and events match their rows.',
  ),
  evidence: assumed(EvidenceVerification, 'A77', 'The evidence chains, as evidence/verify returns them.'),
}))
export type Integrity = z.infer<typeof Integrity>

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

/** Whether a warning of a start is about the certificate or its key: `svc doctor` reports those too. */
export function isCertificateWarning(warning: string): boolean {
  return /^the certificate |\bthe TLS key\b/.test(warning)
}

/** Clocks of nodes that differ by more than this decide differently what is expired, early or late. */
const mostClockDifference_ms = 2_000

/** Returns a sentence about nodes whose clocks differ; none when they agree. */
export function clockWarnings(
  nodes: readonly { url: string; host: string; clock_ahead_ms: number | null }[],
): string[] {
  const known = nodes.flatMap(({ clock_ahead_ms, ...node }) =>
    clock_ahead_ms === null ? [] : { ...node, clock_ahead_ms },
  )
  const [slowest, ...others] = known.toSorted((one, other) => one.clock_ahead_ms - other.clock_ahead_ms)
  const fastest = others.at(-1)
  if (slowest === undefined || fastest === undefined) return []
  const apart_ms = fastest.clock_ahead_ms - slowest.clock_ahead_ms
  if (apart_ms <= mostClockDifference_ms) return []
  const name = ({ url, host }: { url: string; host: string }) => `${url} (${host})`
  return [
    `The clock of ${name(fastest)} is ${(apart_ms / 1_000).toFixed(1)} s ahead of that of ${name(slowest)}: set both to network time.`,
  ]
}

/** 9000-01-01T00:00:00Z: dates in headers and JSON have a year of four digits, with room to spare. */
export const latest_ms = 221_845_392_000_000

export const SandboxClock = assumedObject('A93', () => ({
  now_ms: z.int().describe('Sandbox time, Unix epoch milliseconds.'),
  offset_ms: z.int().describe('Ahead of the system clock, milliseconds; negative when behind it.'),
  frozen: z.boolean().describe('Whether it is stopped.'),
}))
export type SandboxClock = z.infer<typeof SandboxClock>

const steering = {
  ...writing,
  response: SandboxClock,
} as const

export const control = declareEndpoints({
  'health.live': {
    ...reading,
    path: '/_sandbox/livez',
    summary: 'Check that the process responds',
    is_constant: true,
    description: 'Responds as soon as the socket is open. Probes need no admin token.',
    response: Done,
  },
  'health.ready': {
    ...reading,
    path: '/_sandbox/readyz',
    summary: 'Check that the sandbox is ready',
    description:
      'Ready only after migrations and seed; the socket opens no earlier. Not ready, with a 503, while it stops and while it has lost a shared store. Probes need no admin token.',
    response: Done,
    errors: ['draining'],
  },
  'sandbox.info': {
    ...reading,
    path: '/_sandbox/info',
    summary: 'Show this sandbox',
    description: 'Version, process, address, database, clock, seed, journal and projects.',
    response: SandboxInfo,
  },
  'sandbox.integrity': {
    ...reading,
    path: '/_sandbox/integrity',
    summary: 'Check the database',
    description:
      'Runs the quick_check of SQLite, or compares the counters of a PostgreSQL store with its rows, and verifies the evidence chains. Reads the whole database.',
    response: Integrity,
  },
  'sandbox.stop': {
    ...writing,
    role: 'admin',
    path: '/_sandbox/stop',
    summary: 'Stop a running sandbox cleanly',
    description:
      'As SIGTERM does: requests in flight are finished, and the database is closed. Responds before it stops. A sandbox that a program started with startSandbox ends with that program, and responds with a 404.',
    body: NoFields,
    response: Done,
    errors: ['not_found'],
  },
  'sandbox.reset': {
    ...writing,
    role: 'admin',
    path: '/_sandbox/reset',
    summary: 'Reset to the seed',
    description:
      'Restores the seeded projects, keys and demand in one transaction, and the system time. Event sequence numbers continue.',
    body: NoFields,
    response: Done,
  },
  'sandbox.export': {
    ...reading,
    path: '/_sandbox/export',
    summary: 'Export everything as one file',
    description:
      'A consistent copy of the database, compressed with gzip. It contains hashes of keys and tokens, never the keys themselves, and no prompt text.',
    response: { media_type: 'application/gzip' },
  },
  'sandbox.import': {
    ...writing,
    role: 'admin',
    path: '/_sandbox/import',
    summary: 'Replace everything with an export',
    description:
      'The file is checked first: its version, its integrity, the evidence chains. A file that fails changes nothing. Asset tokens that were issued on another host are replaced when their decision is read again.',
    body_media_type: 'application/gzip',
    body_limit_bytes: limits.import_bytes,
    response: assumedObject('A93', () => ({
      ok: z.literal(true).describe('true when done.'),
      projects: z.int().describe('Number of projects.'),
      evidence_entries: z.int().describe('Number of entries in the evidence chains, all verified.'),
    })),
    errors: ['archive_invalid', 'archive_newer'],
  },
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
  'clock.show': {
    ...reading,
    path: '/_sandbox/clock',
    summary: 'Show the sandbox clock',
    description:
      'One clock for tokens, consent, rate windows, frequency caps, staleness and latency. It is stored in the database; a reset returns it to the system time.',
    response: SandboxClock,
  },
  'clock.advance': {
    ...steering,
    path: '/_sandbox/clock/advance',
    summary: 'Move the clock forward',
    description: 'Everything that becomes due is done before the response: pending decisions are made, in order.',
    body: assumedObject('A93', () => ({ by_ms: z.int().min(0).max(latest_ms).describe('Milliseconds to advance.') })),
  },
  'clock.set': {
    ...steering,
    path: '/_sandbox/clock/set',
    summary: 'Set the clock to a time',
    description:
      'Backward or forward. Moving back undoes nothing: existing tokens and consent last longer, fills stay counted.',
    body: assumedObject('A93', () => ({
      to_ms: z
        .int()
        .min(0)
        .max(latest_ms)
        .nullable()
        .describe('The new time, Unix epoch milliseconds; null for the system time.'),
    })),
  },
  'clock.freeze': {
    ...steering,
    path: '/_sandbox/clock/freeze',
    summary: 'Stop the clock',
    description: 'Nothing expires until it is moved or resumed; advance and set still move it.',
    body: NoFields,
  },
  'clock.resume': {
    ...steering,
    path: '/_sandbox/clock/resume',
    summary: 'Resume the clock from its current time',
    description: 'It keeps its offset from the system clock.',
    body: NoFields,
  },
  'contract.show': {
    ...reading,
    path: '/_sandbox/contract',
    summary: 'Show what is documented, observed and assumed',
    is_constant: true,
    description: 'Every field, value and rule of the contract with its provenance and decision id.',
    response: assumedObject('A93', () => ({
      endpoints: z.array(z.json()).describe('Endpoints with their fields.'),
      reason_codes: assumed(z.array(z.json()), 'A12', 'Causes of failure.'),
      no_fill_reasons: assumed(z.array(z.json()), 'A31', 'No-fill reasons.'),
    })),
  },
  'contract.openapi': {
    ...reading,
    path: '/_sandbox/openapi.json',
    summary: 'Get the OpenAPI 3.1 document',
    is_constant: true,
    description: 'v1 and the control plane, with x-provenance on every field.',
    response: z.record(z.string(), z.json()),
  },
})
