/** The live timeline: the newest turn first, with one row for each event of a turn, and how far the turn got. */
import type { BeaconItem } from '#contract/resources/beacons.ts'
import type { PlacementItem } from '#contract/resources/placements.ts'
import type { RendererEvent } from '#renderer/host/events.ts'
import { copyButton, html, icon, unseen } from './elements.ts'
import type { EntryKind, Meanings, PageNote, TurnEntry, TurnRecord } from './record.ts'

interface Timeline {
  readonly element: HTMLElement
  show(turn: TurnRecord, isNewest: boolean): void
  setLive(isLive: boolean): void
  setMeanings(meanings: Meanings): void
}

interface TurnView {
  element: HTMLDetailsElement
  head: HTMLElement
  verdict: HTMLElement
  rows: HTMLElement
  /** Keys of the rows that show their details. */
  open: Set<string>
}

export function createTimeline(sessionId: () => string): Timeline {
  const live = html`<span class="live bar faint">connecting</span>`
  const journey = html`<ol class="journey"></ol>`
  const news = html`<p class="unseen" role="status"></p>`
  const list = html`<div class="turns"></div>`
  const element = html`
    <section class="timeline paper scroller" aria-label="Timeline">
      <header class="dock-head bar spread"><h2>Timeline</h2>${live}</header>
      ${journey}${news}
      <div class="legend bar tiny faint" aria-hidden="true"><span>page</span><span>sandbox</span></div>
      ${list}
      <footer class="terminal ruled faint">The same in a terminal${commandLine('svc events stream')}</footer>
    </section>`
  const views = new Map<string, TurnView>()
  const drawn = new WeakMap<TurnEntry, { text: string; row: HTMLElement }>()
  /** Turns to redraw, all at once after the current batch of events. */
  const stale = new Set<TurnRecord>()
  let meanings: Meanings = new Map()

  function draw(): void {
    for (const turn of stale) {
      const view = views.get(turn.id) ?? createView(turn)
      const { billing, fill, format } = turn.detail ?? {}
      const number = html`<span class="tiny faint">${turn.number}</span>`
      const text = html`<span class="turn-text grow clipped" dir="auto">${turn.text}</span>`
      const outcome = typeof fill === 'boolean' ? [chip(fill ? 'good' : 'warn', fill ? `${format}` : 'no-fill')] : []
      view.head.replaceChildren(number, icon(turn.job_type), text, ...outcome)
      view.verdict.hidden = !billing
      if (billing) view.verdict.replaceChildren(...renderVerdict(billing))
      view.verdict.title = billing?.explanation ?? ''
      arrange(
        view.rows,
        turn.entries.map((entry) => renderRow(entry, turn, view)),
      )
    }
    stale.clear()
  }

  function createView({ id }: TurnRecord): TurnView {
    const head = html`<summary class="bar"></summary>`
    const verdict = html`<p class="verdict box bar"></p>`
    const rows = html`<ol class="rows"></ol>`
    const element = html<HTMLDetailsElement>`<details class="turn ruled" open>${head}${verdict}${rows}</details>`
    for (const other of views.values()) other.element.open = false
    list.prepend(element)
    const view = { element, head, verdict, rows, open: new Set<string>() }
    views.set(id, view)
    return view
  }

  /** Redraws a row only when its content changes, so that an open one keeps its place and focus. */
  function renderRow(entry: TurnEntry, turn: TurnRecord, { open }: TurnView): HTMLElement {
    const wording = describeEntry(entry, turn, meanings)
    const text = JSON.stringify([wording, entry.at, entry.page !== null, entry.sandbox !== null])
    const known = drawn.get(entry)
    if (known?.text === text) return known.row
    const { way, title, tone, chips } = wording
    const button = html`
      <button type="button" class="row" data-tone="${tone}">
        <time class="tiny">${seconds(entry.at - turn.started_at)}</time>
        ${lanes(way)}${unseen(`${ways[way]}: `)}
        <span class="said bar">
          <b>${title}</b>${wording.text !== '' && html`<span>${wording.text}</span>`}
          ${chips.map(([tone, text]) => chip(tone, text))}
        </span>
        ${icon('chevron')}
      </button>`
    const place = html`<div></div>`
    const show = () => {
      button.ariaExpanded = String(open.has(entry.key))
      place.replaceChildren(...(open.has(entry.key) ? [renderDetails(entry, turn, sessionId())] : []))
    }
    button.addEventListener('click', () => {
      if (!open.delete(entry.key)) open.add(entry.key)
      show()
    })
    show()
    const row = html`<li data-kind="${entry.kind}" class="${known === undefined && 'arriving'}">${button}${place}</li>`
    drawn.set(entry, { text, row })
    return row
  }

  function showJourney(turn: TurnRecord): void {
    const milestones = listMilestones(turn)
    const items = milestones.map(({ name, state, entry }) => {
      const time = entry === undefined ? '' : seconds(entry.at - turn.started_at)
      return html`
        <li class="tiny" data-state="${state}" data-tone="${milestoneTones[state]}"><span class="pin"></span><b>${name}</b><time>${time}</time>${unseen(state)}</li>`
    })
    journey.replaceChildren(...items)
    // A request alone is not news.
    const newest = milestones.findLast(({ name, state }) => state !== 'ahead' && name !== 'Request')
    const text = newest === undefined ? '' : `Turn ${turn.number}: ${newest.name}`
    if (news.textContent !== text) news.textContent = text
  }

  return {
    element,
    show(turn, isNewest) {
      if (isNewest) showJourney(turn)
      if (stale.size === 0) queueMicrotask(draw)
      stale.add(turn)
    },
    setLive(isLive) {
      live.dataset.tone = isLive ? 'good' : 'plain'
      live.textContent = isLive ? 'live' : 'reconnecting'
    },
    setMeanings(known) {
      meanings = known
    },
  }
}

