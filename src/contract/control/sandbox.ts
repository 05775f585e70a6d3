import { z } from 'zod'
import { declareEndpoints, reading, writeErrors, writing } from '../endpoint.ts'
import { EpochMs } from '../fields.ts'
import { limits } from '../limits.ts'
import { assumed } from '../provenance.ts'
import { EvidenceVerification } from './evidence.ts'

const common = {
  ...reading,
  query: z.strictObject({}),
  errors: ['origin_refused', 'internal_error'],
} as const

export const SandboxInfo = z.strictObject({
  version: assumed(z.string(), 'A93', 'Version of svc.'),
  pid: assumed(z.int(), 'A93', 'Process identifier.'),
  url: assumed(z.string(), 'A93', 'Base URL.'),
  inspector_url: assumed(z.string(), 'A93', 'Address of the inspector.'),
  database: assumed(z.string(), 'A93', 'Path of the database file, or :memory:.'),
  schema_version: assumed(z.int(), 'A93', 'Number of the last migration.'),
  seed: assumed(z.int().nullable(), 'A93', 'Seed, or null when identifiers and tokens are random.'),
  clock: assumed(
    z.strictObject({
      now_ms: assumed(EpochMs, 'A93', 'Sandbox time, Unix epoch milliseconds.'),
      offset_ms: assumed(z.int(), 'A93', 'Ahead of the system clock, milliseconds.'),
      frozen: assumed(z.boolean(), 'A93', 'Whether it stands still.'),
    }),
    'A93',
    'One clock for tokens, consent, rate windows, staleness and latency.',
  ),
  journal: assumed(
    z.strictObject({
      enabled: assumed(z.boolean(), 'A93', 'Whether exchanges are recorded.'),
      limit: assumed(z.int(), 'A93', 'Most exchanges kept; the oldest go first.'),
      size: assumed(z.int(), 'A93', 'Exchanges kept now.'),
      dropped: assumed(z.int(), 'A93', 'Exchanges that have been dropped for the limit.'),
    }),
    'A93',
    'The request journal. It is bounded.',
  ),
  events: assumed(
    z.strictObject({
      limit: assumed(z.int(), 'A93', 'Most events kept; the oldest go first.'),
      size: assumed(z.int(), 'A93', 'Events kept now.'),
      dropped: assumed(z.int(), 'A93', 'Events that have been dropped for the limit.'),
      last_dropped_seq: assumed(z.int(), 'A93', 'Sequence number of the last of those; 0 when there are none.'),
    }),
    'A93',
    'Events that a stream can be resumed from. They are bounded.',
  ),
  projects: assumed(
    z.array(
      z.strictObject({
        client_id: assumed(z.string(), 'A93', 'Project ID.'),
        allowed_origins: assumed(z.array(z.string()), 'A93', 'Origins that may activate and embed.'),
        config_revision: assumed(z.int(), 'A80', 'Grows with every change of the settings.'),
      }),
    ),
    'A93',
    'Projects of this sandbox. Never a key.',
  ),
  warnings: assumed(z.array(z.string()), 'A93', 'What a person should know about this sandbox.'),
})
export type SandboxInfo = z.infer<typeof SandboxInfo>

export const Integrity = z.strictObject({
  ok: assumed(z.boolean(), 'A93', 'Whether the database and every evidence chain hold.'),
  database: assumed(
    z.strictObject({
      ok: assumed(z.boolean(), 'A93', 'Whether SQLite found nothing wrong.'),
      problems: assumed(z.array(z.string()), 'A93', 'What SQLite found, at most 20 lines.'),
    }),
    'A93',
    'quick_check of SQLite.',
  ),
  evidence: assumed(EvidenceVerification, 'A77', 'The evidence chains, as evidence/verify answers them.'),
})
export type Integrity = z.infer<typeof Integrity>

export const endpoints = declareEndpoints({
  'health.live': {
    ...common,
    path: '/_sandbox/livez',
    summary: 'Whether the process answers',
    description: 'Answers as soon as the socket is open.',
    response: z.strictObject({ ok: assumed(z.literal(true), 'A93', 'Always true.') }),
  },
  'health.ready': {
    ...common,
    path: '/_sandbox/readyz',
    summary: 'Whether the sandbox is ready',
    description: 'Ready only after migrations and seed; the socket opens no earlier.',
    response: z.strictObject({
      ok: assumed(z.literal(true), 'A93', 'Always true: an unready sandbox does not answer.'),
    }),
  },
  'sandbox.info': {
    ...common,
    path: '/_sandbox/info',
    summary: 'What this sandbox is',
    description: 'Version, process, address, database, clock, seed, journal and projects.',
    response: SandboxInfo,
  },
  'sandbox.integrity': {
    ...reading,
    path: '/_sandbox/integrity',
    summary: 'Whether the database holds',
    description: 'Runs the quick_check of SQLite and verifies the evidence chains. It reads the whole database.',
    query: z.strictObject({}),
    response: Integrity,
    errors: ['origin_refused', 'internal_error'],
  },
  'sandbox.reset': {
    ...writing,
    path: '/_sandbox/reset',
    summary: 'Reset to the seed',
    description:
      'Back to the seeded projects, keys and demand in one transaction, and to the time of the machine. Event sequence numbers go on growing.',
    body: z.strictObject({}),
    response: z.strictObject({ ok: assumed(z.literal(true), 'A93', 'true when done.') }),
    errors: writeErrors,
  },
  'sandbox.export': {
    ...reading,
    path: '/_sandbox/export',
    summary: 'Export everything as one file',
    description:
      'A consistent copy of the database, compressed with gzip. It holds hashes of keys and tokens, never the keys themselves, and no prompt text.',
    query: z.strictObject({}),
    response: { media_type: 'application/gzip' },
    errors: ['field_unknown', 'origin_refused', 'storage_unavailable', 'internal_error'],
  },
  'sandbox.import': {
    ...writing,
    path: '/_sandbox/import',
    summary: 'Replace everything by an export',
    description:
      'The file is checked first: its version, its integrity, the evidence chains. A file that fails changes nothing. Asset tokens that were made on another machine are exchanged when their decision is read again.',
    body_media_type: 'application/gzip',
    body_limit_bytes: limits.import_bytes,
    response: z.strictObject({
      ok: assumed(z.literal(true), 'A93', 'true when done.'),
      projects: assumed(z.int(), 'A93', 'Projects there are now.'),
      evidence_entries: assumed(z.int(), 'A93', 'Entries of the evidence chains, all verified.'),
    }),
    errors: [
      'archive_invalid',
      'archive_newer',
      'payload_too_large',
      'content_type_unsupported',
      'origin_refused',
      'storage_unavailable',
      'internal_error',
    ],
  },
})
