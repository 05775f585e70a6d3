/** The tool `reconcile`: own counts beside those accepted, as `svc beacons reconcile` compares them. */
import { z } from 'zod'
import type { Mode } from '#contract/fields.ts'
import { withoutUndefined } from '#foundation/json.ts'
import { tableNames } from '#foundation/table-entry.ts'
import { causes } from '#reconciliation/causes.ts'
import { metrics, ownFields } from '#reconciliation/column-words.ts'
import { describeBadPercent, parsePercent } from '#reconciliation/difference.ts'
import { compareWithTurns, loadTurns, readOwnBytes } from '#reconciliation/service-comparison.ts'
import { CliError } from '#text/cli-error.ts'
import { requireLocal, type SandboxAccess } from './access.ts'
import { readSince } from './since.ts'
import type { Tool } from './tool.ts'

const modes = ['live', 'test', 'all'] as const satisfies readonly (Mode | 'all')[]

const text = z
  .string()
  .max(500_000)
  .describe('CSV, TSV or JSON: a row for each slot, asset token, session or day (UTC), or for each event.')

const options = {
  map: z
    .array(z.string().max(300))
    .max(20)
    .optional()
    .describe(
      'Columns and events that are not found by their names, as own=theirs: Ad views=viewable_impression; =none leaves one out.',
    ),
  numbers: z.string().max(20).optional().describe('How numbers are written: 1.234,5 or 1,234.5. Default: by the file.'),
  dates: z
    .string()
    .max(20)
    .optional()
    .describe('How days are written: 31.12.2026 or 12/31/2026. Default: by the file.'),
  tolerance: z.string().max(20).optional().describe('Largest deviation of a metric that is ok: 1%. Default 0%.'),
  mode: z.enum(modes).optional().describe('Traffic that counts. Default: that of the turns in the file.'),
  since: z.string().max(40).optional().describe('Only since then: 10m, a time, or epoch milliseconds.'),
  until: z.string().max(40).optional().describe('Only before then.'),
  client_id: z.string().max(64).optional().describe('Only this project.'),
}

const Metric = z.enum(metrics)
const explanation = {
  cause: z.enum(tableNames(causes)),
  reason_code: z.string().regex(/^\w+$/).nullable(),
  metric: Metric,
}
const turnCounts = z.strictObject({ live: z.int(), test: z.int() })
const sums = { own: z.number(), accepted: z.number(), difference: z.number() }

const output = z.strictObject({
  file: z.string(),
  ok: z
    .boolean()
    .describe('Whether something was compared, and every metric is within the tolerance and has a column.'),
  key: z.enum(['slot_id', 'session_id', 'day']),
  mode: z.enum(modes),
  modes: z
    .strictObject({ file: turnCounts, sandbox: turnCounts })
    .describe('The turns that the file names, and all of the sandbox, by their mode.'),
  tolerance_percent: z.number(),
  totals: z.array(
    z.strictObject({
      metric: Metric,
      ...sums,
      percent: z.number().nullable(),
      deviation_percent: z.number().nullable(),
      is_within: z.boolean(),
    }),
  ),
  causes: z
    .array(
      z.strictObject({
        ...explanation,
        is_possible: z.boolean().describe('Of sums, which do not show which turns differ.'),
        count: z.int(),
        difference: z.number().describe('The part of the total difference that it explains.'),
        deviation: z.number().describe('The same without signs.'),
        meaning: z.string(),
        change: z.string(),
      }),
    )
    .describe('Those that explain most first.'),
  differences: z.array(
    z.strictObject({
      ...explanation,
      slot_id: z.string().nullable(),
      session_id: z.string().nullable(),
      day: z.string().nullable(),
      ...sums,
      lines: z.array(z.int()).describe('Lines of the file.'),
      is_possible: z.boolean(),
      possible: z
        .array(z.strictObject({ cause: explanation.cause, reason_code: explanation.reason_code, turns: z.int() }))
        .describe('Of a sum: every cause that there is evidence of.'),
      meaning: z.string(),
    }),
  ),
  days: z
    .strictObject({ first: z.string(), last: z.string(), zone: z.string() })
    .nullable()
    .describe(
      'The days of the file, in its zone, of which turns are compared; null for all turns, or those of since and until.',
    ),
  missing_metrics: z.array(Metric).describe('Counted here; no column or event of the file was found.'),
  doubtful_columns: z
    .array(z.string())
    .describe(
      'Columns or events that were not read and may count a missing metric: ok is false. Give map for a column.',
    ),
  clock_offset_ms: z.number(),
  day_shift_ms: z.number(),
  day_shift_range_ms: z
    .strictObject({ from: z.number(), to: z.number() })
    .nullable()
    .describe('The shifts that fit as well.'),
  rows_outside: z.int(),
  columns: z
    .array(z.strictObject({ column: z.string(), field: z.enum(ownFields), format: z.string().nullable() }))
    .describe('Which were read, and how their values are written.'),
  encoding: z.enum(['UTF-8', 'UTF-16', 'Windows-1252']),
  zeros: z
    .array(z.strictObject({ text: z.string(), cells: z.int() }))
    .describe('Cells of counts read as 0 without a number, by text; empty: no text.'),
  left_out: z
    .array(z.strictObject({ line: z.int(), reason: z.enum(['total', 'note', 'header', 'sum']), text: z.string() }))
    .describe('Rows of the file that are no counts.'),
  unread: z
    .array(z.strictObject({ column: z.string(), kind: z.enum(['count', 'amount', 'other']) }))
    .describe('Columns that were not read.'),
  other_events: z.array(z.strictObject({ event: z.string(), rows: z.int() })).describe('Not compared: no metric.'),
  stray_beacons: z.int(),
})