function chip(tone: Tone, text: string): HTMLElement {
  return html`<span class="chip" data-tone="${tone}">${text}</span>`
}

const milestoneTones: Record<Milestone['state'], Tone | null> = {
  ahead: null,
  waiting: 'warn',
  reached: 'good',
  ended: 'warn',
  failed: 'bad',
}

/** The sandbox's billing verdict over the beacons so far. */
function renderVerdict(billing: NonNullable<NonNullable<TurnRecord['detail']>['billing']>): HTMLElement[] {
  const { would_bill, metric, gross_cpm, currency, explanation } = billing
  const price = gross_cpm === null ? '' : `, ${gross_cpm.toFixed(2)} ${currency} CPM`
  const verdict = would_bill ? chip('money', 'would bill') : chip('plain', 'not billed')
  return [verdict, html`<span>${would_bill ? `${metric}${price}` : explanation}</span>`]
}

/** Makes these the children, without touching those in place: one of them may have the focus. */
function arrange(list: HTMLElement, rows: readonly HTMLElement[]): void {
  for (const child of [...list.children]) if (!rows.includes(child as HTMLElement)) child.remove()
  for (const [index, row] of rows.entries()) {
    if (list.children[index] !== row) list.insertBefore(row, list.children[index] ?? null)
  }
}

const ways: Record<Way, string> = {
  out: 'page to sandbox',
  in: 'sandbox to page',
  page: 'on the page',
  sandbox: 'in the sandbox',
}

/** The two lanes of a row, and the arrow between them. */
function lanes(way: Way): SVGElement {
  const arrow = {
    out: 'M12 10H33M29 6.500 33 10l-4 3.500',
    in: 'M32 10H11M15 6.500 11 10l4 3.500',
    page: '',
    sandbox: '',
  }
  const start = way === 'in' || way === 'sandbox' ? 36 : 8
  return html`
    <svg class="lanes" viewBox="0 0 44 20" preserveAspectRatio="xMidYMin" aria-hidden="true">
      <circle cx="${start}" cy="10" r="3.5"/><path d="${arrow[way]}"/>
    </svg>`
}

/** Both sides of a row as JSON, the slot, and a command that shows the same in a terminal. */
function renderDetails(entry: TurnEntry, { started_at }: TurnRecord, session_id: string): HTMLElement {
  const { slot_id, page, sandbox } = entry
  const command = commandFor(entry, session_id)
  const side = (name: string, { at, event }: NonNullable<TurnEntry['page'] | TurnEntry['sandbox']>) => html`
    <figure>
      <figcaption class="bar spread"><b>${name}</b><time class="tiny">+${seconds(at - started_at)}</time></figcaption>
      <pre class="tiny" tabindex="0">${highlight(event)}</pre>
    </figure>`
  return html`
    <div class="details box">
      ${
        slot_id !== null &&
        html`
          <p class="slot-line bar spread">
            <code>${slot_id}</code>
            <a href="/_sandbox/placements/${slot_id}" target="_blank" rel="noopener">Decision trace${icon('open')}</a>
          </p>`
      }
      ${command !== null && commandLine(command)}
      ${page && side('Page', page)}${sandbox && side('Sandbox', sandbox)}
    </div>`
}

function commandFor({ kind, slot_id }: TurnEntry, session_id: string): string | null {
  if (kind === 'consent') return `svc requests list --session-id ${session_id}`
  if (slot_id === null) return null
  if (kind === 'beacon') return `svc beacons list --slot-id ${slot_id}`
  if (kind === 'request') return `svc requests list --session-id ${session_id}`
  if (kind === 'decision') return `svc placements explain ${slot_id}`
  return `svc events stream --slot-id ${slot_id} --since-seq 0`
}

