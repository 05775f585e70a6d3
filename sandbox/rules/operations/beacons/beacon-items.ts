/** Beacons as lists, reports and events show them: each with its verdict among the beacons of its slot. */
import { type BeaconVerdict, judgeBeacons, maxJudged } from '#contract/beacon-verdict.ts'
import { encodeId } from '#contract/ids.ts'
import type { BeaconItem } from '#contract/resources/beacons.ts'
import type { SlotBeacon } from '#contract/resources/placements.ts'
import { parseExactly } from '#foundation/json/exact-numbers.ts'
import { isObject, type JsonObject } from '#foundation/json.ts'
import { yieldToEventLoop } from '#runtime/event-loop.ts'
import type { BeaconListRow, BeaconRow, SlotRow, UnacceptedBeaconRow } from '#store/store.ts'
import type { Services } from '../context.ts'

type Item = Omit<BeaconItem, 'metadata'> & { metadata: JsonObject | null }

/** Slots whose beacons are read together and judged before other requests get a turn. */
const slotsAtOnce = 25

export async function* withBeacons({ store }: Pick<Services, 'store'>, slots: readonly SlotRow[]) {
  for (let start = 0; start < slots.length; start += slotsAtOnce) {
    await yieldToEventLoop()
    const next = slots.slice(start, start + slotsAtOnce)
    const beaconsBySlot = await Promise.all(next.map(({ id }) => store.listSlotBeacons(id)))
    for (const [index, slot] of next.entries()) yield { slot, beacons: beaconsBySlot[index]! }
  }
}

/** Each beacon with its verdict among the beacons of its slot. */
export async function beaconItems(services: Services, rows: readonly BeaconListRow[]): Promise<BeaconItem[]> {
  const slots = new Map(rows.flatMap((row) => (row.kind === 'accepted' ? [[row.slot.id, row.slot]] : [])))
  const verdicts = new Map<number, BeaconVerdict>()
  for await (const { slot, beacons } of withBeacons(services, [...slots.values()])) {
    for (const [id, verdict] of judgeSlotBeacons(slot, beacons)) verdicts.set(id, verdict)
  }
  const items: BeaconItem[] = []
  for (const row of rows) {
    if (row.kind === 'accepted') {
      items.push(acceptedItem(row.slot, row.beacon, verdicts.get(row.beacon.id)))
      continue
    }
    const { client_id } = await services.store.findProjectById(row.beacon.project_id)
    items.push(unacceptedItem(client_id, row.slot, row.beacon))
  }
  return items
}

/** Slots whose beacons are read and judged before other requests get a turn. */
const turnsAtOnce = 200

/** Resolves to the beacons of each slot in the order of their arrival, with their verdicts. */
export async function listTurnBeacons(
  { store }: Pick<Services, 'store'>,
  slots: readonly SlotRow[],
): Promise<Map<number, SlotBeacon[]>> {
  const found = new Map<number, SlotBeacon[]>()
  for (let start = 0; start < slots.length; start += turnsAtOnce) {
    await yieldToEventLoop()
    const part = slots.slice(start, start + turnsAtOnce)
    const { accepted, unaccepted } = await store.listBeaconsOfSlots(part.map(({ id }) => id))
    const acceptedBySlot = Map.groupBy(accepted, ({ slot_id }) => slot_id)
    const othersBySlot = Map.groupBy(unaccepted, ({ slot_id }) => slot_id)
    for (const slot of part) {
      const own = acceptedBySlot.get(slot.id) ?? []
      const verdicts = judgeSlotBeacons(slot, own.slice(0, maxJudged))
      const items = own.map(({ id, ...beacon }) => ({
        id,
        item: listedBeacon(beacon, { verdict: 'accepted', reason_code: 'OK', metric: null, ...verdicts.get(id) }),
      }))
      const others = (othersBySlot.get(slot.id) ?? []).map(({ id, ...beacon }) => ({
        id,
        item: listedBeacon(beacon, { ...beacon, metric: null }),
      }))
      const all = others.length === 0 ? items : [...items, ...others].sort((a, b) => a.id - b.id)
      found.set(
        slot.id,
        all.map(({ item }) => item),
      )
    }
  }
  return found
}

function listedBeacon(
  { event, occurred_at_ms, received_at_ms }: Pick<SlotBeacon, 'event' | 'occurred_at_ms' | 'received_at_ms'>,
  { verdict, reason_code, metric }: Pick<SlotBeacon, 'verdict' | 'reason_code' | 'metric'>,
): SlotBeacon {
  return { event, verdict, reason_code, metric, occurred_at_ms, received_at_ms }
}

/** Returns the verdicts of a slot's accepted beacons, by identifier. */
export function judgeSlotBeacons(slot: SlotRow, beacons: readonly BeaconRow[]): Map<number, BeaconVerdict> {
  const outcome = slot.decision?.outcome
  if (outcome?.status !== 'filled') return new Map()
  const { billing_model, viewability } = slot.project.settings
  return judgeBeacons(billing_model, outcome, viewability, beacons)
}

export function acceptedItem(slot: SlotRow, beacon: BeaconRow, verdict: BeaconVerdict | undefined): Item {
  return {
    ...slotFields(slot),
    beacon_id: beacon.beacon_id,
    event: beacon.event,
    verdict: 'accepted',
    reason_code: verdict?.reason_code ?? 'OK',
    would_bill: verdict?.would_bill ?? false,
    metric: verdict?.metric ?? null,
    occurred_at_ms: beacon.occurred_at_ms,
    received_at_ms: beacon.received_at_ms,
    metadata: readMetadata(beacon),
  }
}

/** Returns the metadata as it was sent, with exact numbers. */
function readMetadata({ extras }: BeaconRow): Item['metadata'] {
  const read = parseExactly(extras)
  return isObject(read) && isObject(read.metadata) ? (read.metadata as JsonObject) : null
}

export function unacceptedItem(client_id: string, slot: SlotRow | null, beacon: UnacceptedBeaconRow): Item {
  return {
    ...(slot === null ? { slot_id: null, client_id, session_id: null, format: null } : slotFields(slot)),
    beacon_id: beacon.beacon_id,
    event: beacon.event,
    verdict: beacon.verdict,
    reason_code: beacon.reason_code,
    would_bill: false,
    metric: null,
    occurred_at_ms: beacon.occurred_at_ms,
    received_at_ms: beacon.received_at_ms,
    metadata: null,
  }
}

function slotFields(slot: SlotRow) {
  const outcome = slot.decision?.outcome
  return {
    slot_id: encodeId('slot', slot.id),
    client_id: slot.project.client_id,
    session_id: slot.job.session_id,
    format: outcome?.status === 'filled' ? outcome.format : null,
  }
}