const common = {
  name: 'reconcile',
  command: 'beacons reconcile',
  title: 'Compare your own counts with those accepted, and explain each difference',
  description:
    'Totals by metric, the causes with the part of the difference that each explains and what to change, and each turn that differs. Columns are found by their names: slot_id, session_id, day, time, rendered_impression, viewable_impression, click, completed_view, or usual names of them.',
  effect: 'reads',
  isIdempotent: true,
  output,
  narrower: 'Give fewer rows, or since and until. causes and totals are about all of them.',
} as const satisfies Partial<Tool>

/** For a server of a sandbox. */
export const reconcileText: Tool = {
  ...common,
  input: z.strictObject({ text, ...options }),
  call: (access, { text, ...input }, signal) =>
    reconcile(access, { name: 'text', bytes: encode(text) }, { input, signal }),
}

/** For a server on the user's computer. */
export const reconcileFile: Tool = {
  ...common,
  input: z.strictObject({
    file: z.string().min(1).max(500).optional().describe('A file of the folder of this server.'),
    text: text.optional(),
    ...options,
  }),
  async call(access, { file, text, ...input }, signal) {
    if ((file === undefined) === (text === undefined)) {
      const message = file === undefined ? 'file and text are missing.' : 'file and text are both given.'
      throw new CliError('usage', 'input_invalid', message, 'Give one of them.')
    }
    const counts =
      file === undefined
        ? { name: 'text', bytes: encode(text) }
        : { name: String(file), bytes: await requireLocal(access).readBytes(String(file)) }
    return reconcile(access, counts, { input, signal })
  },
}

function encode(text: unknown): Uint8Array {
  return new TextEncoder().encode(String(text))
}

async function reconcile(
  access: SandboxAccess,
  { name, bytes }: { name: string; bytes: Uint8Array },
  { input, signal }: { input: Readonly<Record<string, unknown>>; signal: AbortSignal },
) {
  const {
    map = [],
    numbers,
    dates,
    tolerance,
    mode,
    client_id,
  } = input as {
    map?: string[]
    numbers?: string
    dates?: string
    tolerance?: string
    mode?: (typeof modes)[number]
    client_id?: string
  }
  const own = readOwnBytes({ name, bytes }, { map, numbers, dates })
  const client = await access.client()
  const project = withoutUndefined({ client_id })
  // An unknown project is refused: every list of it would be empty.
  if (client_id !== undefined) await client.projects.show({ params: { client_id } }, { signal })
  const readNow = async () => (await client.clock.show({}, { signal })).now_ms
  const limit = (value: unknown) => (value === undefined ? undefined : readSince(String(value)))
  const scope = { project, mode, since: limit(input.since), until: limit(input.until) }
  const tolerance_percent = readTolerance(tolerance)
  const turns = await loadTurns(client, scope, { own: own.counts, signal })
  return compareWithTurns({ name, own }, turns, { ...scope, tolerance_percent }, readNow)
}

function readTolerance(text = '0%'): number {
  const percent = parsePercent(text)
  if (percent !== null) return percent
  throw new CliError('usage', 'input_invalid', `tolerance is ${text}.`, describeBadPercent(text))
}
