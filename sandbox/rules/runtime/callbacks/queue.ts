/** Deliveries of callbacks that wait for their turn: a slow receiver delays only its own. */

/** One decision on its way: the same bytes in every attempt. `generation`: the state that it belongs to. */
export interface Delivery {
  slot_id: number
  attempt: number
  message: string | null
  generation: number
  project_id: number
  /** The origin of its URL. */
  receiver: string
}

interface CallbackQueue {
  add(delivery: Delivery): void
  /** Removes the deliveries that have not started. */
  clear(): void
  queued(): { waiting: number; sending: number }
  /** Resolves when the deliveries that have started are finished. */
  finish(): Promise<unknown>
}

/** Requests at a time: in all, of one project, and to one receiver. */
const maxRequests = 64
const maxProjectRequests = 32
const maxReceiverRequests = 4

export function createCallbackQueue(
  attempt: (delivery: Delivery) => Promise<void>,
  report: (error: unknown) => void,
): CallbackQueue {
  const waiting: Delivery[] = []
  /** How many requests are under way, by the id of a project and by receiver. */
  const busy = new Map<number | string, number>()
  const sending = new Set<Promise<void>>()
  return {
    add(delivery) {
      waiting.push(delivery)
      startNext()
    },
    clear() {
      waiting.length = 0
    },
    queued: () => ({ waiting: waiting.length, sending: sending.size }),
    finish: () => Promise.all(sending),
  }

  function startNext(): void {
    for (let at = 0; at < waiting.length && sending.size < maxRequests; ) {
      const delivery = waiting[at]!
      if (!mayStart(delivery)) {
        at++
        continue
      }
      waiting.splice(at, 1)
      count(delivery, 1)
      const done = attempt(delivery)
        .catch(report)
        .finally(() => {
          count(delivery, -1)
          sending.delete(done)
          startNext()
        })
      sending.add(done)
    }
  }

  function mayStart({ project_id, receiver }: Delivery): boolean {
    return (busy.get(receiver) ?? 0) < maxReceiverRequests && (busy.get(project_id) ?? 0) < maxProjectRequests
  }

  function count({ project_id, receiver }: Delivery, change: 1 | -1): void {
    for (const share of [project_id, receiver]) {
      const left = (busy.get(share) ?? 0) + change
      if (left === 0) busy.delete(share)
      else busy.set(share, left)
    }
  }
}
