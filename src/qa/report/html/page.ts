/** The whole page. It loads nothing, sends nothing, and runs only the one script that its policy names by hash. */
import { createHash } from 'node:crypto'
import { type CaseResult, type RunResult, totalsOf } from '../../result.ts'
import { countsText, durationText, outcomes, plural, reasonsOf, unsteadyCases } from '../words.ts'
import { caseLink, caseMarkup, type Numbered } from './case.ts'
import { filtersMarkup } from './filters.ts'
import { headline, headMarkup } from './head.ts'
import { createScreenshotBudget, open_cases, open_failures } from './limits.ts'
import { html, type Markup, trusted } from './markup.ts'
import { matrixMarkup } from './matrix.ts'
import { mark } from './pieces.ts'
import { behave } from './script.ts'
import { style } from './style.ts'
import { timingsMarkup } from './timings.ts'

/** A run as one self-contained page of HTML. */
export function pageOf(result: RunResult): string {
  const script = `(${behave.toString()})()`
  const policy = [
    "default-src 'none'",
    `style-src '${hashOf(style)}'`,
    `script-src '${hashOf(script)}'`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
  const cases = result.cases.map((item, number): Numbered => ({ item, number }))
  const hasRoom = createScreenshotBudget()
  const failed = cases.filter(({ item }) => item.outcome === 'failed')
  const matrix = matrixMarkup(cases)
  const timings = timingsMarkup(cases)
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">
<title>${headline(totalsOf(result.cases))} · svc qa</title>
<style>${trusted(style)}</style></head>
<body><a class="skip" href="#cases">Skip to the cases</a>
${headMarkup(result)}
<nav class="tabs" aria-label="Sections"><div class="wrap">${failed.length > 0 && html`<a href="#failures">Failures</a> `}${matrix !== null && html`<a href="#matrix">Matrix</a> `}${timings !== null && html`<a href="#timings">Timings</a> `}<a href="#cases">Cases</a></div></nav>
<main class="wrap">
${filtersMarkup(result.cases)}
<p id="filter-none" class="empty" hidden>No case matches this filter.</p>
${
  failed.length > 0 &&
  html`<section id="failures" aria-labelledby="failures-title" data-group><h2 id="failures-title">Failures</h2>
<div class="group">${failed.map((numbered, index) => caseMarkup(numbered, { isOpen: index < open_failures, withSuite: true, hasRoom }))}</div></section>`
}
${leftOutMarkup(result)}
${matrix}
${timings}
<section id="cases" aria-labelledby="cases-title"><div class="heading"><h2 id="cases-title">Cases</h2><p class="folds"><button type="button" data-fold="open">Unfold all</button> <button type="button" data-fold="shut">Fold all</button></p></div>
${[...Map.groupBy(cases, ({ item }) => item.suite)].map(([suite, members]) => suiteMarkup(suite, members, cases.length <= open_cases, hasRoom))}</section>
</main><footer class="wrap soft">Written by svc ${result.svc_version}. Credentials were removed before anything was kept.</footer>
<script>${trusted(script)}</script></body></html>
`.markup
}

function suiteMarkup(
  suite: string,
  members: readonly Numbered[],
  isOpen: boolean,
  hasRoom: (bytes: number) => boolean,
): Markup {
  const items = members.map(({ item }) => item)
  const totals = totalsOf(items)
  const duration_ms = items.reduce((sum, { duration_ms }) => sum + duration_ms, 0)
  const worst = outcomes.find((outcome) => totals[outcome] > 0) ?? 'passed'
  const ordered = members.toSorted((a, b) => rank(a.item) - rank(b.item))
  return html`<details class="suite" data-group${isOpen && html` open`}><summary>${mark(worst)}<h3>${suite}</h3><span class="soft">${countsText(totals)}</span><span class="soft time">${duration_ms > 0 && durationText(duration_ms)}</span></summary>
<div class="group">${ordered.map((numbered) => (numbered.item.outcome === 'failed' ? caseLink(numbered) : caseMarkup(numbered, { isOpen: false, withSuite: false, hasRoom })))}</div></details>
`
}

function rank({ outcome }: CaseResult): number {
  return outcome === 'failed' ? 0 : 1
}

/** Why cases could not be shown, and which ones are not to be relied upon. */
function leftOutMarkup(result: RunResult): Markup | null {
  const groups = [
    { title: 'Not applicable to this target', reasons: reasonsOf(result.cases, 'not_applicable') },
    { title: 'Not run', reasons: reasonsOf(result.cases, 'not_run') },
  ].filter(({ reasons }) => reasons.length > 0)
  const unsteady = unsteadyCases(result)
  if (groups.length === 0 && unsteady.length === 0) return null
  return html`<section class="left-out">${groups.map(({ title, reasons }) => html`<h2>${title}</h2><ul>${reasons.map(({ reason, count }) => html`<li><b>${plural(count, 'case')}</b> ${reason}</li>`)}</ul>`)}
${unsteady.length > 0 && html`<h2>Passed in one attempt, failed in another</h2><ul>${unsteady.map(({ id, failed, attempts }) => html`<li>${id} <span class="soft">failed ${failed} of ${attempts}</span></li>`)}</ul>`}</section>`
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}
