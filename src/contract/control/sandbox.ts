import { z } from 'zod'
import { declareEndpoints, reading, writeErrors, writing } from '../endpoint.ts'
import { EpochMs } from '../fields.ts'
import { limits } from '../limits.ts'
import { assumed, assumedObject } from '../provenance.ts'
import { EvidenceVerification } from './evidence.ts'

const common = {
  ...reading,
  query: z.strictObject({}),
  errors: ['origin_refused', 'internal_error'],
} as const

export const SandboxInfo = assumedObject('A93', {
  version: z.string().describe('Version of svc.'),
  pid: z.int().describe('Process identifier.'),
  url: z.string().describe('Base URL.'),
  inspector_url: z.string().describe('Address of the inspector.'),
  database: z.string().describe('Path of the database file, or :memory:.'),
  schema_version: z.int().describe('Number of the last migration.'),
  seed: z.int().nullable().describe('Seed, or null when identifiers and tokens are random.'),
  clock: assumedObject('A93', {
    now_ms: EpochMs.describe('Sandbox time, Unix epoch milliseconds.'),
    offset_ms: z.int().describe('Ahead of the system clock, milliseconds.'),
    frozen: z.boolean().describe('Whether it stands still.'),
  }).describe('One clock for tokens, consent, rate windows, staleness and latency.'),
  journal: assumedObject('A93', {
    enabled: z.boolean().describe('Whether exchanges are recorded.'),
    limit: z.int().describe('Most exchanges kept; the oldest go first.'),
    size: z.int().describe('Exchanges kept now.'),
    dropped: z.int().describe('Exchanges that have been dropped for the limit.'),
  }).describe('The request journal. It is bounded.'),
  events: assumedObject('A93', {
    limit: z.int().describe('Most events kept; the oldest go first.'),
    size: z.int().describe('Events kept now.'),
    dropped: z.int().describe('Events that have been dropped for the limit.'),
    last_dropped_seq: z.int().describe('Sequence number of the last of those; 0 when there are none.'),
  }).describe('Events that a stream can be resumed from. They are bounded.'),
  projects: z
    .array(
      assumedObject('A93', {
        client_id: z.string().describe('Project ID.'),
        allowed_origins: z.array(z.string()).describe('Origins that may activate and embed.'),
        config_revision: assumed(z.int(), 'A80', 'Grows with every change of the settings.'),
      }),
    )
    .describe('Projects of this sandbox. Never a key.'),
  warnings: z.array(z.string()).describe('What a person should know about this sandbox.'),
})
export type SandboxInfo = z.infer<typeof SandboxInfo>

export const Integrity = assumedObject('A93', {
  ok: z.boolean().describe('Whether the database and every evidence chain hold.'),
  database: assumedObject('A93', {
    ok: z.boolean().describe('Whether SQLite found nothing wrong.'),
    problems: z.array(z.string()).describe('What SQLite found, at most 20 lines.'),
  }).describe('quick_check of SQLite.'),
  evidence: assumed(EvidenceVerification, 'A77', 'The evidence chains, as evidence/verify answers them.'),
})
export type Integrity = z.infer<typeof Integrity>

export const endpoints = declareEndpoints({
  'health.live': {
    ...common,
    path: '/_sandbox/livez',
    summary: 'Whether the process answers',
    description: 'Answers as soon as the socket is open.',
    response: assumedObject('A93', { ok: z.literal(true).describe('Always true.') }),
  },
  'health.ready': {
    ...common,
    path: '/_sandbox/readyz',
    summary: 'Whether the sandbox is ready',
    description: 'Ready only after migrations and seed; the socket opens no earlier.',
    response: assumedObject('A93', {
      ok: z.literal(true).describe('Always true: an unready sandbox does not answer.'),
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
    response: assumedObject('A93', { ok: z.literal(true).describe('true when done.') }),
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
    response: assumedObject('A93', {
      ok: z.literal(true).describe('true when done.'),
      projects: z.int().describe('Projects there are now.'),
      evidence_entries: z.int().describe('Entries of the evidence chains, all verified.'),
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
