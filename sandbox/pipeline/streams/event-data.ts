/** Events in the form that streams send. */
import { encodeId } from '#contract/ids.ts'
import type { SandboxEvent } from '#contract/resources/events.ts'
import { acceptedItem, unacceptedItem, verdictsOf } from '#operations/beacon-items.ts'
import { callbackItem } from '#operations/callbacks.ts'
import type { Services } from '#operations/context.ts'
import { placementItem } from '#operations/placements.ts'
import type { EventRow, ProjectRow, SlotRow } from '#store/store.ts'

/** Returns an event in the form of `text/event-stream`. */
export function eventText(event: SandboxEvent): string {
  return `id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}

/**
 * Resolves to the wire form of an event: with the list item of its subject, never with a token or prompt text. `now_ms`
 * decides which placements are expired.
 */
export async function toSandboxEvent(services: Services, row: EventRow, now_ms: number): Promise<SandboxEvent> {
  const { store } = services
  const project = row.project_id === null ? null : await store.projectById(row.project_id)
  const slot = row.slot_id === null ? null : await store.findSlot(row.slot_id)
  return {
    seq: row.seq,
    type: row.type,
    at_ms: row.at_ms,
    client_id: project?.client_id ?? null,
    slot_id: row.slot_id === null ? null : encodeId('slot', row.slot_id),
    data: await eventData(services, row, project, slot, now_ms),
  }
}

async function eventData(
  services: Services,
  row: EventRow,
  project: ProjectRow | null,
  slot: SlotRow | null,
  now_ms: number,
): Promise<SandboxEvent['data']> {
  const { store } = services
  switch (row.type) {
    case 'job.created':
    case 'placement.decided':
    case 'frame.loaded':
    case 'ticket.issued':
    case 'socket.opened':
    case 'socket.sent':
    case 'socket.closed':
      return slot === null ? {} : placementItem(slot, now_ms)
    case 'callback.delivered':
    case 'callback.retried':
    case 'callback.failed': {
      const callback = row.ref === null ? null : await store.findCallback(row.ref)
      return callback === null ? {} : callbackItem(services, callback)
    }
    case 'beacon.accepted': {
      const beacons = slot === null ? [] : await store.beaconsOf(slot.id)
      const beacon = beacons.find((candidate) => candidate.id === row.ref)
      if (slot === null || beacon === undefined) return {}
      return acceptedItem(slot, beacon, verdictsOf(slot, beacons).get(beacon.id))
    }
    case 'beacon.duplicate':
    case 'beacon.rejected': {
      const beacon = row.ref === null ? null : await store.unacceptedBeaconById(row.ref)
      return beacon === null || project === null ? {} : unacceptedItem(project.client_id, slot, beacon)
    }
    case 'consent.changed':
      return row.ref === null ? {} : { consent_id: encodeId('cns', row.ref) }
    case 'clock.changed':
      return { now_ms: row.at_ms, frozen: row.ref !== null }
    case 'events.dropped':
    case 'browser.activated':
    case 'sandbox.reset':
    case 'sandbox.restored':
      return {}
  }
}
