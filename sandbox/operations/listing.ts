/** Pages of the control plane: cursors, spans and the items of placements and beacons. */

import { type BeaconVerdict, judgeBeacons } from '../../src/contract/beacon-verdict.ts'
import type { BeaconItem } from '../../src/contract/control/beacons.ts'
import type { PlacementItem } from '../../src/contract/control/placements.ts'
import { ApiError } from '../../src/contract/errors.ts'
import { decodeId, decodeInteger, encodeId, encodeInteger } from '../../src/contract/ids.ts'
import type { BeaconListRow, BeaconRow, PageQuery, SlotRow, UnacceptedBeaconRow } from '../store/store.ts'
import type { Services } from './context.ts'
import { statusOf } from './placement-response.ts'

const defaultLimit = 50
const spans_ms: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

export function pageOf(query: { limit?: number | undefined; cursor?: string | undefined }): PageQuery {
  const before = query.cursor === undefined ? null : decodeInteger(query.cursor)
  if (query.cursor !== undefined && before === null) {
    throw new ApiError('schema_invalid', {
      fields: [{ path: 'cursor', message: 'is not a cursor', expected: 'next_cursor of the page before' }],
    })
  }
  return { limit: query.limit ?? defaultLimit, before }
}

export function cursorOf(next: number | null): string | null {
  return next === null ? null : encodeInteger(next)
}

/** An instant from epoch milliseconds or a span back from now, such as 10m. */
export function sinceOf(since: string | undefined, now_ms: number): number | undefined {
  if (since === undefined) return undefined
  const match = /^(\d+)(ms|s|m|h|d)?$/.exec(since)!
  const unit = match[2]
  return unit === undefined ? Number(match[1]) : now_ms - Number(match[1]) * spans_ms[unit]!
}

/** The integer of a slot identifier in a filter: one that cannot exist matches nothing. */
export function slotFilter(slot_id: string | undefined): number | undefined {
  return slot_id === undefined ? undefined : (decodeId('slot', slot_id) ?? -1)
}

export async function projectFilter(services: Services, client_id: string | undefined): Promise<number | undefined> {
  if (client_id === undefined) return undefined
  return (await services.store.findProject(client_id))?.id ?? -1
}

/** Undefined members left out, as the store's filters want them. */
export function filters<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }
}

export function placementItem(slot: SlotRow, now_ms: number): PlacementItem {
  const outcome = slot.decision?.outcome ?? null
  const fill = outcome?.status === 'filled' ? outcome : null
  return {
    slot_id: encodeId('slot', slot.id),
    job_id: encodeId('job', slot.job.id),
    client_id: slot.project.client_id,
    session_id: slot.job.session_id,
    job_type: slot.job.job_type,
    mode: slot.job.mode,
    format: fill?.format ?? null,
    status: statusOf(slot, now_ms),
    fill: outcome === null ? null : fill !== null,
    no_fill_reason: outcome?.status === 'no_fill' ? outcome.reason : null,
    campaign_id: fill?.campaign_id ?? null,
    created_at_ms: slot.created_at_ms,
    decided_at_ms: slot.decision?.decided_at_ms ?? null,
  }
}

/** The verdicts of a slot's accepted beacons, by identifier. */
export function verdictsOf(slot: SlotRow, beacons: readonly BeaconRow[]): Map<number, BeaconVerdict> {
  const outcome = slot.decision?.outcome
  if (outcome?.status !== 'filled') return new Map()
  const { billing_model, viewability } = slot.project.settings
  return judgeBeacons(billing_model, outcome, viewability, beacons)
}

export function acceptedItem(slot: SlotRow, beacon: BeaconRow, verdict: BeaconVerdict | undefined): BeaconItem {
  return {
    ...slotMembers(slot),
    beacon_id: beacon.beacon_id,
    event: beacon.event,
    verdict: 'accepted',
    reason_code: verdict?.reason_code ?? 'OK',
    would_bill: verdict?.would_bill ?? false,
    metric: verdict?.metric ?? null,
    occurred_at_ms: beacon.occurred_at_ms,
    received_at_ms: beacon.received_at_ms,
  }
}

export function unacceptedItem(client_id: string, slot: SlotRow | null, beacon: UnacceptedBeaconRow): BeaconItem {
  return {
    ...(slot === null ? { slot_id: null, client_id, session_id: null, format: null } : slotMembers(slot)),
    beacon_id: beacon.beacon_id,
    event: beacon.event,
    verdict: beacon.verdict,
    reason_code: beacon.reason_code,
    would_bill: false,
    metric: null,
    occurred_at_ms: beacon.occurred_at_ms,
    received_at_ms: beacon.received_at_ms,
  }
}

/** Beacons as listed, each with its verdict over the set of its slot. */
export async function beaconItems(services: Services, rows: readonly BeaconListRow[]): Promise<BeaconItem[]> {
  const verdicts = new Map<number, Map<number, BeaconVerdict>>()
  const items: BeaconItem[] = []
  for (const row of rows) {
    if (row.kind === 'unaccepted') {
      const { client_id } = await services.store.projectById(row.beacon.project_id)
      items.push(unacceptedItem(client_id, row.slot, row.beacon))
      continue
    }
    const judged = verdicts.get(row.slot.id) ?? verdictsOf(row.slot, await services.store.beaconsOf(row.slot.id))
    verdicts.set(row.slot.id, judged)
    items.push(acceptedItem(row.slot, row.beacon, judged.get(row.beacon.id)))
  }
  return items
}

function slotMembers(slot: SlotRow) {
  const outcome = slot.decision?.outcome
  return {
    slot_id: encodeId('slot', slot.id),
    client_id: slot.project.client_id,
    session_id: slot.job.session_id,
    format: outcome?.status === 'filled' ? outcome.format : null,
  }
}
