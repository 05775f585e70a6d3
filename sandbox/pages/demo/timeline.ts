/** The live timeline: the newest turn first, with one row for each event of a turn, and how far the turn got. */
import { copyButton, html, icon, unseen } from './elements.ts'
import type { Meanings } from './feed.ts'
import { listMilestones, type Milestone } from './milestones.ts'
import type { TurnEntry, TurnRecord } from './record.ts'
import { describeEntry, seconds, type Tone, type Way, type Wording } from './wording.ts'

export function createTimeline(sessionId: () => string) {
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
      <footer class="terminal ruled faint">The same in a terminal${commandLine('svc sandbox events')}</footer>
    </section>`
  const views = new Map<string, TurnView>()
  const rows = createRows(sessionId)
  /** Turns to redraw, all at once after the current batch of events. */
  const stale = new Set<TurnRecord>()

  return {
    element,
    show(turn: TurnRecord, isNewest: boolean): void {
      if (isNewest) showJourney(turn)
      if (stale.size === 0) queueMicrotask(draw)
      stale.add(turn)
    },
    setLive(isLive: boolean): void {
      live.dataset.tone = isLive ? 'good' : 'plain'
      live.textContent = isLive ? 'live' : 'reconnecting'
    },
    setMeanings: rows.setMeanings,
  }

  function showJourney(turn: TurnRecord): void {
    const milestones = listMilestones(turn)
    journey.replaceChildren(...milestones.map((milestone) => renderMilestone(milestone, turn)))
    // A request alone is not news.
    const newest = milestones.findLast(({ name, state }) => state !== 'ahead' && name !== 'Request')
    const text = newest === undefined ? '' : `Turn ${turn.number}: ${newest.name}`
    if (news.textContent !== text) news.textContent = text
  }

  function draw(): void {
    for (const turn of stale) {
      const view = views.get(turn.id) ?? addView(turn)
      showSummary(turn, view)
      const elements = turn.entries.map((entry) => rows.render(entry, turn, view.open))
      arrange(view.rows, elements)
    }
    stale.clear()
  }

  function addView({ id }: TurnRecord): TurnView {
    for (const { element } of views.values()) element.open = false
    const view = createView()
    list.prepend(view.element)
    views.set(id, view)
    return view
  }
}

interface TurnView {
  element: HTMLDetailsElement
  head: HTMLElement
  verdict: HTMLElement
  rows: HTMLElement
  /** Keys of the rows that show their details. */
  open: Set<string>
}

function createView(): TurnView {
  const head = html`<summary class="bar"></summary>`
  const verdict = html`<p class="verdict box bar"></p>`
  const rows = html`<ol class="rows"></ol>`
  const element = html<HTMLDetailsElement>`<details class="turn ruled" open>${head}${verdict}${rows}</details>`
  return { element, head, verdict, rows, open: new Set() }
}

function showSummary({ number, job_type, text, detail }: TurnRecord, { head, verdict }: TurnView): void {
  const { billing, fill, format } = detail ?? {}
  head.replaceChildren(
    html`<span class="tiny faint">${number}</span>`,
    icon(job_type),
    html`<span class="turn-text grow clipped" dir="auto">${text}</span>`,
    ...(typeof fill === 'boolean' ? [chip(fill ? 'good' : 'warn', fill ? `${format}` : 'no-fill')] : []),
  )
  verdict.hidden = !billing
  if (billing) verdict.replaceChildren(...renderVerdict(billing))
  verdict.title = billing?.explanation ?? ''
}

function createRows(sessionId: () => string) {
  const drawn = new WeakMap<TurnEntry, { text: string; row: HTMLElement }>()
  let meanings: Meanings = new Map()
  return {
    setMeanings(known: Meanings): void {
      meanings = known
    },
    /** Redraws a row only when its content changes, so that an open one keeps its place and focus. */
    render(entry: TurnEntry, turn: TurnRecord, open: Set<string>): HTMLElement {
      const wording = describeEntry(entry, turn, meanings)
      const text = JSON.stringify([wording, entry.at, entry.page !== null, entry.sandbox !== null])
      const known = drawn.get(entry)
      if (known?.text === text) return known.row
      const button = renderButton(wording, entry.at - turn.started_at)
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
    },
  }
}

function renderButton({ way, title, text, tone, chips }: Wording, after_ms: number): HTMLElement {
  return html`
    <button type="button" class="row" data-tone="${tone}">
      <time class="tiny">${seconds(after_ms)}</time>
      ${lanes(way)}${unseen(`${ways[way]}: `)}
      <span class="said bar">
        <b>${title}</b>${text !== '' && html`<span>${text}</span>`}
        ${chips.map(([tone, text]) => chip(tone, text))}
      </span>
      ${icon('chevron')}
    </button>`
}

function renderMilestone({ name, state, entry }: Milestone, { started_at }: TurnRecord): HTMLElement {
  const time = entry === undefined ? '' : seconds(entry.at - started_at)
  return html`
    <li class="tiny" data-state="${state}" data-tone="${milestoneTones[state]}"><span class="pin"></span><b>${name}</b><time>${time}</time>${unseen(state)}</li>`
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

function renderVerdict(billing: NonNullable<NonNullable<TurnRecord['detail']>['billing']>): HTMLElement[] {
  const { would_bill, metric, gross_cpm, currency, explanation } = billing
  const price = gross_cpm === null ? '' : `, ${gross_cpm.toFixed(2)} ${currency} CPM`
  const verdict = would_bill ? chip('money', 'would bill') : chip('plain', 'not billed')
  return [verdict, html`<span>${would_bill ? `${metric}${price}` : explanation}</span>`]
}

/** Makes these the children, without touching those in place: one of them may have the focus. */
function arrange(list: HTMLElement, rows: readonly Element[]): void {
  for (const child of [...list.children]) if (!rows.includes(child)) child.remove()
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
  if (kind === 'decision') return `svc explain ${slot_id}`
  return `svc sandbox events --slot-id ${slot_id} --since-seq 0`
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
