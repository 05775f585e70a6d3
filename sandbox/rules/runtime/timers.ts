/** Timers that are cleared together. */
export function createTimers() {
  const timers = new Set<NodeJS.Timeout>()

  return { set, clear }

  function set(callback: () => void, wait_ms: number): void {
    const timer = setTimeout(() => {
      timers.delete(timer)
      callback()
    }, wait_ms)
    timers.add(timer)
  }

  function clear(): void {
    for (const timer of timers) clearTimeout(timer)
    timers.clear()
  }
}
