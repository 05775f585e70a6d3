/** What a row opens to: both sides as JSON, the slot, and commands that show the same in a terminal. */
import { copyButton } from '../copy-button.ts'
import { el, svg } from '../elements.ts'
import { icon } from '../icons.ts'
import type { Entry, TurnRecord } from './record.ts'
import { seconds } from './wording.ts'

export function detailsOf(entry: Entry, turn: TurnRecord, session_id: string): HTMLElement {
  const { slot_id, page, sandbox } = entry
  return el(
    'div',
    { class: 'details' },
    slot_id === null ? null : slotLine(slot_id),
    ...commandsFor(entry, session_id).map(commandLine),
    page && side('Page', page.at - turn.began_at, page.event),
    sandbox && side('Sandbox', sandbox.at - turn.began_at, sandbox.event),
  )
}

function slotLine(slot_id: string): HTMLElement {
  const link = el(
    'a',
    { href: `/_sandbox/placements/${slot_id}`, target: '_blank', rel: 'noopener' },
    'Decision trace',
    icon('open'),
  )
  return el('p', { class: 'slot-line' }, el('code', {}, slot_id), link)
}

function commandsFor({ kind, slot_id }: Entry, session_id: string): string[] {
  if (kind === 'consent') return [`svc requests list --session-id ${session_id}`]
  if (slot_id === null) return []
  if (kind === 'beacon') return [`svc beacons list --slot-id ${slot_id}`]
  if (kind === 'request') return [`svc requests list --session-id ${session_id}`]
  if (kind === 'decision') return [`svc placements explain ${slot_id}`]
  return [`svc events stream --slot-id ${slot_id} --since-seq 0`]
}

export function commandLine(command: string): HTMLElement {
  return el(
    'p',
    { class: 'command' },
    el('code', {}, command),
    copyButton(() => command, 'Copy the command'),
  )
}

function side(name: string, after_ms: number, value: object): HTMLElement {
  return el(
    'figure',
    { class: 'side' },
    el('figcaption', {}, el('b', {}, name), el('time', {}, `+${seconds(after_ms)}`)),
    el('pre', { tabindex: 0 }, ...json(value)),
  )
}

/** JSON with its names and texts told apart. */
function json(value: object): (string | Node)[] {
  const text = JSON.stringify(value, null, 2)
  const parts: (string | Node)[] = []
  let end = 0
  for (const match of text.matchAll(/"(?:[^"\\]|\\.)*"(:?)/g)) {
    parts.push(text.slice(end, match.index), el('span', { class: match[1] === ':' ? 'j-name' : 'j-text' }, match[0]))
    end = match.index + match[0].length
  }
  return [...parts, text.slice(end)]
}

/** The two lanes of a row, and what went between them. */
export function lanes(way: string): SVGElement {
  const dot = (x: number) => svg('circle', { cx: x, cy: 10, r: 3.5 })
  const [start, shaft] = way === 'in' ? [36, 'M32 10H11'] : [8, 'M12 10H33']
  const tip = way === 'in' ? 'M15 6.500 11 10l4 3.500' : 'M29 6.500 33 10l-4 3.500'
  const marks =
    way === 'page'
      ? [dot(8)]
      : way === 'sandbox'
        ? [dot(36)]
        : [dot(start), svg('path', { d: shaft }), svg('path', { d: tip })]
  return svg(
    'svg',
    { class: 'lanes', viewBox: '0 0 44 20', preserveAspectRatio: 'xMidYMin', 'data-way': way, 'aria-hidden': 'true' },
    ...marks,
  )
}
