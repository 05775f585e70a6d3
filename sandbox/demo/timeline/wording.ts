/** What a row of the timeline says: who told whom, what, and how it ended. */
import type { BeaconItem } from '../../../src/contract/control/beacons.ts'
import type { PlacementItem } from '../../../src/contract/control/placements.ts'
import type { RendererEvent } from '../../renderer/host/renderer.ts'
import type { Entry, EntryKind, PageNote, TurnRecord } from './record.ts'

/** `out`: page to sandbox; `in`: back; else it happened on one side. */
export type Way = 'out' | 'in' | 'page' | 'sandbox'
export type Tone = 'plain' | 'good' | 'warn' | 'bad' | 'money'

export interface Chip {
  tone: Tone
  text: string
}

export interface Wording {
  way: Way
  title: string
  text: string
  tone: Tone
  chips: Chip[]
}

/** Meanings of codes, as the contract of this sandbox states them. */
export type Meanings = ReadonlyMap<string, string>

export function wordingOf(entry: Entry, turn: TurnRecord, meanings: Meanings): Wording {
  const base: Wording = { way: 'page', title: entry.kind, text: '', tone: 'plain', chips: [] }
  return { ...base, ...tellers[entry.kind](entry, turn, meanings) }
}

/** Errors that do not end the ad of a turn, or of which it has none any more. */
export const asides: ReadonlyMap<string, string> = new Map([
  ['autoplay_blocked', 'Autoplay refused'],
  ['unmeasurable', 'Not measurable'],
  ['late_decision', 'Late decision'],
])

type Teller = (entry: Entry, turn: TurnRecord, meanings: Meanings) => Partial<Wording>

const tellers: Record<EntryKind, Teller> = {
  asked: (_entry, { job_type }) => ({ title: 'Turn began', text: job_type }),
  consent: ({ page }) => {
    const { state, revision } = (page?.event ?? {}) as Partial<PageNote>
    const tone = state === 'granted' ? 'plain' : 'warn'
    return { way: 'out', title: `Consent ${state}`, text: `revision ${revision}`, tone }
  },
  activated: () => ({ way: 'out', title: 'Activated', text: 'publishable key for an activation token' }),
  reset: () => ({ way: 'sandbox', title: 'Sandbox reset', text: 'back to the seed', tone: 'warn' }),
  request: (_entry, { choices }) => ({
    way: 'out',
    title: 'Placement requested',
    text: choices.integration === 'server' ? 'server, secret key' : 'browser, activation token',
  }),
  pending: () => ({ way: 'in', title: 'Pending', text: 'job created, not decided yet', tone: 'warn' }),
  decision: decisionWording,
  frame: () => ({ way: 'out', title: 'Frame loaded', text: 'by its asset token' }),
  rendered: () => ({ title: 'Rendered', text: 'creative painted', tone: 'good' }),
  visible: (_entry, turn) => ({ title: 'Viewable', text: dwellText(turn), tone: 'good' }),
  click: () => ({ title: 'Clicked', text: 'landing page opened', tone: 'good' }),
  play_started: () => ({ title: 'Playback started' }),
  play_completed: () => ({ title: 'Playback completed', tone: 'good' }),
  beacon: beaconWording,
  blocked: ({ page }, _turn, meanings) => {
    const { reason = '' } = (page?.event ?? {}) as Partial<RendererEvent<'blocked'>>
    return { title: 'Blocked', text: meanings.get(reason) ?? '', tone: 'bad', chips: [{ tone: 'bad', text: reason }] }
  },
  cleared: ({ page }) => {
    const { reason = '' } = (page?.event ?? {}) as Partial<RendererEvent<'cleared'>>
    return { title: 'Cleared', text: reason }
  },
  error: ({ page }, _turn, meanings) => {
    const { code = '', reason_code, status } = (page?.event ?? {}) as Partial<RendererEvent<'error'>>
    const cause = reason_code ?? code
    const chips: Chip[] = [{ tone: 'bad', text: status === undefined ? cause : `${status} ${cause}` }]
    const title = asides.get(code) ?? 'No ad'
    if (asides.has(code)) return { title, tone: 'warn', chips: [{ tone: 'warn', text: code }] }
    return { title, text: meanings.get(cause) ?? '', tone: 'bad', chips }
  },
  'turn:finished': () => ({ title: 'Turn finished' }),
  'turn:cancelled': () => ({ title: 'Turn cancelled', tone: 'warn' }),
}

function decisionWording({ sandbox, page }: Entry, turn: TurnRecord, meanings: Meanings): Partial<Wording> {
  const item = sandbox?.event.data as PlacementItem | undefined
  const told = page?.event as RendererEvent<'decision'> | undefined
  const isFill = item?.fill ?? told?.fill ?? false
  if (!isFill) {
    const reason = item?.no_fill_reason ?? turn.detail?.no_fill_reason ?? 'no_fill'
    const chips: Chip[] = [{ tone: 'warn', text: reason }]
    return { way: 'in', title: 'No-fill', text: meanings.get(reason) ?? '', tone: 'warn', chips }
  }
  const decision = turn.detail?.decision
  const sponsor = decision?.fill ? decision.sponsor_name : ''
  const format = item?.format ?? turn.detail?.format ?? ''
  return {
    way: 'in',
    title: 'Fill',
    text: sponsor,
    tone: 'good',
    chips: format === '' ? [] : [{ tone: 'plain', text: format }],
  }
}

function beaconWording({ sandbox, page }: Entry, _turn: TurnRecord, meanings: Meanings): Partial<Wording> {
  const item = sandbox?.event.data as BeaconItem | undefined
  const told = page?.event as RendererEvent<'beacon'> | undefined
  const verdict = item?.verdict ?? (told?.accepted ? 'accepted' : 'rejected')
  const reason = item?.reason_code ?? told?.reason_code ?? ''
  const chips: Chip[] = [{ tone: verdictTones[verdict], text: verdict }]
  if (reason !== '' && reason !== 'OK') chips.push({ tone: verdict === 'rejected' ? 'bad' : 'warn', text: reason })
  if (item?.would_bill && item.metric !== null) chips.push({ tone: 'money', text: `bills ${item.metric}` })
  return {
    way: 'out',
    title: `Beacon · ${item?.event ?? told?.event ?? 'unreadable'}`,
    text: verdict === 'rejected' ? (meanings.get(reason) ?? '') : '',
    tone: verdictTones[verdict],
    chips,
  }
}

const verdictTones = { accepted: 'good', duplicate: 'warn', rejected: 'bad' } as const

/** From rendered, or a clip's first frame, to viewable: both as the renderer stamped them. */
function dwellText({ entries }: TurnRecord): string {
  const at = (kind: EntryKind) => entries.findLast((entry) => entry.kind === kind)?.page?.event.at_ms
  const played = at('play_started')
  const since = played ?? at('rendered')
  const seen = at('visible')
  if (typeof since !== 'number' || typeof seen !== 'number') return ''
  return `${seconds(seen - since)} after ${played === undefined ? 'it was painted' : 'playback began'}`
}

/** `0.012 s`, `1.42 s`. */
export function seconds(ms: number): string {
  const value = Math.max(0, ms) / 1000
  return `${value < 1 ? value.toFixed(3) : value.toFixed(2)} s`
}
