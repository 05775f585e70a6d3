/** A game day as one page of HTML. It loads nothing and has no script. */
import { createHash } from 'node:crypto'
import { html, type Markup, trusted } from '#foundation/html.ts'
import { plural } from '#text/text.ts'
import { billedChart, latencyChart } from './chart.ts'
import { pageStyle } from './page-style.ts'
import type { Latency } from './records.ts'
import { actualText, expectationNames, type GamedayReport, limitText, percentText, secondsText } from './report.ts'

/** Returns the page. `version` is that of svc. */
export function renderGameday(report: GamedayReport, version: string): string {
  const policy = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(pageStyle).digest('base64')}'; base-uri 'none'; form-action 'none'`
  const missed = report.expectations.filter(({ ok }) => !ok).length
  const headline = missed === 0 ? 'every expectation met' : `${plural(missed, 'expectation')} missed`
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">
<title>${report.gameday}: ${headline} · svc sandbox gameday</title>
<style>${trusted(pageStyle)}</style></head>
<body><main>
<h1>${report.gameday}</h1>
<p class="${missed === 0 ? 'good' : 'bad'}">${headline}</p>
<p class="soft">${plural(report.plan.length, 'planned turn')} in ${secondsText(report.length_ms)}, ${report.rate} a second, seed ${report.seed}. Played without faults, then with them.</p>
${report.looked_at.map((line) => html`<p class="soft">${line}</p>`)}
${table(
  ['expectation', 'expected', 'measured', 'verdict'],
  report.expectations.map((each) => [
    expectationNames[each.expectation],
    limitText(each),
    actualText(each),
    html`<span class="${each.ok ? 'good' : 'bad'}">${each.ok ? 'met' : 'missed'}</span>`,
  ]),
)}
<p><span class="key with"></span>with faults <span class="key without"></span>without faults <span class="bad">&nbsp; ×</span> no ad</p>
${latencyChart(report)}${billedChart(report)}
${figures(report)}
<p class="soft">Written by svc ${version}. This is no load test: the sandbox runs on this computer, and its own speed says nothing about that of the service.</p>
</main></body></html>
`.markup
}

/** Returns the tables of the funnel, the phases, the losses and the recoveries. */
function figures(report: GamedayReport): Markup {
  return html`<h2>From request to billed view</h2>
${table(
  ['step', 'without faults', 'with faults', 'kept'],
  report.funnel.map((row) => [row.step, row.without, row.with, percentText(row.kept_percent)]),
)}
<h2>Phases</h2>
${table(
  ['phase', 'from', 'run', 'turns', 'fills', 'billed', 'median', 'p95', 'p99', 'max'],
  report.phases.flatMap((phase) =>
    (['without', 'with'] as const).map((run) => [
      run === 'without' ? phase.name : '',
      run === 'without' ? secondsText(phase.from_ms) : '',
      `${run} faults`,
      phase[run].turns,
      phase[run].fills,
      phase[run].billed,
      ...latencyCells(phase[run].latency),
    ]),
  ),
)}
<h2>What was lost, and why</h2>
${
  report.losses.length === 0
    ? html`<p class="soft">Nothing.</p>`
    : table(
        ['phase', 'not', 'reason', 'turns', 'without faults'],
        report.losses.map(({ phase, missed: step, reason, turns, without }) => [
          phase,
          step,
          reason ?? '-',
          turns,
          without,
        ]),
      )
}
<h2>Recovery</h2>
${table(
  ['after', 'ended', 'turns', 'recovered within'],
  report.recoveries.map(({ fault, ended_ms, turns, recovery_ms }) => [
    fault,
    secondsText(ended_ms),
    turns,
    recovery_ms === null ? 'not recovered' : secondsText(recovery_ms),
  ]),
)}`
}

type Cell = string | number | Markup

function table(head: readonly string[], rows: readonly (readonly Cell[])[]): Markup {
  const kind = (cell: Cell) => (typeof cell === 'number' ? html` class="number"` : null)
  const isNumeric = (column: number) => typeof rows[0]?.[column] === 'number'
  return html`<div class="card"><table><thead><tr>${head.map((name, column) => html`<th scope="col"${isNumeric(column) && html` class="number"`}>${name}</th>`)}</tr></thead><tbody>
${rows.map((row) => html`<tr>${row.map((cell) => html`<td${kind(cell)}>${cell}</td>`)}</tr>\n`)}</tbody></table></div>
`
}

function latencyCells(latency: Latency | null): string[] {
  if (latency === null) return ['-', '-', '-', '-']
  return [latency.median_ms, latency.p95_ms, latency.p99_ms, latency.max_ms].map(secondsText)
}
