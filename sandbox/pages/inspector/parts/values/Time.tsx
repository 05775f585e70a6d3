import { useEffect, useState } from 'react'
import type { SandboxClock } from '#contract/resources/sandbox/clock.ts'
import { nothing } from './Chip.tsx'
import { dateAndTime, duration, full, timeOfDay } from './times.ts'

interface TimeProps {
  at_ms: number | null | undefined
  /** `time`: of day, with the day unless it is today; `date`: always with the day. Default `time`. */
  show?: 'time' | 'date'
  /** Shows the span after this time instead. */
  since_ms?: number
}

export function Time({ at_ms, show = 'time', since_ms }: TimeProps) {
  if (at_ms === null || at_ms === undefined) return nothing
  const isDated = show === 'date' || new Date(at_ms).toDateString() !== new Date().toDateString()
  const text =
    since_ms !== undefined ? `+${duration(at_ms - since_ms)}` : isDated ? dateAndTime(at_ms) : timeOfDay(at_ms)
  const date = new Date(at_ms)
  return (
    <time
      dateTime={Number.isNaN(date.getTime()) ? undefined : date.toISOString()}
      title={`${full.format(at_ms)} · ${at_ms}`}
    >
      {text}
    </time>
  )
}

const tickMs = 250

/** Returns the time of the sandbox clock: the time read, advancing from there; null until it is read. */
export function useSandboxTime(clock: SandboxClock | null): number | null {
  const [now_ms, setNow] = useState(clock?.now_ms ?? null)
  useEffect(() => {
    setNow(clock?.now_ms ?? null)
    if (clock === null || clock.frozen) return
    const read = performance.now()
    const timer = setInterval(() => setNow(clock.now_ms + performance.now() - read), tickMs)
    return () => clearInterval(timer)
  }, [clock])
  return now_ms
}
