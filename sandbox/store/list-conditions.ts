/** The conditions of lists of slots and beacons that are the same in both adapters; each `?` stands for a value. */
import type { Conditions } from './rows.ts'
import type { BeaconStore, PlacementStore } from './store.ts'

type SlotQuery = Parameters<PlacementStore['listSlots']>[0]
type BeaconQuery = Parameters<BeaconStore['listBeacons']>[0]

/** Adds the conditions of a list of slots that are the same in both adapters. */
export function addSlotConditions(filter: Conditions, query: SlotQuery): void {
  const { fill, decided, framed, with_events, without_event, reasons, from_id } = query
  filter.add('slot.campaign_id = ?', query.campaign_id)
  filter.add('slot.format = ?', query.format)
  filter.add('job.created_at_ms >= ?', query.since_ms)
  filter.add('job.created_at_ms < ?', query.until_ms)
  if (fill !== undefined) filter.add(fill ? 'slot.format IS NOT NULL' : 'slot.no_fill_reason IS NOT NULL')
  if (decided !== undefined) filter.add(`slot.decided_at_ms IS ${decided ? 'NOT ' : ''}NULL`)
  if (framed !== undefined) filter.add(`slot.first_frame_at_ms IS ${framed ? 'NOT ' : ''}NULL`)
  if (with_events !== undefined) filter.add(hasBeacon('beacon', 'event', with_events), ...with_events)
  filter.add(`NOT ${hasBeacon('beacon', 'event', [''])}`, without_event)
  if (reasons !== undefined) {
    const { no_fill, unaccepted, events } = reasons
    const any = [
      `slot.no_fill_reason IN (${places(no_fill)})`,
      hasBeacon('aside_beacon', 'reason_code', unaccepted),
      hasBeacon('beacon', 'event', events),
    ]
    const kinds = [no_fill, unaccepted, events]
    const asked = any.filter((_, index) => kinds[index]!.length > 0)
    filter.add(asked.length === 0 ? '1 = 0' : `(${asked.join(' OR ')})`, ...kinds.flat())
  }
  filter.add('slot.id >= ?', from_id)
}

function hasBeacon(table: 'beacon' | 'aside_beacon', column: string, values: readonly string[]): string {
  return `EXISTS (SELECT 1 FROM ${table} WHERE ${table}.slot_id = slot.id AND ${table}.${column} IN (${places(values)}))`
}

function places(values: readonly string[]): string {
  return values.map(() => '?').join(', ')
}

/** Adds the conditions of a list of beacons that are the same in both adapters. */
export function addBeaconConditions(filter: Conditions, table: 'beacon' | 'aside_beacon', query: BeaconQuery): void {
  const { accepted_events, unaccepted_reasons } = query
  if (query.without_slot === true) filter.add(`${table}.slot_id IS NULL`)
  filter.add(`${table}.beacon_id = ?`, query.beacon_id)
  filter.add(`${table}.event = ?`, query.event)
  filter.add('slot.format = ?', query.format)
  filter.add('slot.gross_cpm = ?', query.gross_cpm)
  filter.add('slot.currency = ?', query.currency)
  if (table === 'aside_beacon') filter.add('aside_beacon.verdict = ?', query.verdict)
  const [column, values] = table === 'beacon' ? ['event', accepted_events] : ['reason_code', unaccepted_reasons]
  if (values !== undefined) filter.add(`${table}.${column} IN (${places(values)})`, ...values)
}

/** A column with an index, and the values in it that the rows of a list have: at least one. */
export interface IndexedColumn {
  table: string
  column: string
  values: readonly string[]
  /** Of the rows in the index, where it has only some. */
  condition?: string
}

/** Returns the column by which the rows of a list of beacons are found; null when no filter is on one. */
export function findIndexedColumn(table: 'beacon' | 'aside_beacon', query: BeaconQuery): IndexedColumn | null {
  const { event, accepted_events, unaccepted_reasons, verdict } = query
  if (event !== undefined) return { table, column: 'event', values: [event] }
  const [column, values] =
    table === 'beacon'
      ? ['event', accepted_events]
      : ['reason_code', unaccepted_reasons ?? (verdict === 'duplicate' ? ['DUPLICATE'] : undefined)]
  return values === undefined ? null : { table, column, values }
}

/** Whether a list of beacons has none of a table. */
export function leavesOut(
  table: 'beacon' | 'aside_beacon',
  { verdict, accepted_events, unaccepted_reasons, without_slot }: BeaconQuery,
): boolean {
  if (table === 'beacon' && without_slot === true) return true
  if (table === 'beacon') return (verdict !== undefined && verdict !== 'accepted') || accepted_events?.length === 0
  return verdict === 'accepted' || unaccepted_reasons?.length === 0
}
