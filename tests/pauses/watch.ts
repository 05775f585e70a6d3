/** How long a process kept its event loop from turning. */
import { openSync, readSync } from 'node:fs'

export interface Pauses {
  /** Longest time between two turns, milliseconds. On Linux without what the thread waited for a processor that others had. */
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
  const queued = queueTime()
  let last_queued_ms = queued()
  setInterval(() => {
    const now_ms = performance.now()
    const cpu_ms = processorTime()
    const queued_ms = queued()
    const real_ms = now_ms - last_ms - interval_ms - (queued_ms - last_queued_ms)
    seen = {
      longest_ms: Math.max(seen.longest_ms, real_ms),
      busy_ms: Math.max(seen.busy_ms, cpu_ms - last_cpu_ms),
    }
    last_ms = now_ms
    last_cpu_ms = cpu_ms
    last_queued_ms = queued_ms
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

/** Returns what reads how long the main thread has been ready to run, and waited for a processor, milliseconds. */
function queueTime(): () => number {
  // Time on a processor, time in the queue, both in nanoseconds, and turns.
  if (process.platform !== 'linux') return () => 0
  const file = openSync('/proc/self/schedstat', 'r')
  const bytes = Buffer.alloc(100)
  return () => {
    const length = readSync(file, bytes, 0, bytes.length, 0)
    return Number(bytes.toString('latin1', 0, length).split(' ')[1]) / 1e6
  }
}