function commandLine(command: string): HTMLElement {
  return html`<p class="command bar"><code class="grow tiny">${command}</code>${copyButton(() => command, 'Copy the command')}</p>`
}

/** Returns a value as JSON, with names and strings in different colours. */
function highlight(value: object): (string | Node)[] {
  const text = JSON.stringify(value, null, 2)
  return text.split(/("(?:[^"\\]|\\.)*":?)/).map((part) => {
    return part.startsWith('"') ? html`<span class="${part.endsWith(':') ? 'soft' : 'k-text'}">${part}</span>` : part
  })
}

/* The text of a row: who sent what to whom, and how it ended. */

/** `out`: page to sandbox; `in`: sandbox to page; otherwise it happened on one side. */
type Way = 'out' | 'in' | 'page' | 'sandbox'
type Tone = 'plain' | 'good' | 'warn' | 'bad' | 'money'

interface Wording {
  way: Way
  title: string
  text: string
  tone: Tone
  chips: [tone: Tone, text: string][]
}

function describeEntry(entry: TurnEntry, turn: TurnRecord, meanings: Meanings): Wording {
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

const wordings: Record<EntryKind, Words | ((entry: TurnEntry, turn: TurnRecord, meanings: Meanings) => Words)> = {
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
    const { reason = '' } = eventFields<'blocked'>(page)
    return { title: 'Blocked', text: meanings.get(reason) ?? '', tone: 'bad', chips: [['bad', reason]] }
  },
  cleared: ({ page }) => ({ title: 'Cleared', text: eventFields<'cleared'>(page).reason ?? '' }),
  error: ({ page }, _turn, meanings) => {
    const { code = '', reason_code: cause = code, status } = eventFields<'error'>(page)
    const notice = notices.get(code)
    if (notice !== undefined) return { title: notice, tone: 'warn', chips: [['warn', code]] }
    const chip = status === undefined ? cause : `${status} ${cause}`
    return { title: 'No ad', text: meanings.get(cause) ?? '', tone: 'bad', chips: [['bad', chip]] }
  },
  'turn:finished': { title: 'Turn finished' },
  'turn:cancelled': { title: 'Turn cancelled', tone: 'warn' },
  'turn:expired': { title: 'Turn expired', text: 'Its placement is no longer valid.', tone: 'warn' },
}

/** Returns the fields of a renderer event. */
function eventFields<T extends RendererEvent['type']>(page: TurnEntry['page']): Partial<RendererEvent<T>> {
  return (page?.event ?? {}) as Partial<RendererEvent<T>>
}

function decisionWording(entry: TurnEntry, { detail }: TurnRecord, meanings: Meanings): Words {
  const item = entry.sandbox?.event.data as PlacementItem | undefined
  if (!isFill(entry)) {
    const reason = item?.no_fill_reason ?? detail?.no_fill_reason ?? 'no_fill'
    return { way: 'in', title: 'No-fill', text: meanings.get(reason) ?? '', tone: 'warn', chips: [['warn', reason]] }
  }
  const format = item?.format ?? detail?.format
  const sponsor = detail?.decision?.fill ? detail.decision.sponsor_name : ''
  return { way: 'in', title: 'Fill', text: sponsor, tone: 'good', chips: format ? [['plain', format]] : [] }
}

function beaconWording({ sandbox, page }: TurnEntry, _turn: TurnRecord, meanings: Meanings): Words {
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
function seconds(ms: number): string {
  const value = Math.max(0, ms) / 1000
  return `${value.toFixed(value < 1 ? 3 : 2)} s`
}

/** `ended`: a no-fill. `failed`: blocked or broken before it got that far. */
interface Milestone {
  name: string
  state: 'ahead' | 'waiting' | 'reached' | 'ended' | 'failed'
  entry: TurnEntry | undefined
}

/** Returns the six milestones of a turn's ad, reached so far. */
export function listMilestones(turn: TurnRecord): Milestone[] {
  const step = (name: string, test: (entry: TurnEntry) => boolean): Milestone => {
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
    return kind === 'blocked' || (kind === 'error' && !notices.has(eventFields<'error'>(page).code ?? ''))
  })
  const next = path[last + 1]
  if (end !== undefined && next !== undefined && next.name !== 'Click' && next.state !== 'ended') {
    Object.assign(next, { name: end.kind === 'blocked' ? 'Blocked' : 'Failed', state: 'failed', entry: end })
  }
  return path
}

function isFill({ sandbox, page }: TurnEntry): boolean {
  const { fill } = (sandbox?.event.data ?? page?.event ?? {}) as { fill?: boolean }
  return fill === true
}

/** Whether it is an accepted beacon of this event. */
function isAccepted({ kind, sandbox }: TurnEntry, event: string): boolean {
  return kind === 'beacon' && sandbox?.event.type === 'beacon.accepted' && sandbox.event.data.event === event
}
