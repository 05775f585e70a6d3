/** Long polls that wait for the decision of a slot. */
export interface Waiters {
  /** Resolves when the slot is decided, `wait_ms` of real time have passed, or the client has disconnected. */
  wait(slot_id: number, wait_ms: number, signal: AbortSignal): Promise<void>
  /** Wakes every request that waits for the slot. */
  wake(slot_id: number): void
  /** Returns the slots that requests wait for. */
  waiting(): number[]
  /** Returns how many requests wait. */
  count(): number
  /** Wakes every request, when the sandbox stops or its state is replaced. */
  wakeAll(): void
}

export function createWaiters(): Waiters {
  const waiting = new Map<number, Set<() => void>>()
  return {
    wait(slot_id, wait_ms, signal) {
      return new Promise((resolve) => {
        if (signal.aborted) return resolve()
        const done = () => {
          clearTimeout(timer)
          signal.removeEventListener('abort', done)
          const others = waiting.get(slot_id)
          others?.delete(done)
          if (others?.size === 0) waiting.delete(slot_id)
          resolve()
        }
        const timer = setTimeout(done, wait_ms)
        signal.addEventListener('abort', done)
        const others = waiting.get(slot_id)
        if (others === undefined) waiting.set(slot_id, new Set([done]))
        else others.add(done)
      })
    },
    wake(slot_id) {
      for (const done of [...(waiting.get(slot_id) ?? [])]) done()
    },
    waiting: () => [...waiting.keys()],
    count: () => [...waiting.values()].reduce((sum, { size }) => sum + size, 0),
    wakeAll() {
      for (const slot_id of [...waiting.keys()]) this.wake(slot_id)
    },
  }
}
