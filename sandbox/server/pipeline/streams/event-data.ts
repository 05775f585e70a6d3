/** Events in the form that streams send. */
import { encodeId } from '#contract/ids.ts'
import type { EventType, SandboxEvent } from '#contract/resources/events.ts'
import type { MaybePromise } from '#foundation/maybe-promise.ts'
import { acceptedItem, judgeSlotBeacons, unacceptedItem } from '#operations/beacons/beacon-items.ts'
import { callbackItem } from '#operations/callbacks.ts'
import type { Services } from '#operations/context.ts'
import { placementItem } from '#operations/placements/placements.ts'
import type { EventRow, ProjectRow, SlotRow } from '#store/store.ts'

export function eventText(event: SandboxEvent): string {
  return `id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}

/**
 * Resolves to the wire form of an event: with the list item of its subject, never with a token or prompt text. `now_ms`
 * decides which placements are expired.
 */
export async function toSandboxEvent(services: Services, row: EventRow, now_ms: number): Promise<SandboxEvent> {
  const { store } = services
  const project = row.project_id === null ? null : await store.findProjectById(row.project_id)
  const slot = row.slot_id === null ? null : await store.findSlot(row.slot_id)
  return {
    seq: row.seq,
    type: row.type,
    at_ms: row.at_ms,
    client_id: project?.client_id ?? null,
    slot_id: row.slot_id === null ? null : encodeId('slot', row.slot_id),
    data: await eventData[row.type]({ services, row, project, slot, now_ms }),
  }
}

interface StoredEvent {
  services: Services
  row: EventRow
  project: ProjectRow | null
  slot: SlotRow | null
  now_ms: number
}

type ReadData = (event: StoredEvent) => MaybePromise<SandboxEvent['data']>

const readPlacement: ReadData = ({ slot, now_ms }) => (slot === null ? {} : placementItem(slot, now_ms))

const readCallback: ReadData = async ({ services, row }) => {
  const callback = row.ref === null ? null : await services.store.findCallback(row.ref)
  return callback === null ? {} : callbackItem(services, callback)
}

const readAcceptedBeacon: ReadData = async ({ services, row, slot }) => {
  const beacons = slot === null ? [] : await services.store.listSlotBeacons(slot.id)
  const beacon = beacons.find(({ id }) => id === row.ref)
  if (slot === null || beacon === undefined) return {}
  return acceptedItem(slot, beacon, judgeSlotBeacons(slot, beacons).get(beacon.id))
}

const readUnacceptedBeacon: ReadData = async ({ services, row, project, slot }) => {
  const beacon = row.ref === null ? null : await services.store.findUnacceptedBeacon(row.ref)
  return beacon === null || project === null ? {} : unacceptedItem(project.client_id, slot, beacon)
}

const readNothing: ReadData = () => ({})

const eventData: Readonly<Record<EventType, ReadData>> = {
  'job.created': readPlacement,
  'placement.decided': readPlacement,
  'frame.loaded': readPlacement,
  'ticket.issued': readPlacement,
  'socket.opened': readPlacement,
  'socket.sent': readPlacement,
  'socket.closed': readPlacement,
  'callback.delivered': readCallback,
  'callback.retried': readCallback,
  'callback.failed': readCallback,
  'beacon.accepted': readAcceptedBeacon,
  'beacon.duplicate': readUnacceptedBeacon,
  'beacon.rejected': readUnacceptedBeacon,
  'consent.changed': ({ row }) => (row.ref === null ? {} : { consent_id: encodeId('cns', row.ref) }),
  'clock.changed': ({ row }) => ({ now_ms: row.at_ms, frozen: row.ref !== null }),
  'events.dropped': readNothing,
  'browser.activated': readNothing,
  'sandbox.reset': readNothing,
  'sandbox.restored': readNothing,
}
