/** A page that waits for decisions, and whose time can be moved. */
import { type ManualClock, manualClock } from '#sandbox/index.ts'
import { openStage, type Stage } from './stage.ts'

/** Opens an emulator whose decisions take a minute of its own clock: pending until the clock is advanced. */
export async function openSlowStage(): Promise<{ slow: Stage; clock: ManualClock }> {
  const clock = manualClock(Date.now())
  return { slow: await openStage({ clock, decision_latency_ms: 60_000 }), clock }
}

declare global {
  interface Window {
    /** How far the page's monotonic clock is ahead, milliseconds. */
    skipped_ms?: number
  }
}

/** Runs in the page before anything else. */
export function letTimeSkip(): void {
  const now = performance.now.bind(performance)
  performance.now = () => now() + (window.skipped_ms ?? 0)
}
