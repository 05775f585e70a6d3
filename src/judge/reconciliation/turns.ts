/** What the sandbox knows of each turn: its decision, whether its frame was loaded, and its beacons with their verdicts. */
import { maxSlotIds } from '#contract/limits.ts'
import type { Metric } from '#contract/resources/beacons.ts'
import type { PlacementItem, SlotBeacon } from '#contract/resources/placements.ts'
import { joinSpans, type Span, spanOfFile, spanOfTurns } from './compared-span.ts'
import type { OwnCounts } from './own-counts.ts'

export type TurnBeacon = SlotBeacon

export interface Turn
  extends Pick<
    PlacementItem,
    'slot_id' | 'session_id' | 'mode' | 'fill' | 'no_fill_reason' | 'created_at_ms' | 'decided_at_ms'
  > {
  is_framed: boolean
  /** In the order of their arrival; heartbeats only where there is no other. */
  beacons: readonly TurnBeacon[]
}

interface ListPage<Item> {
  items: readonly Item[]
  next_cursor: string | null
}

/** A page of a span; times are epoch milliseconds as text. */
interface PageQuery {
  limit: number
  cursor?: string
  since?: string
  until?: string
}

/** Reads the lists of a sandbox, a page each. */
export interface TurnSource {
  placements(page: PageQuery & { with_beacons?: 'true'; slot_ids?: string }): Promise<ListPage<PlacementItem>>
  beacons(page: PageQuery & { without_slot: 'true' }): Promise<ListPage<unknown>>
}

export interface Turns {
  turns: readonly Turn[]
  /** Refused beacons whose asset token names no slot: they belong to no turn. */
  stray_beacons: number
  /** Turns of other days, one at least: only where none is compared; empty for a sandbox without a turn. */
  others: readonly Pick<Turn, 'created_at_ms'>[]
}

interface ReadOptions {
  /** Only the turns that are compared with this file; by default all. */
  own?: OwnCounts
  /** The compared span, where one is given. */
  span?: Span
  /** Called with the number of turns read so far. */
  onRead?: (turns: number) => void
}

/** Resolves to the turns of a sandbox, oldest first. A turn that comes while they are read is left out. */
export async function readTurns(source: TurnSource, { own, span, onRead }: ReadOptions = {}): Promise<Turns> {
  const wanted = own === undefined ? null : joinSpans(await findSpan(source, own), span)
  const query = spanQuery(wanted)
  const named = own?.key === 'slot_id' ? new Set(own.rows.map(({ key }) => key)) : null
  const turns: Turn[] = []
  for await (const items of readPages((page) => source.placements({ ...page, ...query, with_beacons: 'true' }))) {
    for (const item of items) turns.push(toTurn(item, named === null || named.has(item.slot_id)))
    onRead?.(turns.length)
  }
  let stray_beacons = 0
  for await (const items of readPages((page) => source.beacons({ ...page, ...query, without_slot: 'true' }))) {
    stray_beacons += items.length
  }
  const others = turns.length > 0 ? [] : (await source.placements({ limit: 1 })).items
  return { turns: turns.reverse(), stray_beacons, others }
}

/** A file that names more slots is compared with all turns: finding them one by one would take longer. */
const maxNamedSlots = 20_000

/** Resolves to the span of the turns that a file is compared with; null where only all turns show it. */
async function findSpan(source: TurnSource, own: OwnCounts): Promise<Span | null> {
  if (own.key === 'day') return spanOfFile(own)
  const slots = own.key === 'slot_id' ? [...new Set(own.rows.map(({ key }) => key))] : []
  if (slots.length === 0 || slots.length > maxNamedSlots) return null
  const created: { created_at_ms: number }[] = []
  for (const slot_ids of joinInBatches(slots)) {
    for await (const items of readPages((page) => source.placements({ ...page, slot_ids }))) {
      for (const { created_at_ms } of items) created.push({ created_at_ms })
    }
  }
  return spanOfTurns(created)
}

/** Characters of slots that fit into a request line; those of a recording may have long identifiers. */
const maxSlotChars = 8_500

function* joinInBatches(slots: readonly string[]): Generator<string> {
  let batch: string[] = []
  let chars = 0
  for (const slot of slots) {
    if (batch.length === maxSlotIds || chars + slot.length >= maxSlotChars) {
      yield batch.join(',')
      batch = []
      chars = 0
    }
    batch.push(slot)
    chars += slot.length + 1
  }
  if (batch.length > 0) yield batch.join(',')
}

function spanQuery(span: Span | null): Pick<PageQuery, 'since' | 'until'> {
  const { since_ms = null, until_ms = null } = span ?? {}
  return {
    ...(since_ms !== null && { since: String(Math.max(0, since_ms)) }),
    ...(until_ms !== null && { until: String(Math.max(0, until_ms)) }),
  }
}

const noBeacons: readonly TurnBeacon[] = []

/**
 * Returns a turn without the fields that are not compared: a sandbox may have a million. Of one that a file of slots does not
 * name, only the beacons that count can differ.
 */
function toTurn({ framed = false, beacons = [], ...placement }: PlacementItem, isNamed: boolean): Turn {
  const { slot_id, session_id, mode, fill, no_fill_reason, created_at_ms, decided_at_ms } = placement
  return {
    ...{ slot_id, session_id, mode, fill, no_fill_reason, created_at_ms, decided_at_ms },
    is_framed: framed,
    beacons: compact(isNamed ? beacons : beacons.filter(({ metric }) => metric !== null)),
  }
}

/** The same words occur in each beacon: each is kept once. */
const words = new Map<unknown, unknown>()

function compact(beacons: readonly TurnBeacon[]): readonly TurnBeacon[] {
  if (beacons.length === 0) return noBeacons
  return beacons.map(({ event, verdict, reason_code, metric, occurred_at_ms, received_at_ms }) => ({
    event: keepOnce(event),
    verdict: keepOnce(verdict),
    reason_code: keepOnce(reason_code),
    metric: keepOnce(metric),
    occurred_at_ms,
    received_at_ms,
  }))
}

function keepOnce<Word>(word: Word): Word {
  if (!words.has(word)) words.set(word, word)
  return words.get(word) as Word
}

const pageSize = 1_000

/** Yields the items of each page, newest first. */
async function* readPages<Item>(
  read: (page: Pick<PageQuery, 'limit' | 'cursor'>) => Promise<ListPage<Item>>,
): AsyncGenerator<readonly Item[]> {
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const { items, next_cursor }: ListPage<Item> = await read({
      limit: pageSize,
      ...(cursor === undefined ? {} : { cursor }),
    })
    yield items
    cursor = next_cursor
  }
}

/** Returns the beacon that counted for a metric, or null. */
export function findCounted({ beacons }: Turn, metric: Metric): TurnBeacon | null {
  return beacons.find((beacon) => beacon.metric === metric) ?? null
}
