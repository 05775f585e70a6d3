/** Compares a text of own counts with what a service has accepted, for the command line and for the tools of agents. */

import { type Client, nextCursor } from '#client/client.ts'
import type { Mode } from '#contract/fields.ts'
import { parseSince, sinceMs } from '#foundation/duration.ts'
import { withoutUndefined } from '#foundation/json.ts'
import { CliError, nothingChecked } from '#text/cli-error.ts'
import { oneLine } from '#text/terminal.ts'
import { parseDayExample } from './cells/calendar.ts'
import { parseNumberExample } from './cells/numbers.ts'
import { parseMap } from './columns.ts'
import { refuseFarDays } from './compared-span.ts'
import type { Scope } from './difference.ts'
import { type DecodedFile, decodeOwnFile } from './file-bytes.ts'
import type { OwnCounts } from './own-counts.ts'
import { parseOwnFile } from './own-file.ts'
import { OwnFileError } from './own-file-error.ts'
import { type OwnReport, type OwnSettings, readOwnReport } from './own-report.ts'
import { reconcile as compareCounts, defaultMode, describeNothing, type Reconciliation } from './reconciliation.ts'
import { readTurns, type TurnSource, type Turns } from './turns.ts'

/** What of the service is compared. */
export interface ServiceScope {
  /** The filter of a project; empty for all. */
  project: { client_id?: string }
  /** Default: that of the turns that the file names. */
  mode: Mode | 'all' | undefined
  /** A span, a time, or epoch milliseconds. */
  since: string | undefined
  until: string | undefined
  tolerance_percent: number
}

interface ServiceComparison extends Reconciliation {
  /** What messages call the text. */
  file: string
  columns: OwnReport['columns']
  other_events: OwnCounts['other_events']
  zeros: OwnCounts['zeros']
  left_out: OwnCounts['left_out']
  unread: OwnCounts['unread']
  encoding: DecodedFile['encoding']
  /** Refused beacons that belong to no turn. */
  stray_beacons: number
}

/** What flags and inputs say about a file. */
interface OwnTexts {
  /** Columns and events as `own=theirs`. */
  map: readonly string[]
  /** Examples: `1.234,5`, `31.12.2026`. */
  numbers: string | undefined
  dates: string | undefined
}

interface OwnSource {
  /** What messages call it. */
  name: string
  bytes: Uint8Array
}

/** The counts of a file, and the encoding it was read in. */
export type OwnFileReport = OwnReport & Pick<DecodedFile, 'encoding'>

/** Returns the counts of a file. Throws CliError. */
export function readOwnBytes({ name, bytes }: OwnSource, texts: OwnTexts): OwnFileReport {
  const settings = refuse('map_invalid', '', () => parseSettings(texts))
  const report = refuse('file_invalid', `${name}: `, () => {
    const { text, encoding } = decodeOwnFile(bytes)
    const report = readOwnReport(parseOwnFile(text, settings.map), settings)
    return report === null ? null : { ...report, encoding }
  })
  if (report !== null) return report
  throw nothingChecked(`There is no row in ${name}.`, 'It needs a header and a row for each slot, session or day.')
}

function parseSettings({ map, numbers, dates }: OwnTexts): OwnSettings {
  return {
    map: parseMap(map),
    decimal:
      numbers === undefined ? null : (parseNumberExample(numbers) ?? refuseExample('numbers', '1.234,5 or 1,234.5')),
    order: dates === undefined ? null : (parseDayExample(dates) ?? refuseExample('dates', '31.12.2026 or 12/31/2026')),
  }
}

function refuseExample(name: string, examples: string): never {
  throw new OwnFileError(`${name} is no example that can be read.`, `Give ${examples}.`)
}

interface LoadOptions {
  /** The counts that are compared. */
  own: OwnCounts
  signal: AbortSignal
  /** Called with the number of turns read so far. */
  onRead?: (turns: number) => void
}

/** Resolves to the turns of a project that a file is compared with. */
export async function loadTurns(
  api: Client,
  { project, since, until }: Pick<ServiceScope, 'project' | 'since' | 'until'>,
  { own, signal, ...options }: LoadOptions,
): Promise<Turns> {
  const readNow = async () => (await api.clock.show({}, { signal })).now_ms
  const span = await readScope({ mode: 'all', ...withoutUndefined({ since, until }) }, readNow)
  const source: TurnSource = {
    async placements(page) {
      const read = await api.placements.list({ query: { ...project, ...page } }, { signal })
      return { items: read.items, next_cursor: nextCursor(read, page.cursor ?? null) }
    },
    async beacons(page) {
      const read = await api.beacons.list({ query: { ...project, ...page } }, { signal })
      return { items: read.items, next_cursor: nextCursor(read, page.cursor ?? null) }
    },
  }
  return readTurns(source, { own, span, ...options })
}

/** Resolves to the differences. Throws CliError when there is nothing to compare. */
export async function compareWithTurns(
  { name, own }: { name: string; own: OwnFileReport },
  { turns, stray_beacons, others }: Turns,
  { tolerance_percent, ...limits }: ServiceScope,
  readNow: () => Promise<number>,
): Promise<ServiceComparison> {
  refuse('file_invalid', `${name}: `, () => refuseFarDays(own.counts, [...turns, ...others]))
  const scope = await readScope({ mode: defaultMode(own.counts, turns), ...withoutUndefined(limits) }, readNow)
  const result = compareCounts(own.counts, turns, scope, tolerance_percent)
  const nothing = describeNothing(own.counts, result, { file: name, is_empty: turns.length + others.length === 0 })
  if (nothing !== null) throw nothingChecked(nothing.message, nothing.command_hint)
  const { columns, encoding, counts } = own
  const { other_events, zeros, left_out, unread } = counts
  return { file: name, ...result, columns, encoding, zeros, left_out, unread, other_events, stray_beacons }
}

/** Returns what `read` does, with what it cannot read as an error of usage. */
function refuse<T>(code: string, about: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof OwnFileError)) throw error
    // A value of the file cannot start a line of its own.
    const message = [about + error.message, ...error.rows].map(oneLine).join('\n  ')
    throw new CliError('usage', error.rows.length > 0 ? 'rows_invalid' : code, message, error.command_hint)
  }
}

async function readScope(
  { mode, since, until }: { mode: Scope['mode']; since?: string; until?: string },
  readNow: () => Promise<number>,
): Promise<Scope> {
  const now_ms = since === undefined && until === undefined ? 0 : await readNow()
  const time_ms = (text: string | undefined) => {
    const start = parseSince(text ?? '')
    return start === null ? null : sinceMs(start, now_ms)
  }
  return { mode, since_ms: time_ms(since), until_ms: time_ms(until) }
}
