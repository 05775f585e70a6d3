/** Where the time went: the slowest cases, and suites by the time of their cases. */
import { bySuite, durationText, titleOf } from '../words.ts'
import type { Numbered } from './case.ts'
import { html, type Markup } from './markup.ts'
import { bar } from './pieces.ts'

const most = 10

export function timingsMarkup(cases: readonly Numbered[]): Markup | null {
  const ran = cases.filter(({ item }) => item.outcome === 'passed' || item.outcome === 'failed')
  if (ran.length === 0) return null
  const slowest = ran.toSorted((a, b) => b.item.duration_ms - a.item.duration_ms).slice(0, most)
  const longest_ms = Math.max(1, slowest[0]!.item.duration_ms)
  const suites = [...bySuite(ran.map(({ item }) => item))]
    .map(([name, items]) => ({ name, duration_ms: items.reduce((sum, { duration_ms }) => sum + duration_ms, 0) }))
    .toSorted((a, b) => b.duration_ms - a.duration_ms)
    .slice(0, most)
  const most_ms = Math.max(1, suites[0]!.duration_ms)
  return html`<section id="timings" aria-labelledby="timings-title"><h2 id="timings-title">Timings</h2><div class="columns">
<div><h3>Slowest cases</h3><ol class="times">${slowest.map(
    ({ number, item }) =>
      html`<li><a href="#case-${number}">${titleOf(item)}</a><span class="soft time">${durationText(item.duration_ms)}</span>${bar(0, item.duration_ms / longest_ms, item.outcome)}</li>
`,
  )}</ol></div>
<div><h3>Suites, the time of their cases added up</h3><ol class="times">${suites.map(
    ({ name, duration_ms }) =>
      html`<li><span>${name}</span><span class="soft time">${durationText(duration_ms)}</span>${bar(0, duration_ms / most_ms, 'neutral')}</li>
`,
  )}</ol></div></div></section>`
}
