/** The words of a timeline row: who sent what to whom, and how it ended. And how far a turn has come. */
import type { BeaconItem } from '../../../src/contract/resources/beacons.ts'
import type { PlacementItem } from '../../../src/contract/resources/placements.ts'
import type { RendererEvent } from '../../renderer/host/renderer.ts'
import type { Entry, EntryKind, Meanings, PageNote, TurnRecord } from './record.ts'

/** `out`: page to sandbox; `in`: sandbox to page; otherwise it happened on one side. */
export type Way = 'out' | 'in' | 'page' | 'sandbox'
export type Tone = 'plain' | 'good' | 'warn' | 'bad' | 'money'

interface Wording {
  way: Way
  title: string
  text: string
  tone: Tone
  chips: [tone: Tone, text: string][]
}

export function wordingOf(entry: Entry, turn: TurnRecord, meanings: Meanings): Wording {
  const base: Wording = { way: 'page', title: entry.kind, text: '', tone: 'plain', chips: [] }
  const wording = wordings[entry.kind]
  return { ...base, ...(typeof wording === 'function' ? wording(entry, turn, meanings) : wording) }
}

/** Errors that do not end a turn's ad. */
const notices: ReadonlyMap<string, string> = new Map([
  ['autoplay_blocked', 'Autoplay refused'],
  ['unmeasurable', 'Not measurable'],
  ['late_decision', 'Late decision'],
])

type Words = Partial<Wording>

const wordings: Record<EntryKind, Words | ((entry: Entry, turn: TurnRecord, meanings: Meanings) => Words)> = {
  started: (_entry, { job_type }) => ({ title: 'Turn started', text: job_type }),
  consent: ({ page }) => {
    const { state, revision } = (page?.event ?? {}) as Partial<PageNote>
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
    const { reason = '' } = detailOf<'blocked'>(page)
    return { title: 'Blocked', text: meanings.get(reason) ?? '', tone: 'bad', chips: [['bad', reason]] }
  },
  cleared: ({ page }) => ({ title: 'Cleared', text: detailOf<'cleared'>(page).reason ?? '' }),
  error: ({ page }, _turn, meanings) => {
    const { code = '', reason_code: cause = code, status } = detailOf<'error'>(page)
    const notice = notices.get(code)
    if (notice !== undefined) return { title: notice, tone: 'warn', chips: [['warn', code]] }
    const chip = status === undefined ? cause : `${status} ${cause}`
    return { title: 'No ad', text: meanings.get(cause) ?? '', tone: 'bad', chips: [['bad', chip]] }
  },
  'turn:finished': { title: 'Turn finished' },
  'turn:cancelled': { title: 'Turn cancelled', tone: 'warn' },
}

/** Returns the fields of a renderer event. */
function detailOf<T extends RendererEvent['type']>(page: Entry['page']): Partial<RendererEvent<T>> {
  return (page?.event ?? {}) as Partial<RendererEvent<T>>
}

function decisionWording(entry: Entry, { detail }: TurnRecord, meanings: Meanings): Words {
  const item = entry.sandbox?.event.data as PlacementItem | undefined
  if (!isFill(entry)) {
    const reason = item?.no_fill_reason ?? detail?.no_fill_reason ?? 'no_fill'
    return { way: 'in', title: 'No-fill', text: meanings.get(reason) ?? '', tone: 'warn', chips: [['warn', reason]] }
  }
  const format = item?.format ?? detail?.format
  const sponsor = detail?.decision?.fill ? detail.decision.sponsor_name : ''
  return { way: 'in', title: 'Fill', text: sponsor, tone: 'good', chips: format ? [['plain', format]] : [] }
}

function beaconWording({ sandbox, page }: Entry, _turn: TurnRecord, meanings: Meanings): Words {
  const item = sandbox?.event.data as BeaconItem | undefined
  const seen = page?.event as RendererEvent<'beacon'> | undefined
  const verdict = item?.verdict ?? (seen?.accepted ? 'accepted' : 'rejected')
  const reason = item?.reason_code ?? seen?.reason_code ?? ''
  const tone = verdictTones[verdict]
  const chips: Wording['chips'] = [[tone, verdict]]
  if (reason !== '' && reason !== 'OK') chips.push([verdict === 'rejected' ? 'bad' : 'warn', reason])
  if (item?.would_bill && item.metric !== null) chips.push(['money', `bills ${item.metric}`])
  const title = `Beacon · ${item?.event ?? seen?.event ?? 'unreadable'}`
  return { way: 'out', title, text: verdict === 'rejected' ? (meanings.get(reason) ?? '') : '', tone, chips }
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

/** `0.012 s`, `1.42 s`. */
export function seconds(ms: number): string {
  const value = Math.max(0, ms) / 1000
  return `${value.toFixed(value < 1 ? 3 : 2)} s`
}

/** `ended`: a no-fill. `failed`: blocked or broken before it came so far. */
export interface Milestone {
  name: string
  state: 'ahead' | 'waiting' | 'reached' | 'ended' | 'failed'
  entry: Entry | undefined
}

/** Returns the six milestones of a turn's ad, reached so far. */
export function milestonesOf(turn: TurnRecord): Milestone[] {
  const step = (name: string, test: (entry: Entry) => boolean): Milestone => {
    const entry = turn.entries.find(test)
    return { name, entry, state: entry === undefined ? 'ahead' : 'reached' }
  }
  const path = [
    step('Request', ({ kind }) => kind === 'request'),
    step('Decision', ({ kind }) => kind === 'decision'),
    step('Frame', ({ kind }) => kind === 'frame'),
    step('Rendered', ({ kind }) => kind === 'rendered'),
    step('Viewable', (entry) => isAccepted(entry, 'visible')),
    step('Click', (entry) => isAccepted(entry, 'click')),
  ]
  const [, decision] = path as [Milestone, Milestone]
  const pending = turn.entries.find(({ kind }) => kind === 'pending')
  if (decision.entry !== undefined) {
    Object.assign(decision, isFill(decision.entry) ? { name: 'Fill' } : { name: 'No-fill', state: 'ended' })
  } else if (pending !== undefined) Object.assign(decision, { name: 'Pending', state: 'waiting', entry: pending })

  const last = path.findLastIndex(({ state }) => state === 'reached')
  for (const milestone of path.slice(0, last)) milestone.state = 'reached'
  const end = turn.entries.find(({ kind, page }) => {
    return kind === 'blocked' || (kind === 'error' && !notices.has(detailOf<'error'>(page).code ?? ''))
  })
  const next = path[last + 1]
  if (end !== undefined && next !== undefined && next.name !== 'Click' && next.state !== 'ended') {
    Object.assign(next, { name: end.kind === 'blocked' ? 'Blocked' : 'Failed', state: 'failed', entry: end })
  }
  return path
}

function isFill({ sandbox, page }: Entry): boolean {
  const { fill } = (sandbox?.event.data ?? page?.event ?? {}) as { fill?: boolean }
  return fill === true
}

/** Whether it is a beacon of this event that the sandbox has accepted. */
function isAccepted({ kind, sandbox }: Entry, event: string): boolean {
  return kind === 'beacon' && sandbox?.event.type === 'beacon.accepted' && sandbox.event.data.event === event
}
