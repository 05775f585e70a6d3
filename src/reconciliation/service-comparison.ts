/** Compares a text of own counts with what a service has accepted, for the command line and for the tools of agents. */
import { oneLine } from '#cli/output/terminal.ts'
import { CliError, nothingChecked } from '#cli/run/errors.ts'
import { type Client, nextCursor } from '#client/client.ts'
import type { Mode } from '#contract/fields.ts'
import { parseSince, sinceMs } from '#foundation/duration.ts'
import { parseColumnMap } from './columns.ts'
import type { Scope } from './difference.ts'
import type { OwnCounts } from './own-counts.ts'
import { OwnFileError, parseOwnFile } from './own-file.ts'
import {
  reconcile as compareCounts,
  defaultMode,
  type OwnReport,
  type Reconciliation,
  readOwnReport,
} from './reconciliation.ts'
import { readTurns, type Turns } from './turns.ts'

/** What of the service is compared. */
export interface ServiceScope {
  /** The filter of a project; empty for all. */
  project: { client_id?: string }
  /** Default: live where there is any. */
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
  /** Refused beacons that belong to no turn. */
  stray_beacons: number
}

/** Returns the counts of a text. `map` has columns as `own=theirs`. Throws CliError. @param name what messages call it */
export function readOwnText(text: string, name: string, map: readonly string[]): OwnReport {
  const mapped = refuse('map_invalid', '', () => parseColumnMap(map))
  const report = refuse('file_invalid', `${name}: `, () => readOwnReport(parseOwnFile(text), mapped))
  if (report !== null) return report
  throw nothingChecked(`There is no row in ${name}.`, 'It needs a header and a row for each slot, session or day.')
}

/** Resolves to all turns of a project. */
export function loadTurns(api: Client, project: ServiceScope['project'], signal: AbortSignal): Promise<Turns> {
  return readTurns({
    async placements(page) {
      const read = await api.placements.list({ query: { ...project, ...page } }, { signal })
      return { items: read.items, next_cursor: nextCursor(read, page.cursor ?? null) }
    },
    async beacons(page) {
      const read = await api.beacons.list({ query: { ...project, ...page } }, { signal })
      return { items: read.items, next_cursor: nextCursor(read, page.cursor ?? null) }
    },
  })
}

/** Resolves to the differences. Throws CliError when there is nothing to compare. */
export async function compareWithTurns(
  { name, own }: { name: string; own: OwnReport },
  { turns, stray_beacons }: Turns,
  { tolerance_percent, ...limits }: ServiceScope,
  readNow: () => Promise<number>,
): Promise<ServiceComparison> {
  const scope = await readScope(limits, turns, readNow)
  const result = compareCounts(own.counts, turns, scope, tolerance_percent)
  const counted = result.totals.reduce((sum, total) => sum + total.own + total.accepted, 0)
  if (counted === 0 && turns.length === 0) {
    const message = `There is nothing to compare: ${name} counts 0, and the sandbox has no turn.`
    throw nothingChecked(message, 'Play a turn first: svc trigger')
  }
  return { file: name, ...result, columns: own.columns, other_events: own.counts.other_events, stray_beacons }
}

/** Returns what `read` does, with what it cannot read as an error of usage. */
function refuse<T>(code: string, about: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof OwnFileError)) throw error
    // A value of the file cannot start a line of its own.
    const message = [about + error.message, ...error.rows].map(oneLine).join('\n  ')
    throw new CliError('usage', error.rows.length > 0 ? 'rows_invalid' : code, message, error.hint)
  }
}

async function readScope(
  { mode, since, until }: Pick<ServiceScope, 'mode' | 'since' | 'until'>,
  turns: Turns['turns'],
  readNow: () => Promise<number>,
): Promise<Scope> {
  const now_ms = since === undefined && until === undefined ? 0 : await readNow()
  const time_ms = (text: string | undefined) => {
    const start = parseSince(text ?? '')
    return start === null ? null : sinceMs(start, now_ms)
  }
  return { mode: mode ?? defaultMode(turns), since_ms: time_ms(since), until_ms: time_ms(until) }
}
