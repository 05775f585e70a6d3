/** One case: a line that unfolds into its steps. */
import type { CaseResult } from '../../result.ts'
import { durationText, placeText, reasonOf, scalarText, titleOf } from '../words.ts'
import { type Hole, html, type Markup } from './markup.ts'
import { mark } from './pieces.ts'
import { stepMarkup } from './step.ts'

/** A case and its number, which is its address within the page: `#case-12`. */
export interface Numbered {
  number: number
  item: CaseResult
}

export interface CaseSetting {
  isOpen: boolean
  /** Tells the suite too, where cases of several stand together. */
  withSuite: boolean
  hasRoom: (bytes: number) => boolean
}

export function caseMarkup({ number, item }: Numbered, { isOpen, withSuite, hasRoom }: CaseSetting): Markup {
  const reason = reasonOf(item)
  const isFailed = item.outcome === 'failed'
  let elapsed_ms = 0
  const whole_ms = Math.max(
    item.duration_ms,
    item.steps.reduce((sum, { duration_ms }) => sum + duration_ms, 0),
    1,
  )
  return html`<details class="case ${item.outcome}" id="case-${number}"${attributes({ number, item })}${isOpen && html` open`}>
<summary>${mark(item.outcome)}<span class="title">${withSuite && html`<span class="soft">${item.suite} › </span>`}${titleOf(item)}</span>${item.outcome !== 'passed' && !isFailed && reason !== null && html`<span class="soft why">${reason}</span>`}<span class="soft time">${item.duration_ms > 0 && durationText(item.duration_ms)}</span></summary>
<div class="body"><p class="facts"><span class="soft place">${placeText(item.place)}</span>${Object.entries(item.matrix).map(([name, value]) => html` <span class="chip">${name}=${scalarText(value)}</span>`)}${item.tags.map((tag) => html` <span class="chip">${tag}</span>`)}</p>
${item.reason !== null && html`<p class="reason ${item.outcome}">${item.reason}</p>`}
${item.steps.map((step) => {
  const start = elapsed_ms / whole_ms
  elapsed_ms += step.duration_ms
  return stepMarkup(step, { start, length: step.duration_ms / whole_ms, isWhole: isFailed, hasRoom })
})}</div></details>
`
}

/** The line of a case that stands elsewhere on the page. */
export function caseLink({ number, item }: Numbered): Markup {
  return html`<a class="case link ${item.outcome}" href="#case-${number}"${attributes({ number, item })}>${mark(item.outcome)}<span class="title">${titleOf(item)}</span><span class="soft">see failures</span><span class="soft time">${durationText(item.duration_ms)}</span></a>
`
}

/** What the filter looks at. */
function attributes({ number, item }: Numbered): Hole {
  return html` data-case="${number}" data-outcome="${item.outcome}" data-tags="${JSON.stringify(item.tags)}" data-text="${`${item.id} ${item.tags.join(' ')}`.toLowerCase()}"`
}
