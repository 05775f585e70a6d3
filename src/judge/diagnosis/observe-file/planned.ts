/** Compares the placements that were seen with those that `svc.observe.yaml` plans. */
import { isAdRequest, openSlots } from '../exchange.ts'
import type { Journal } from '../journal.ts'
import type { LintFinding } from '../lint.ts'
import { fileFinding } from './apply.ts'
import type { ObserveFile, PlannedEntry } from './observe-file.ts'

type Seen = Pick<Journal, 'exchanges' | 'placements' | 'beacons'>

/** A kind of placement: all that have the same surface, format and position. */
interface PlacementKind {
  surface: NonNullable<PlannedEntry['surface']>
  /** Null when none of them was filled. */
  format: PlannedEntry['format'] | null
  /** Null when the request names none. */
  position: PlannedEntry['position'] | null
  count: number
  /** Events of which a beacon was accepted. */
  events: ReadonlySet<string>
}

/** Returns the kinds of placements that were seen, in the order in which they were first requested. */
export function listPlacementKinds({ exchanges, placements, beacons }: Seen): PlacementKind[] {
  const positions = new Map(
    exchanges.filter(isAdRequest).flatMap((exchange) => {
      const body = exchange.request_body as { slot_hint?: { position?: PlannedEntry['position'] } } | null
      const position = body?.slot_hint?.position ?? null
      return [exchange.slot_id, ...openSlots(exchange)].map((slot_id) => [slot_id, position] as const)
    }),
  )
  const accepted = Map.groupBy(
    beacons.filter(({ verdict }) => verdict === 'accepted'),
    ({ slot_id }) => slot_id,
  )
  const seen = placements.map(({ slot_id, job_type, format }) => ({
    ...{ surface: job_type, format, position: positions.get(slot_id) ?? null },
    events: (accepted.get(slot_id) ?? []).flatMap(({ event }) => event ?? []),
  }))
  const groups = Map.groupBy(seen.toReversed(), ({ surface, format, position }) => `${surface} ${format} ${position}`)
  return [...groups.values()].map((group) => ({
    ...group[0]!,
    count: group.length,
    events: new Set(group.flatMap(({ events }) => events)),
  }))
}

/** Returns a finding for each planned placement that was not seen, and for each kind that was and is not planned. */
export function judgePlanned({ expect: planned }: ObserveFile, seen: Seen): LintFinding[] {
  if (planned === null) return []
  const kinds = listPlacementKinds(seen)
  const unseen = planned.flatMap((entry) => {
    const problem = explainUnseen(entry, kinds)
    return problem === null ? [] : [fileFinding('planned-unseen', entry, problem)]
  })
  const unplanned = kinds.filter((kind) => !planned.some((entry) => isPlanned(entry, kind)))
  const at = planned[0] ?? { line: 1, column: 1 }
  return [
    ...unseen,
    ...unplanned.map((kind) => fileFinding('unplanned-seen', at, `Seen and not planned: ${describe(kind)}.`)),
  ]
}

/** A placement that was never filled has no format: it is planned if the rest is. */
function isPlanned(entry: PlannedEntry, { surface, format, position }: PlacementKind): boolean {
  return (
    (entry.surface === undefined || entry.surface === surface) &&
    (entry.format === undefined || format === null || entry.format === format) &&
    (entry.position === undefined || entry.position === position)
  )
}

function explainUnseen(entry: PlannedEntry, kinds: readonly PlacementKind[]): string | null {
  const own = kinds.filter((kind) => isPlanned(entry, kind))
  const filled = own.filter(({ format }) => format !== null)
  const what = describe(entry)
  if (own.length === 0) return `Planned and never requested: ${what}.`
  if (filled.length === 0) return `Planned and never filled: ${what}.`
  const missing = (entry.events ?? []).filter((event) => !filled.some(({ events }) => events.has(event)))
  if (missing.length === 0) return null
  return `Planned, and no ${missing.join(' and no ')} of it was accepted: ${what}.`
}

function describe({
  surface,
  format,
  position,
}: Pick<PlacementKind | PlannedEntry, 'surface' | 'format' | 'position'>): string {
  const fields = Object.entries({ surface, format, position }).flatMap(([name, value]) =>
    value === undefined || value === null ? [] : `${name} ${value}`,
  )
  return fields.join(', ')
}
