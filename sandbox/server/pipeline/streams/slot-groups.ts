/** Sockets of one slot wait together: one waiter, one read and one text for all of them. */
import type { WebSocket } from 'ws'
import type { Services } from '#operations/context.ts'

/** The text of a decided slot; null while it is pending, undefined when it is gone. */
export type SlotMessage = string | null | undefined

interface SlotGroups {
  add(slot_id: number, socket: WebSocket): void
  remove(slot_id: number, socket: WebSocket): void
}

interface Group {
  sockets: Set<WebSocket>
  /** Aborted when no client waits any more. */
  done: AbortController
}

/** Close codes of RFC 6455. */
export const closed = { normal: 1000, goingAway: 1001, internalError: 1011 } as const

/** How long the waiters of pending slots wait at a time, real milliseconds. */
const waitMs = 60_000

export function createSlotGroups(options: {
  services: Services
  /** Resolves to the decision of a slot as JSON text. */
  readMessage(slot_id: number): Promise<SlotMessage>
  send(socket: WebSocket, message: string): void
}): SlotGroups {
  const { services, readMessage, send } = options
  const groups = new Map<number, Group>()
  return {
    add(slot_id, socket) {
      const group = groups.get(slot_id)
      if (group !== undefined) return void group.sockets.add(socket)
      const created = { sockets: new Set([socket]), done: new AbortController() }
      groups.set(slot_id, created)
      serve(slot_id, created).catch((error) => {
        services.report(error)
        end(slot_id, created, closed.internalError)
      })
    },
    remove(slot_id, socket) {
      const group = groups.get(slot_id)
      if (group?.sockets.delete(socket) && group.sockets.size === 0) dissolve(slot_id, group)
    },
  }

  /** Waits until the slot is decided, and sends its decision to every socket that waits by then. */
  async function serve(slot_id: number, group: Group): Promise<void> {
    while (groups.get(slot_id) === group) {
      const waited = services.waiters.wait(slot_id, waitMs, group.done.signal)
      const message = await services.drainLock.run(() => readDecision(slot_id))
      if (message === undefined) return end(slot_id, group, closed.goingAway)
      if (message === null) {
        await waited
        continue
      }
      dissolve(slot_id, group)
      for (const socket of group.sockets) send(socket, message)
    }
  }

  function readDecision(slot_id: number): Promise<SlotMessage> {
    const { shared } = services.store
    const read = () => readMessage(slot_id)
    return shared === null ? read() : shared.readShowable(read)
  }

  function end(slot_id: number, group: Group, code: number): void {
    dissolve(slot_id, group)
    for (const socket of group.sockets) socket.close(code)
  }

  function dissolve(slot_id: number, group: Group): void {
    if (groups.get(slot_id) === group) groups.delete(slot_id)
    group.done.abort()
  }
}
