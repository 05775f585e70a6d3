import { z } from 'zod'
import { endpoint, reading } from '../endpoint.ts'
import { EpochMs } from '../fields.ts'
import { assumed } from '../provenance.ts'

const common = {
  ...reading,
  query: z.strictObject({}),
  errors: ['origin_refused', 'internal_error'],
} as const

export const getLiveness = endpoint({
  ...common,
  id: 'health.live',
  path: '/_sandbox/livez',
  summary: 'Whether the process answers',
  description: 'Answers as soon as the socket is open.',
  response: z.strictObject({ ok: assumed(z.literal(true), 'A93', 'Always true.') }),
})

export const getReadiness = endpoint({
  ...common,
  id: 'health.ready',
  path: '/_sandbox/readyz',
  summary: 'Whether the sandbox is ready',
  description: 'Ready only after migrations and seed; the socket opens no earlier.',
  response: z.strictObject({ ok: assumed(z.literal(true), 'A93', 'Always true: an unready sandbox does not answer.') }),
})

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

export const getInfo = endpoint({
  ...common,
  id: 'sandbox.info',
  path: '/_sandbox/info',
  summary: 'What this sandbox is',
  description: 'Version, process, address, database, clock, seed, journal and projects.',
  response: SandboxInfo,
})
