import { findEntry } from '#foundation/table-entry.ts'

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
  return findEntry(tones, state) ?? 'plain'
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

export const nothing = <span className="faint">–</span>
