import { z } from 'zod'
import { declareEndpoints, reading, writing } from '../../endpoint.ts'
import { Done, EpochMs, NoFields } from '../../fields.ts'
import { limits } from '../../limits.ts'
import { assumed, assumedObject } from '../../objects.ts'
import { EvidenceVerification } from '../evidence.ts'

export const PlaybackInfo = assumedObject('A115', () => ({
  file: z.string().nullable().describe('The HAR file; null when a program gave it as text.'),
  creator: z.string().describe('The program that recorded it.'),
  recorded_at_ms: EpochMs.describe('When its newest exchange was recorded.'),
  exchanges: z.int().describe('Exchanges that can be played.'),
  sessions: z.int().describe('Sessions that they belong to.'),
  fallback: z.boolean().describe('Whether the emulator responds to what was not recorded.'),
  played: z.int().describe('Exchanges that were played, at least once.'),
  not_recorded: z.int().describe('Requests that the recording has no response to.'),
  refused: z.int().describe('Requests that the service accepted and the emulator refused.'),
  unplayed: z
    .array(
      assumedObject('A115', () => ({
        method: z.string().describe('Method.'),
        path: z.string().describe('Path of the endpoint, with parameters in braces.'),
        count: z.int().describe('Exchanges.'),
      })),
    )
    .describe('Exchanges that no request has asked for, by endpoint.'),
}))
export type PlaybackInfo = z.infer<typeof PlaybackInfo>

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
  playback: PlaybackInfo.nullable().describe(
    'The recording that is played; null when the emulator responds by itself.',
  ),
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

/** Whether a warning of a start is about the certificate or its key: `svc doctor` reports those too. */
export function isCertificateWarning(warning: string): boolean {
  return /^the certificate |\bthe TLS key\b/.test(warning)
}

/** Clocks of nodes that differ by more than this decide differently what is expired, early or late. */
const maxClockDifferenceMs = 2_000

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
  if (apart_ms <= maxClockDifferenceMs) return []
  const name = ({ url, host }: { url: string; host: string }) => `${url} (${host})`
  return [
    `The clock of ${name(fastest)} is ${(apart_ms / 1_000).toFixed(1)} s ahead of that of ${name(slowest)}: set both to network time.`,
  ]
}

export const control = declareEndpoints({
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
})
