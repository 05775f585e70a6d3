/**
 * The html reporter: a run as one page with every case folded, all exchanges included. The page loads nothing, sends
 * nothing, and runs only the one script that its policy names by hash.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { measuredTime } from '#foundation/duration.ts'
import { html, type Markup, trusted } from '#foundation/html.ts'
import { isObject, type Json } from '#foundation/json.ts'
import { printable } from '#text/terminal.ts'
import { plural } from '#text/text.ts'
import {
  type CaseResult,
  countTotals,
  type Outcome,
  type Reporter,
  type RunResult,
  type Totals,
  valueWords,
} from '../../result.ts'
import { packagePath } from '../../suite/package-files.ts'
import {
  appliedText,
  bySuite,
  caseTitle,
  countReasons,
  countsText,
  type Destination,
  flakyCases,
  outcomes,
  outcomeWords,
  placeText,
  sumDurations,
  targetText,
} from '../text.ts'
import {
  bar,
  caseLink,
  caseMarkup,
  chooseLook,
  createScreenshotBudget,
  glyphs,
  mark,
  maxOpenCases,
  maxOpenFailures,
  type Numbered,
} from './case.ts'
import { copyScript, pageScript } from './script.ts'

/** Returns a run as one self-contained page of HTML. */
export function renderPage(result: RunResult): string {
  const script = [pageScript, copyScript].map((each) => `(${each.toString()})()`).join(';')
  const style = readFileSync(packagePath('qa-report.css'), 'utf8').replace(/\/\*.*?\*\/\s*/gs, '')
  const policy = [
    "default-src 'none'",
    `style-src '${sourceHash(style)}'`,
    `script-src '${sourceHash(script)}'`,
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
<title>${headline(countTotals(result.cases))} · svc qa</title>
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
<div class="group">${failed.map((numbered, index) => caseMarkup(numbered, { isOpen: index < maxOpenFailures, withSuite: true, hasRoom }))}</div></section>`
}
${leftOutMarkup(result)}
${matrix}
${timings}
<section id="cases" aria-labelledby="cases-title"><div class="heading"><h2 id="cases-title">Cases</h2><p class="folds"><button type="button" data-fold="open">Unfold all</button> <button type="button" data-fold="shut">Fold all</button></p></div>
${[...Map.groupBy(cases, ({ item }) => item.suite)].map(([suite, own]) => suiteMarkup(suite, own, cases.length <= maxOpenCases, hasRoom))}</section>
</main><footer class="wrap soft">Written by svc ${result.svc_version}. Credentials are redacted.</footer>
<script>${trusted(script)}</script></body></html>
`.markup
}

function suiteMarkup(
  suite: string,
  cases: readonly Numbered[],
  isOpen: boolean,
  hasRoom: (bytes: number) => boolean,
): Markup {
  const items = cases.map(({ item }) => item)
  const totals = countTotals(items)
  const duration_ms = sumDurations(items)
  const looks = new Set(items.map(chooseLook))
  const worst = (['failed', 'warned', ...outcomes] as const).find((look) => looks.has(look)) ?? 'passed'
  const ordered = cases.toSorted((a, b) => rank(a.item) - rank(b.item))
  return html`<details class="suite" data-group${isOpen && html` open`}><summary>${mark(worst)}<h3>${suite}</h3><span class="soft">${countsText(totals)}</span><span class="soft time">${duration_ms > 0 && measuredTime(duration_ms)}</span></summary>
<div class="group">${ordered.map((numbered) => (numbered.item.outcome === 'failed' ? caseLink(numbered) : caseMarkup(numbered, { isOpen: false, withSuite: false, hasRoom })))}</div></details>
`
}

/** Cases to look at come first. */
function rank(item: CaseResult): number {
  const look = chooseLook(item)
  return look === 'failed' ? 0 : look === 'warned' ? 1 : 2
}

/** Lists why cases did not run, and which cases are flaky. */
function leftOutMarkup(result: RunResult): Markup | null {
  const groups = [
    { title: 'Not applicable to this target', reasons: countReasons(result.cases, 'not_applicable') },
    { title: 'Not run', reasons: countReasons(result.cases, 'not_run') },
  ].filter(({ reasons }) => reasons.length > 0)
  const flaky = flakyCases(result)
  if (groups.length === 0 && flaky.length === 0) return null
  return html`<section class="left-out">${groups.map(({ title, reasons }) => html`<h2>${title}</h2><ul>${reasons.map(({ reason, count }) => html`<li><b>${plural(count, 'case')}</b> ${reason}</li>`)}</ul>`)}
${flaky.length > 0 && html`<h2>Passed in one attempt, failed in another</h2><ul>${flaky.map(({ id, failed, attempts }) => html`<li>${id} <span class="soft">failed ${failed} of ${attempts}</span></li>`)}</ul>`}</section>`
}

function sourceHash(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}

function headMarkup(result: RunResult): Markup {
  const totals = countTotals(result.cases)
  const { target, started_at_ms, duration_ms, svc_version, interrupted, observe_file } = result
  const started = new Date(started_at_ms).toISOString()
  const warned = result.cases.filter((item) => chooseLook(item) === 'warned').length
  const shown = outcomes.filter((outcome) => totals[outcome] > 0 || outcome === 'failed' || outcome === 'passed')
  return html`<header class="top"><div class="wrap">
<p class="brand">svc qa</p>
<h1>${headline(totals)}</h1>
<p class="soft">Against ${targetText(target)} · <time datetime="${started}">${started.slice(0, 19).replace('T', ' ')} UTC</time> · ${measuredTime(duration_ms)} · svc ${svc_version}${observe_file !== undefined && html` · ${appliedText(observe_file)}`}</p>
${interrupted !== null && html`<p class="reason not_run">Interrupted by ${interrupted}: the run is incomplete.</p>`}
${proportions(totals)}
<dl class="totals">${shown.map((outcome) => html`<div class="${totals[outcome] > 0 ? outcome : 'none'}"><dt>${outcomeWords[outcome]}</dt><dd>${totals[outcome]}</dd></div>`)}${warned > 0 && html`<div class="warned"><dt>passed with a warning</dt><dd>${warned}</dd></div>`}<div><dt>checks</dt><dd>${totals.checks}${totals.failed_checks > 0 && html` <small>${totals.failed_checks} failed</small>`}</dd></div></dl>
</div></header>`
}

/** Returns the result in a few words, also for the title of the page. */
function headline({ cases, failed, passed, not_run }: Totals): string {
  if (cases === 0) return 'No case was run'
  if (failed > 0) return `${failed} of ${plural(cases, 'case')} failed`
  if (passed === cases) return cases === 1 ? 'The case passed' : `All ${cases} cases passed`
  if (not_run > 0) return `${passed} of ${plural(cases, 'case')} passed, ${not_run} did not run`
  return passed === 0 ? 'No case applies to this target' : `All ${plural(passed, 'case')} that apply here passed`
}

function proportions(totals: Totals): Markup {
  let x = 0
  const parts = outcomes.map((outcome) => {
    const width = totals.cases === 0 ? 0 : (totals[outcome] / totals.cases) * 100
    x += width
    return html`<rect class="${outcome}" x="${(x - width).toFixed(3)}" width="${width.toFixed(3)}" height="4"/>`
  })
  return html`<svg class="proportions" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">${parts}</svg>`
}

function filtersMarkup(cases: readonly CaseResult[]): Markup {
  const totals = countTotals(cases)
  const tags = [...new Set(cases.flatMap(({ tags }) => tags))].toSorted()
  const present = outcomes.filter((outcome) => totals[outcome] > 0)
  return html`<form class="filters" id="filters" aria-label="Filter cases" hidden>
<label class="search"><span class="soft">Find</span> <input type="search" id="filter-text" placeholder="name, suite or tag" autocomplete="off" aria-keyshortcuts="/"></label>
<fieldset><legend class="hidden">Outcome</legend>${present.map((outcome) => html`<label class="toggle ${outcome}"><input type="checkbox" name="outcome" value="${outcome}"> ${outcomeWords[outcome]} <b>${totals[outcome]}</b></label>`)}</fieldset>
${tags.length > 0 && html`<label><span class="soft">Tag</span> <select id="filter-tag"><option value="">any</option>${tags.map((tag) => html`<option value="${tag}">${tag}</option>`)}</select></label>`}
<button type="reset">Clear</button>
<output id="filter-count" class="soft"></output>
</form>`
}

const most = 10

function timingsMarkup(cases: readonly Numbered[]): Markup | null {
  const ran = cases.filter(({ item }) => item.outcome === 'passed' || item.outcome === 'failed')
  if (ran.length === 0) return null
  const slowest = ran.toSorted((a, b) => b.item.duration_ms - a.item.duration_ms).slice(0, most)
  const longest_ms = Math.max(1, slowest[0]!.item.duration_ms)
  const suites = [...bySuite(ran.map(({ item }) => item))]
    .map(([name, items]) => ({ name, duration_ms: sumDurations(items) }))
    .toSorted((a, b) => b.duration_ms - a.duration_ms)
    .slice(0, most)
  const most_ms = Math.max(1, suites[0]!.duration_ms)
  return html`<section id="timings" aria-labelledby="timings-title"><h2 id="timings-title">Timings</h2><div class="columns">
<div><h3>Slowest cases</h3><ol class="times">${slowest.map(
    ({ number, item }) =>
      html`<li><a href="#case-${number}">${caseTitle(item)}</a><span class="soft time">${measuredTime(item.duration_ms)}</span>${bar(0, item.duration_ms / longest_ms, item.outcome)}</li>
`,
  )}</ol></div>
<div><h3>Suites, the time of their cases added up</h3><ol class="times">${suites.map(
    ({ name, duration_ms }) =>
      html`<li><span>${name}</span><span class="soft time">${measuredTime(duration_ms)}</span>${bar(0, duration_ms / most_ms, 'neutral')}</li>
`,
  )}</ol></div></div></section>`
}

/** A row of a matrix: cases that differ only in the value of its axis, by that value. */
interface MatrixRow {
  suite: string
  title: string
  cells: Map<string, Numbered[]>
}

/** Returns one table for each axis that is used, the most used first. A case is in one table only. */
function matrixMarkup(cases: readonly Numbered[]): Markup | null {
  const tables: Markup[] = []
  let left = cases.filter(({ item }) => Object.keys(item.matrix).length > 0)
  while (left.length > 0) {
    const axis = mostUsed(left)
    tables.push(
      tableMarkup(
        axis,
        left.filter(({ item }) => axis in item.matrix),
      ),
    )
    left = left.filter(({ item }) => !(axis in item.matrix))
  }
  if (tables.length === 0) return null
  return html`<section id="matrix" aria-labelledby="matrix-title"><h2 id="matrix-title">Matrix</h2>${tables}</section>`
}

/** Returns the axis that most cases have; of several, the one with the fewest values makes the narrowest table. */
function mostUsed(cases: readonly Numbered[]): string {
  const values = new Map<string, { uses: number; values: Set<string> }>()
  for (const { item } of cases) {
    for (const [name, value] of Object.entries(item.matrix)) {
      const entry = values.get(name) ?? { uses: 0, values: new Set<string>() }
      entry.uses++
      entry.values.add(valueWords(value))
      values.set(name, entry)
    }
  }
  const [first] = [...values].toSorted(([, a], [, b]) => b.uses - a.uses || a.values.size - b.values.size)
  return first![0]
}

function tableMarkup(axis: string, cases: readonly Numbered[]): Markup {
  const columns = [...new Set(cases.map(({ item }) => valueWords(item.matrix[axis]!)))]
  const rows = groupRows(axis, cases).toSorted((a, b) => Number(hasFailed(b)) - Number(hasFailed(a)))
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Cases by ${axis}"><table class="matrix">
<thead><tr><th scope="col">By <b>${axis}</b></th>${columns.map((column) => html`<th scope="col">${column}</th>`)}</tr></thead>
<tbody>${rows.map(
    ({ suite, title, cells }) =>
      html`<tr><th scope="row"><span class="soft">${suite}</span> ${title}</th>${columns.map((column) => html`<td>${cellMarkup(cells.get(column) ?? [])}</td>`)}</tr>
`,
  )}</tbody></table></div>
`
}

/** Groups cases from one place of a suite file, with the same values on other axes, into rows. */
function groupRows(axis: string, cases: readonly Numbered[]): MatrixRow[] {
  const rows = new Map<string, MatrixRow>()
  for (const numbered of cases) {
    const { suite, place, matrix, name } = numbered.item
    const { [axis]: value, ...others } = matrix
    const key = `${suite}\n${placeText(place)}\n${JSON.stringify(others)}`
    const column = valueWords(value!)
    const row = rows.get(key) ?? {
      suite,
      title: caseTitle({ name: without(name, axis, value!), matrix: others, attempt: 1 }),
      cells: new Map(),
    }
    row.cells.set(column, [...(row.cells.get(column) ?? []), numbered])
    rows.set(key, row)
  }
  return [...rows.values()]
}

/** Returns the name of a case without the value of its column, or without its fields: `a {format} fills`. */
function without(name: string, axis: string, value: Json): string {
  const words = valueWords(value)
  const bracketed = [` [${axis}=${words}]`, ` (${axis}=${words})`, ` {${axis}: ${words}}`].find((text) =>
    name.includes(text),
  )
  if (bracketed !== undefined) return name.replace(bracketed, '')
  // Whole words only, in any language.
  const escaped = words.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
  const whole = new RegExp(`(?<![\\p{L}\\p{N}_])${escaped}(?![\\p{L}\\p{N}_])`, 'u')
  if (words !== '' && whole.test(name)) return name.replace(whole, () => `{${axis}}`)
  if (!isObject(value)) return name
  return Object.entries(value).reduce((text, [field, inner]) => without(text, `${axis}.${field}`, inner), name)
}

const severity: readonly Outcome[] = ['failed', 'not_run', 'passed', 'not_applicable']

function cellMarkup(attempts: readonly Numbered[]): Markup | null {
  const [worst] = attempts.toSorted((a, b) => severity.indexOf(a.item.outcome) - severity.indexOf(b.item.outcome))
  if (worst === undefined) return null
  const { outcome } = worst.item
  const label = `${outcomeWords[outcome]}: ${printable(worst.item.name)}`
  return html`<a class="mark ${outcome}" href="#case-${worst.number}" aria-label="${label}" title="${label}">${glyphs[outcome]}</a>`
}

function hasFailed({ cells }: MatrixRow): boolean {
  return [...cells.values()].some((attempts) => attempts.some(({ item }) => item.outcome === 'failed'))
}

export function createHtmlReporter({ write }: Destination): Reporter {
  return { end: (result) => write(renderPage(result)) }
}
