/** Times and durations. The time of day is that of this computer; the full date is in the tooltip. */
import { useEffect, useState } from 'react'
import type { SandboxClock } from '../../../src/contract/control/clock.ts'

const clock = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
})
const day = new Intl.DateTimeFormat('en-GB', { day: '2-digit', month: 'short' })
const full = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'long' })

/** Returns `12:03:41.125`. */
function timeOfDay(at_ms: number): string {
  return `${clock.format(at_ms)}.${String(Math.floor(at_ms) % 1000).padStart(3, '0')}`
}

/** Returns the date and the time of day: `22 Nov 12:03:41`. */
export function dateAndTime(at_ms: number): string {
  return `${day.format(at_ms)} ${clock.format(at_ms)}`
}

/** Returns `12 ms`, `1.42 s`, `3 min 5 s`, `2 h 10 min`, `3 d 4 h`. */
export function duration(ms: number): string {
  const sign = ms < 0 ? '-' : ''
  const span = Math.abs(ms)
  if (span < 1_000) return `${sign}${Math.round(span)} ms`
  if (span < 60_000) return `${sign}${(span / 1_000).toFixed(2)} s`
  const seconds = Math.round(span / 1_000)
  const [d, h, min, s] = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3_600) % 24,
    Math.floor(seconds / 60) % 60,
    seconds % 60,
  ]
  const parts =
    d > 0 ? [`${d} d`, h && `${h} h`] : h > 0 ? [`${h} h`, min && `${min} min`] : [`${min} min`, s && `${s} s`]
  return sign + parts.filter(Boolean).join(' ')
}

/** Returns the time from an event to its beacon: `40 ms`, `2.9 s`; `2.9 s early` where the beacon states a time that lies ahead. */
export function lag(ms: number): string {
  const span_ms = Math.abs(ms)
  const span = span_ms < 1_000 ? `${span_ms} ms` : `${(span_ms / 1_000).toFixed(1)} s`
  return ms < 0 ? `${span} early` : span
}

interface TimeProps {
  at_ms: number | null | undefined
  /** `time`: of day; `date`: with the day; `since`: a span after this time. Default `time`. */
  show?: 'time' | 'date'
  since_ms?: number
}

export function Time({ at_ms, show = 'time', since_ms }: TimeProps) {
  if (at_ms === null || at_ms === undefined) return <span className="faint">–</span>
  const text =
    since_ms !== undefined ? `+${duration(at_ms - since_ms)}` : show === 'date' ? dateAndTime(at_ms) : timeOfDay(at_ms)
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

/** How often a shown clock goes on. */
const tick_ms = 250

/** Returns the time of the sandbox clock: what was read, and from then on as time passes; null until it is read. */
export function useSandboxTime(clock: SandboxClock | null): number | null {
  const [now_ms, setNow] = useState(clock?.now_ms ?? null)
  useEffect(() => {
    setNow(clock?.now_ms ?? null)
    if (clock === null || clock.frozen) return
    const read = performance.now()
    const timer = setInterval(() => setNow(clock.now_ms + performance.now() - read), tick_ms)
    return () => clearInterval(timer)
  }, [clock])
  return now_ms
}
