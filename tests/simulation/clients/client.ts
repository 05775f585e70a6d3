/** Clients and operators: what a step does, as requests. */
import type { Received } from '../virtual/network.ts'
import { createBeacons } from './beacons.ts'
import { followEvents } from './followers.ts'
import { createOperator } from './operator.ts'
import {
  createSender,
  credential,
  findOrigin,
  pick,
  publishableKey,
  type RequestStep,
  type SenderParts,
} from './sender.ts'
import { openSocket } from './sockets.ts'
import { trespass } from './trespasses.ts'
import { createTurns } from './turns.ts'

export interface Client {
  /** Sends the requests of a step; resolves when all of them have ended. */
  perform(step: RequestStep): Promise<void>
  /** Sends a read of the control plane that nothing disturbs. @throws NoResponse when the process dies */
  read(path: string): Promise<Received>
}

export function createClient(parts: SenderParts): Client {
  const sender = createSender(parts)
  const { acknowledged, call } = sender
  const beacons = createBeacons(sender)
  const turns = createTurns(sender, beacons)
  const operator = createOperator(sender)

  return { perform, read: sender.read }

  async function perform(step: RequestStep): Promise<void> {
    switch (step.kind) {
      case 'place':
        return turns.placeAll(step)
      case 'turn':
        return turns.turn(step)
      case 'consent':
        return turns.consent(step)
      case 'frame': {
        const slot = pick(sender.filled(), step.slot)
        if (slot !== null) await turns.frame(step, slot)
        return
      }
      case 'beacon':
        return void (await beacons.send(step, null))
      case 'poll': {
        const slot = pick(acknowledged.slots.toReversed(), step.slot)
        if (slot === null) return
        const query = step.wait_ms === 0 ? '' : `?wait_ms=${step.wait_ms}`
        await call(step, {
          method: 'GET',
          path: `/v1/decisions/${slot.slot_id}${query}`,
          headers: credential(slot.project, null),
        })
        return
      }
      case 'activate': {
        const { project } = step
        const body = { publishable_key: publishableKey(project) }
        await call(step, {
          method: 'POST',
          path: '/v1/browser/activate',
          headers: { origin: findOrigin(project) },
          body,
        })
        return
      }
      case 'follow':
        return followEvents(sender, step)
      case 'socket':
        return openSocket(sender, step)
      case 'trespass':
        return trespass(sender, { turns, beacons }, step)
      default:
        return operator.perform(step)
    }
  }
}
