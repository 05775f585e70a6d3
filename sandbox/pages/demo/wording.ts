/** The text of a row: who sent what to whom, and how it ended. */

import type { BeaconItem } from '#contract/resources/beacons.ts'
import type { Meanings } from './feed.ts'
import { type EntryKind, isBeacon, isDecision, type TurnEntry, type TurnRecord } from './record.ts'

/** `out`: page to sandbox; `in`: sandbox to page; otherwise it happened on one side. */
export type Way = 'out' | 'in' | 'page' | 'sandbox'
export type Tone = 'plain' | 'good' | 'warn' | 'bad' | 'money'

export interface Wording {
  way: Way
  title: string
  text: string
  tone: Tone
  chips: [tone: Tone, text: string][]
}

export function describeEntry(entry: TurnEntry, turn: TurnRecord, meanings: Meanings): Wording {
  const base: Wording = { way: 'page', title: entry.kind, text: '', tone: 'plain', chips: [] }
  const wording = wordings[entry.kind]
  return { ...base, ...(typeof wording === 'function' ? wording(entry, turn, meanings) : wording) }
}

/** Errors that do not end a turn's ad. */
export const notices: ReadonlyMap<string, string> = new Map([
  ['autoplay_blocked', 'Autoplay refused'],
  ['unmeasurable', 'Not measurable'],
  ['late_decision', 'Late decision'],
])

type Words = Partial<Wording>

const wordings: Record<EntryKind, Words | ((entry: TurnEntry, turn: TurnRecord, meanings: Meanings) => Words)> = {
  started: (_entry, { job_type }) => ({ title: 'Turn started', text: job_type }),
  consent: ({ page }) => {
    if (page?.event.type !== 'consent') return {}
    const { state, revision } = page.event
    const tone = state === 'granted' ? 'plain' : 'warn'
    return { way: 'out', title: `Consent ${state}`, text: `revision ${revision}`, tone }
  },
  activated: { way: 'out', title: 'Activated', text: 'publishable key for an activation token' },
  reset: { way: 'sandbox', title: 'Sandbox reset', text: 'back to the seed', tone: 'warn' },
  request: (_entry, { choices }) => ({
    way: 'out',
    title: 'Placement requested',
    text: choices.integration === 'server' ? 'server, secret key' : 'browser, activation token',
  }),
  pending: { way: 'in', title: 'Pending', text: 'job created, not decided yet', tone: 'warn' },
  decision: decisionWording,
  frame: { way: 'out', title: 'Frame loaded', text: 'by its asset token' },
  rendered: { title: 'Rendered', text: 'creative painted', tone: 'good' },
  visible: (_entry, turn) => ({ title: 'Viewable', text: dwellText(turn), tone: 'good' }),
  click: { title: 'Clicked', text: 'landing page opened', tone: 'good' },
  play_started: { title: 'Playback started' },
  play_completed: { title: 'Playback completed', tone: 'good' },
  beacon: beaconWording,
  blocked: ({ page }, _turn, meanings) => {
    const reason = page?.event.type === 'blocked' ? page.event.reason : ''
    return { title: 'Blocked', text: meanings.get(reason) ?? '', tone: 'bad', chips: [['bad', reason]] }
  },
  cleared: ({ page }) => ({ title: 'Cleared', text: page?.event.type === 'cleared' ? page.event.reason : '' }),
  error: ({ page }, _turn, meanings) => {
    if (page?.event.type !== 'error') return {}
    const { code, reason_code: cause = code, status } = page.event
    const notice = notices.get(code)
    if (notice !== undefined) return { title: notice, tone: 'warn', chips: [['warn', code]] }
    const chip = status === undefined ? cause : `${status} ${cause}`
    return { title: 'No ad', text: meanings.get(cause) ?? '', tone: 'bad', chips: [['bad', chip]] }
  },
  'turn:finished': { title: 'Turn finished' },
  'turn:cancelled': { title: 'Turn cancelled', tone: 'warn' },
  'turn:expired': { title: 'Turn expired', text: 'Its placement is no longer valid.', tone: 'warn' },
}

function decisionWording(entry: TurnEntry, { detail }: TurnRecord, meanings: Meanings): Words {
  const { sandbox } = entry
  const item = isDecision(sandbox?.event) ? sandbox.event.data : undefined
  if (!isFill(entry)) {
    const reason = item?.no_fill_reason ?? detail?.no_fill_reason ?? 'no_fill'
    return { way: 'in', title: 'No-fill', text: meanings.get(reason) ?? '', tone: 'warn', chips: [['warn', reason]] }
  }
  const format = item?.format ?? detail?.format
  const sponsor = detail?.decision?.fill ? detail.decision.sponsor_name : ''
  return { way: 'in', title: 'Fill', text: sponsor, tone: 'good', chips: format ? [['plain', format]] : [] }
}

function beaconWording({ sandbox, page }: TurnEntry, _turn: TurnRecord, meanings: Meanings): Words {
  const item = isBeacon(sandbox?.event) ? sandbox.event.data : undefined
  const seen = page?.event.type === 'beacon' ? page.event : undefined
  const verdict = item?.verdict ?? (seen?.accepted ? 'accepted' : 'rejected')
  const reason = item?.reason_code ?? seen?.reason_code ?? ''
  const title = `Beacon · ${item?.event ?? seen?.event ?? 'unreadable'}`
  const text = verdict === 'rejected' ? (meanings.get(reason) ?? '') : ''
  return { way: 'out', title, text, tone: verdictTones[verdict], chips: beaconChips(verdict, reason, item) }
}

function beaconChips(verdict: keyof typeof verdictTones, reason: string, item?: BeaconItem): Wording['chips'] {
  const chips: Wording['chips'] = [[verdictTones[verdict], verdict]]
  if (reason !== '' && reason !== 'OK') chips.push([verdict === 'rejected' ? 'bad' : 'warn', reason])
  if (item?.would_bill && item.metric !== null) chips.push(['money', `bills ${item.metric}`])
  return chips
}

const verdictTones = { accepted: 'good', duplicate: 'warn', rejected: 'bad' } as const

/** Returns the time from rendered, or a clip's first frame, to viewable, by the renderer's clock. */
function dwellText({ entries }: TurnRecord): string {
  const at = (kind: EntryKind) => entries.findLast((entry) => entry.kind === kind)?.page?.event.at_ms
  const played_at = at('play_started')
  const since = played_at ?? at('rendered')
  const seen_at = at('visible')
  if (typeof since !== 'number' || typeof seen_at !== 'number') return ''
  return `${seconds(seen_at - since)} after ${played_at === undefined ? 'it was painted' : 'playback started'}`
}

/** Whether a decision is a fill, by the side that knows. */
export function isFill({ sandbox, page }: TurnEntry): boolean {
  const fields = sandbox?.event.data ?? page?.event ?? {}
  return 'fill' in fields && fields.fill === true
}

/** `0.012 s`, `1.42 s`. */
export function seconds(ms: number): string {
  const value = Math.max(0, ms) / 1000
  return `${value.toFixed(value < 1 ? 3 : 2)} s`
}
