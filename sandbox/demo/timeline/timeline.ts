/** The live timeline: the newest turn first, and within a turn one row for everything that happened. */
import { el, unseen } from '../elements.ts'
import { icon } from '../icons.ts'
import { surfaces } from '../surfaces/index.ts'
import { commandLine, detailsOf, lanes } from './details.ts'
import { createJourney } from './journey.ts'
import type { Entry, TurnRecord } from './record.ts'
import { type Meanings, seconds, type Way, wordingOf } from './wording.ts'

export interface Timeline {
  readonly element: HTMLElement
  show(turn: TurnRecord, isNewest: boolean): void
  setLive(live: boolean): void
  setMeanings(meanings: Meanings): void
}

interface TurnView {
  element: HTMLDetailsElement
  head: HTMLElement
  verdict: HTMLElement
  rows: HTMLOListElement
  open: Set<string>
}

const ways: Record<Way, string> = {
  out: 'page to sandbox',
  in: 'sandbox to page',
  page: 'on the page',
  sandbox: 'in the sandbox',
}

export function createTimeline(sessionOf: () => string): Timeline {
  const live = el('span', { class: 'live', 'data-live': 'false' }, 'connecting')
  const journey = createJourney()
  const list = el('div', { class: 'turns' })
  const element = el(
    'section',
    { class: 'timeline', 'aria-label': 'Timeline' },
    el('header', { class: 'dock-head' }, el('h2', {}, 'Timeline'), live),
    journey.element,
    el('div', { class: 'legend', 'aria-hidden': 'true' }, el('span', {}, 'page'), el('span', {}, 'sandbox')),
    list,
    el('footer', { class: 'terminal' }, 'The same in a terminal', commandLine('svc events stream')),
  )
  const views = new Map<string, TurnView>()
  let meanings: Meanings = new Map()
  let waiting = false
  const stale = new Map<string, TurnRecord>()

  function draw(): void {
    waiting = false
    for (const turn of stale.values()) drawTurn(turn)
    stale.clear()
  }

  function drawTurn(turn: TurnRecord): void {
    const view = views.get(turn.id) ?? createView(turn)
    const { verdict, text } = verdictOf(turn)
    view.head.replaceChildren(
      el('span', { class: 'turn-number' }, `${turn.number}`),
      icon(surfaces[turn.job_type].icon),
      el('span', { class: 'turn-text', dir: 'auto' }, turn.text),
      ...outcomeOf(turn),
    )
    view.verdict.replaceChildren(...verdict)
    view.verdict.title = text
    view.verdict.hidden = verdict.length === 0
    arrange(
      view.rows,
      turn.entries.map((entry) => rowOf(entry, turn, view)),
    )
  }

  function createView(turn: TurnRecord): TurnView {
    const head = el('summary', {})
    const verdict = el('p', { class: 'verdict' })
    const rows = el('ol', { class: 'rows' })
    const view = {
      element: el('details', { class: 'turn', open: true }, head, verdict, rows),
      head,
      verdict,
      rows,
      open: new Set<string>(),
    }
    for (const other of views.values()) other.element.open = false
    views.set(turn.id, view)
    list.prepend(view.element)
    return view
  }

  const drawn = new WeakMap<Entry, { text: string; row: HTMLElement }>()

  /** A row is drawn anew only when it would say something else, so that an open one keeps its place and focus. */
  function rowOf(entry: Entry, turn: TurnRecord, view: TurnView): HTMLElement {
    const words = wordingOf(entry, turn, meanings)
    const text = JSON.stringify([words, entry.at, entry.page !== null, entry.sandbox !== null])
    const known = drawn.get(entry)
    if (known?.text === text) return known.row
    const isOpen = view.open.has(entry.key)
    const place = el('div', { class: 'details-place' })
    if (isOpen) place.append(detailsOf(entry, turn, sessionOf()))
    const button = el(
      'button',
      { type: 'button', class: 'row', 'data-tone': words.tone, 'aria-expanded': isOpen ? 'true' : 'false' },
      el('time', {}, seconds(entry.at - turn.began_at)),
      lanes(words.way),
      unseen(`${ways[words.way]}: `),
      el(
        'span',
        { class: 'said' },
        el('b', {}, words.title),
        words.text === '' ? null : el('span', { class: 'more' }, words.text),
        ...words.chips.map(({ tone, text }) => el('span', { class: 'chip', 'data-tone': tone }, text)),
      ),
      icon('chevron'),
    )
    button.addEventListener('click', () => {
      const opens = !view.open.delete(entry.key)
      if (opens) view.open.add(entry.key)
      button.setAttribute('aria-expanded', String(opens))
      place.replaceChildren(...(opens ? [detailsOf(entry, turn, sessionOf())] : []))
    })
    const row = el('li', { 'data-kind': entry.kind, class: known === undefined ? 'new' : null }, button, place)
    drawn.set(entry, { text, row })
    return row
  }

  return {
    element,
    show(turn, isNewest) {
      if (isNewest) journey.show(turn)
      stale.set(turn.id, turn)
      if (waiting) return
      waiting = true
      queueMicrotask(draw)
    },
    setLive(isLive) {
      live.dataset.live = String(isLive)
      live.textContent = isLive ? 'live' : 'reconnecting'
    },
    setMeanings(known) {
      meanings = known
    },
  }
}

/** Makes these the children, and touches none that stands right already: it may have the focus. */
function arrange(list: HTMLElement, rows: readonly HTMLElement[]): void {
  for (const child of [...list.children]) if (!rows.includes(child as HTMLElement)) child.remove()
  for (const [index, row] of rows.entries()) {
    if (list.children[index] !== row) list.insertBefore(row, list.children[index] ?? null)
  }
}

function outcomeOf(turn: TurnRecord): HTMLElement[] {
  const decision = turn.detail
  if (decision === null || decision.fill === null) return []
  const tone = decision.fill ? 'good' : 'warn'
  return [el('span', { class: 'chip', 'data-tone': tone }, decision.fill ? `${decision.format}` : 'no-fill')]
}

/** The sandbox's billing verdict over the beacons so far. */
function verdictOf({ detail }: TurnRecord): { verdict: (string | Node)[]; text: string } {
  const billing = detail?.billing
  if (!billing) return { verdict: [], text: '' }
  const { would_bill, metric, gross_cpm, currency, explanation } = billing
  const price = gross_cpm === null ? '' : `, ${gross_cpm.toFixed(2)} ${currency} CPM`
  const mark = el(
    'span',
    { class: 'chip', 'data-tone': would_bill ? 'money' : 'plain' },
    would_bill ? 'would bill' : 'not billed',
  )
  const said = would_bill ? `${metric}${price}` : explanation
  return { verdict: [mark, el('span', {}, said)], text: explanation }
}
