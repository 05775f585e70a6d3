/** Texts of times and spans. */
const clock = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
})

const day = new Intl.DateTimeFormat('en-GB', { day: '2-digit', month: 'short' })
export const full = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'long' })

/** Returns `12:03:41.125`. */
export function timeOfDay(at_ms: number): string {
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
  if (span < 1000) return `${sign}${Math.round(span)} ms`
  if (span < 60000) return `${sign}${(span / 1000).toFixed(2)} s`
  const seconds = Math.round(span / 1000)
  const [d, h, min, s] = [
    Math.floor(seconds / 86400),
    Math.floor(seconds / 3600) % 24,
    Math.floor(seconds / 60) % 60,
    seconds % 60,
  ]
  const parts =
    d > 0 ? [`${d} d`, h && `${h} h`] : h > 0 ? [`${h} h`, min && `${min} min`] : [`${min} min`, s && `${s} s`]
  return sign + parts.filter(Boolean).join(' ')
}

/**
 * Returns the time from an event to its beacon, in its largest unit: `40 ms`, `2.9 s`, `10 min`; `-2.9 s` where the
 * beacon states a time after its arrival.
 */
export function lag(ms: number): string {
  const span_ms = Math.abs(ms)
  const [unit_ms, name, digits] = lagUnits.find(([min_ms]) => span_ms >= min_ms) ?? [1, 'ms', 0]
  const span = `${(span_ms / unit_ms).toFixed(digits)} ${name}`
  return ms < 0 ? `-${span}` : span
}

const lagUnits = [
  [86400000, 'd', 0],
  [3600000, 'h', 0],
  [60000, 'min', 0],
  [1000, 's', 1],
] as const
