/** How long a process kept its event loop from turning. */

export interface Pauses {
  /** Longest time between two turns, milliseconds. On a busy machine it contains waiting for a processor. */
  longest_ms: number
  /** Longest of them in processor time of the thread: its own work, whatever else the machine did. */
  busy_ms: number
}

const interval_ms = 2

/** Watches from now on. The function it returns reports what was seen since its last call. */
export function watchPauses(): () => Pauses {
  let seen: Pauses = { longest_ms: 0, busy_ms: 0 }
  let last_ms = performance.now()
  let last_cpu_ms = processorTime()
  setInterval(() => {
    const now_ms = performance.now()
    const cpu_ms = processorTime()
    seen = {
      longest_ms: Math.max(seen.longest_ms, now_ms - last_ms - interval_ms),
      busy_ms: Math.max(seen.busy_ms, cpu_ms - last_cpu_ms),
    }
    last_ms = now_ms
    last_cpu_ms = cpu_ms
  }, interval_ms).unref()
  return () => {
    const result = seen
    seen = { longest_ms: 0, busy_ms: 0 }
    return result
  }
}

/** Of this thread, milliseconds. */
function processorTime(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
