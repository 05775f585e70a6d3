/** What the sandbox knows of each turn: its decision, whether its frame was loaded, and its beacons with their verdicts. */
import type { BeaconItem, Metric } from '#contract/resources/beacons.ts'
import type { PlacementItem } from '#contract/resources/placements.ts'

export type TurnBeacon = Pick<
  BeaconItem,
  'event' | 'verdict' | 'reason_code' | 'metric' | 'occurred_at_ms' | 'received_at_ms'
>

export interface Turn
  extends Pick<
    PlacementItem,
    'slot_id' | 'session_id' | 'mode' | 'fill' | 'no_fill_reason' | 'created_at_ms' | 'decided_at_ms'
  > {
  is_framed: boolean
  /** In the order of their arrival. */
  beacons: readonly TurnBeacon[]
}

interface ListPage<Item> {
  items: readonly Item[]
  next_cursor: string | null
}

interface PageQuery {
  limit: number
  cursor?: string
}

/** Reads the lists of a sandbox, a page each. */
interface TurnSource {
  placements(page: PageQuery & { reached?: 'framed' }): Promise<ListPage<PlacementItem>>
  beacons(page: PageQuery): Promise<ListPage<BeaconItem & { slot_id: string | null }>>
}

export interface Turns {
  turns: readonly Turn[]
  /** Refused beacons whose asset token names no slot: they belong to no turn. */
  stray_beacons: number
}

/** Resolves to all turns of the lists, oldest first. A turn that comes while they are read is left out. */
export async function readTurns(source: TurnSource): Promise<Turns> {
  const placements = await readPages((page) => source.placements(page))
  const framed = await readPages((page) => source.placements({ ...page, reached: 'framed' }))
  const beacons = await readPages((page) => source.beacons(page))
  const framedSlots = new Set(framed.map(({ slot_id }) => slot_id))
  const beaconsBySlot = Map.groupBy(beacons.toReversed(), ({ slot_id }) => slot_id)
  return {
    turns: placements.toReversed().map((placement) => ({
      ...placement,
      is_framed: framedSlots.has(placement.slot_id),
      beacons: beaconsBySlot.get(placement.slot_id) ?? [],
    })),
    stray_beacons: beaconsBySlot.get(null)?.length ?? 0,
  }
}

const pageSize = 1_000

/** Resolves to the items of all pages, newest first. */
async function readPages<Item>(read: (page: PageQuery) => Promise<ListPage<Item>>): Promise<Item[]> {
  const found: Item[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const { items, next_cursor }: ListPage<Item> = await read({
      limit: pageSize,
      ...(cursor === undefined ? {} : { cursor }),
    })
    found.push(...items)
    cursor = next_cursor
  }
  return found
}

/** Returns the beacon that counted for a metric, or null. */
export function findCounted({ beacons }: Turn, metric: Metric): TurnBeacon | null {
  return beacons.find((beacon) => beacon.metric === metric) ?? null
}
