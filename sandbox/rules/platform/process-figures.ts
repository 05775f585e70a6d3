/** What this process uses, and since when. */
import { readdirSync } from 'node:fs'
import { performance } from 'node:perf_hooks'

export interface ProcessFigures {
  /** Processor time of all threads, seconds. */
  cpu_s: number
  /** How long the event loop has worked, seconds. */
  event_loop_active_s: number
  resident_bytes: number
  heap_used_bytes: number
  /** Unix epoch seconds. */
  started_at_s: number
  /** Null where the system does not list them. */
  open_descriptors: number | null
  node_version: string
}

export function readProcessFigures(): ProcessFigures {
  const { user, system } = process.cpuUsage()
  const { rss, heapUsed } = process.memoryUsage()
  return {
    cpu_s: (user + system) / 1e6,
    event_loop_active_s: performance.eventLoopUtilization().active / 1_000,
    resident_bytes: rss,
    heap_used_bytes: heapUsed,
    started_at_s: performance.timeOrigin / 1_000,
    open_descriptors: countDescriptors(),
    node_version: process.version,
  }
}

/** Linux lists them; other systems have no such folder. */
function countDescriptors(): number | null {
  try {
    // Without the one that reads the folder.
    return readdirSync('/proc/self/fd').length - 1
  } catch {
    return null
  }
}
