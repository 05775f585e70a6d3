/** Every write that was acknowledged is there, as it was acknowledged. */

import type { Acknowledged } from '../acknowledged.ts'
import type { Facts } from '../history/facts.ts'

export function checkWrites(
  { placements, beacons, settings }: Facts,
  { known, sockets, generation }: Acknowledged,
): string[] {
  const problems: string[] = []
  const slots = new Map(placements.map((placement) => [placement.slot_id, placement]))
  for (const slot of known.slots.values()) {
    const row = slots.get(slot.slot_id)
    if (row === undefined) problems.push(`${slot.slot_id} was acknowledged, and is missing`)
    else if (slot.fill !== null && (row.fill !== slot.fill || row.format !== slot.format)) {
      problems.push(`${slot.slot_id} was decided as ${slot.fill} ${slot.format}, and is ${row.fill} ${row.format}`)
    }
  }
  const accepted = new Map(
    beacons.filter(({ verdict }) => verdict === 'accepted').map((beacon) => [beacon.beacon_id, beacon]),
  )
  for (const { beacon_id, event } of known.beacons.values()) {
    const row = accepted.get(beacon_id)
    if (row === undefined) problems.push(`${beacon_id} was accepted, and is missing`)
    else if (row.event !== event) problems.push(`${beacon_id} was accepted as ${event}, and is ${row.event}`)
  }
  for (const [project, { revision }] of known.settings) {
    const row = settings.find(({ client_id }) => client_id === project)
    if (row !== undefined && row.config_revision >= revision) continue
    problems.push(`settings of ${project} were at revision ${revision}, and are at ${row?.config_revision}`)
  }
  // Nothing is under way: who waits for a decision that was made has it.
  for (const socket of sockets) {
    if (socket.generation !== generation || socket.messages.length > 0 || slots.get(socket.slot_id)?.fill == null)
      continue
    problems.push(`${socket.slot_id} is decided, and a socket that waits for it has nothing`)
  }
  return problems
}
