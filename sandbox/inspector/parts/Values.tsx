import { useEffect, useState } from 'react'
import { Button } from 'react-aria-components'
import { Link } from 'wouter'
import type { SandboxClock } from '#contract/resources/sandbox/clock.ts'
import { entryOf } from '#foundation/table-entry.ts'
import { Icon } from './Icon.tsx'

/** A short state in its colour. The same state has the same colour everywhere. */
export type Tone = 'plain' | 'good' | 'warn' | 'bad' | 'money'

const tones: Readonly<Record<string, Tone>> = {
  fill: 'good',
  accepted: 'good',
  granted: 'good',
  won: 'good',
  ready: 'plain',
  documented: 'good',
  observed: 'plain',
  assumed: 'warn',
  no_fill: 'warn',
  pending: 'warn',
  duplicate: 'warn',
  outbid: 'plain',
  expired: 'warn',
  unknown: 'warn',
  rejected: 'bad',
  denied: 'bad',
  withdrawn: 'bad',
  removed: 'bad',
  billable: 'money',
}

/** Returns the tone of a state of the contract; plain when it has none. */
export function findTone(state: string): Tone {
  return entryOf(tones, state) ?? 'plain'
}

export function Chip({ children, tone }: { children: string | number | null | undefined; tone?: Tone }) {
  if (children === null || children === undefined || children === '') return null
  return (
    <span className="chip" data-tone={tone ?? findTone(String(children))} title={String(children)}>
      {children}
    </span>
  )
}

/** The HTTP status of a response, or `text` in its place. 0: there was no response. */
export function StatusChip({ status, text }: { status: number; text?: string | null }) {
  const tone = status === 0 || status >= 500 ? 'bad' : status >= 400 ? 'warn' : status >= 300 ? 'plain' : 'good'
  return <Chip tone={tone}>{text ?? (status === 0 ? 'no response' : status)}</Chip>
}

/** Stands for a missing value. */
export const nothing = <span className="faint">–</span>

interface IdProps {
  kind: IdKind
  id: string | null | undefined
  /** Default: the identifier. */
  children?: string
  /** Whether it has a copy button. Default false. */
  isCopied?: boolean
}

export function Id({ kind, id, children, isCopied = false }: IdProps) {
  if (id === null || id === undefined || id === '') return nothing
  const link = (
    <Link className="id" href={routeTo(kind, id)} title={id}>
      {children ?? id}
    </Link>
  )
  if (!isCopied) return link
  return (
    <span className="bar id-pair">
      {link}
      <CopyButton text={id} label={`Copy ${id}`} />
    </span>
  )
}

/** The folder of each kind of identifier, below /_sandbox. */
const folders = {
  placement: 'placements',
  job: 'jobs',
  campaign: 'campaigns',
  request: 'requests',
  beacon: 'beacons',
  session: 'sessions',
  project: 'projects',
  consent: 'consent',
  key: 'keys',
  evidence: 'evidence',
  callback: 'callbacks',
}

export type IdKind = keyof typeof folders

/** Returns the route of an identifier's page, below /_sandbox. */
export function routeTo(kind: IdKind, id: string): string {
  return `/${folders[kind]}/${encodeURIComponent(id)}`
}

const prefixes: readonly (readonly [RegExp, IdKind])[] = [
  [/^slot_[0-9a-z]{11}$/, 'placement'],
  [/^job_[0-9a-z]{11}$/, 'job'],
  [/^cmp_[0-9a-z_]{1,64}$/, 'campaign'],
  [/^req_[0-9a-z]{11}$/, 'request'],
  [/^cns_[0-9a-z]{11}$/, 'consent'],
  [/^key_[0-9a-z]{11}$/, 'key'],
  [/~\d+$/, 'evidence'],
  [/^proj_/, 'project'],
]

/** Returns what an identifier is by its form; null for those that have none: sessions, beacons, renamed projects. */
export function detectKind(id: string): IdKind | null {
  return prefixes.find(([pattern]) => pattern.test(id))?.[1] ?? null
}

const confirmationMs = 1_400

interface CopyButtonProps {
  /** The text to copy; a function is called when it is copied. */
  text: string | (() => string | Promise<string>)
  /** The label for the tooltip and screen readers: `Copy the secret key`. */
  label: string
  /** Text of the button, next to the icon. */
  children?: string
}

/** A button that copies a text and confirms it. */
export function CopyButton({ text, label, children }: CopyButtonProps) {
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle')
  useEffect(() => {
    if (state === 'idle') return
    const timer = setTimeout(() => setState('idle'), confirmationMs)
    return () => clearTimeout(timer)
  }, [state])
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(typeof text === 'string' ? text : await text())
      setState('copied')
    } catch {
      // A page that is not on loopback or https has no clipboard.
      setState('failed')
    }
  }
  return (
    <Button
      className={children === undefined ? 'copy soft' : 'small bar'}
      aria-label={children === undefined ? label : `${children}: ${label}`}
      onPress={copy}
    >
      <Icon name={state === 'copied' ? 'check' : state === 'failed' ? 'close' : 'copy'} />
      {children}
      <span className="unseen" role="status">
        {state === 'copied' ? 'Copied' : state === 'failed' ? 'The browser refused to copy' : ''}
      </span>
    </Button>
  )
}

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
  [86_400_000, 'd', 0],
  [3_600_000, 'h', 0],
  [60_000, 'min', 0],
  [1_000, 's', 1],
] as const

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

/** How often a visible clock ticks. */
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
