/**
 * One case of the page: a line that unfolds into its steps, each with its checks, exchanges and screenshots. Marks and bars stand below
 * it.
 */

import { measuredTime } from '#foundation/duration.ts'
import { type Hole, html, type Markup } from '#foundation/html.ts'
import { type Json, parseJson } from '#foundation/json.ts'
import { plural, sizeText } from '#text/text.ts'
import {
  type CaseExchange,
  type CaseResult,
  type Check,
  type Outcome,
  type Screenshot,
  type StepResult,
  valueWords,
} from '../../result.ts'
import { diffValues, valueText } from '../failure.ts'
import { caseTitle, findReason, outcomeWords, placeText } from '../text.ts'

/** A case and its number, which is its fragment in the page: `#case-12`. */
export interface Numbered {
  number: number
  item: CaseResult
}

interface CaseSetting {
  isOpen: boolean
  /** Whether to show the suite, where cases of several suites stand together. */
  withSuite: boolean
  hasRoom: (bytes: number) => boolean
}

export function caseMarkup({ number, item }: Numbered, { isOpen, withSuite, hasRoom }: CaseSetting): Markup {
  const reason = findReason(item)
  const isFailed = item.outcome === 'failed'
  let elapsed_ms = 0
  const whole_ms = Math.max(
    item.duration_ms,
    item.steps.reduce((sum, { duration_ms }) => sum + duration_ms, 0),
    1,
  )
  return html`<details class="case ${item.outcome}" id="case-${number}"${attributes({ number, item })}${isOpen && html` open`}>
<summary>${mark(chooseLook(item))}<span class="title">${withSuite && html`<span class="soft">${item.suite} › </span>`}${caseTitle(item)}</span>${item.outcome !== 'passed' && !isFailed && reason !== null && html`<span class="soft why">${reason}</span>`}<span class="soft time">${item.duration_ms > 0 && measuredTime(item.duration_ms)}</span></summary>
<div class="body"><p class="facts"><span class="soft place">${placeText(item.place)}</span>${Object.entries(item.matrix).map(([name, value]) => html` <span class="chip">${name}=${valueWords(value)}</span>`)}${item.tags.map((tag) => html` <span class="chip">${tag}</span>`)}</p>
${item.reason !== null && html`<p class="reason ${chooseLook(item)}">${item.reason}</p>`}
${item.steps.map((step) => {
  const start = elapsed_ms / whole_ms
  elapsed_ms += step.duration_ms
  return stepMarkup(step, { start, length: step.duration_ms / whole_ms, isWhole: isFailed, hasRoom })
})}</div></details>
`
}

/** Returns a link to a case elsewhere on the page. */
export function caseLink({ number, item }: Numbered): Markup {
  return html`<a class="case link ${item.outcome}" href="#case-${number}"${attributes({ number, item })}>${mark(item.outcome)}<span class="title">${caseTitle(item)}</span><span class="soft">see failures</span><span class="soft time">${measuredTime(item.duration_ms)}</span></a>
`
}

/** The attributes that the filter reads. */
function attributes({ number, item }: Numbered): Hole {
  return html` data-case="${number}" data-outcome="${item.outcome}" data-tags="${JSON.stringify(item.tags)}" data-text="${`${item.id} ${item.tags.join(' ')}`.toLowerCase()}"`
}

interface StepSetting {
  /** Start of its time within the case, from 0 to 1. */
  start: number
  length: number
  /** Whether its bodies are kept in full. */
  isWhole: boolean
  /** Whether there is room for a screenshot of this many bytes. */
  hasRoom: (bytes: number) => boolean
}

function stepMarkup(step: StepResult, { start, length, isWhole, hasRoom }: StepSetting): Markup {
  const { title, outcome, checks, exchanges, screenshots, reason, duration_ms, place } = step
  const failed = checks.filter(({ passed }) => !passed)
  const passed = checks.filter(({ passed }) => passed)
  const all = plural(checks.length, 'check')
  const count = failed.length === 0 ? all : `${passed.length === 0 ? all : `${failed.length} of ${all}`} failed`
  return html`<details class="step${outcome === 'not_run' && ' unrun'}"${outcome === 'failed' && html` open`}>
<summary>${mark(chooseLook(step))}<span class="title">${title}</span><span class="soft count">${checks.length > 0 && count}</span>${outcome !== 'not_run' && html`${bar(start, length, outcome)}<span class="soft time">${measuredTime(duration_ms)}</span>`}</summary>
<div class="body"><p class="soft place">${placeText(place)}</p>
${reason !== null && html`<p class="reason ${chooseLook(step)}">${reason}</p>`}
${failed.map(failedCheck)}
${screenshots.map((shot) => figure(shot, outcome === 'failed' || hasRoom(shot.png.length)))}
${exchanges.map((exchange, index) =>
  exchangeMarkup(exchange, isWhole, outcome === 'failed' && index === exchanges.length - 1),
)}
${passed.length > 0 && html`<details class="fold"><summary>${plural(passed.length, 'check')} passed</summary><ul class="checks">${passed.map((check) => passedCheck(check, isWhole))}</ul></details>`}
</div></details>
`
}

function failedCheck({ subject, expected, actual, hint, response_reason, place }: Check): Markup {
  return html`<div class="check"><p><strong>${subject}</strong>${place !== undefined && html` <span class="soft place">${placeText(place)}</span>`}</p>
${difference(expected, actual)}
${response_reason !== undefined && html`<p class="hint">The response says ${response_reason}</p>`}
${hint !== undefined && html`<p class="hint">${hint}</p>`}</div>
`
}

function difference(expected: Json, actual: Json): Markup {
  const diff = diffValues(expected, actual)
  if (diff === null) {
    return html`<dl class="values"><dt>expected</dt><dd class="expected"><code>${shown(expected)}</code></dd><dt>actual</dt><dd class="actual"><code>${shown(actual)}</code></dd></dl>`
  }
  const signs = { same: ' ', expected: '-', actual: '+', gap: '…' }
  return html`<p class="legend"><span class="expected">- expected</span> <span class="actual">+ actual</span></p><pre class="diff"><code>${diff.map(
    ({ kind, text }) => html`<span class="${kind}">${signs[kind]} ${text}</span>`,
  )}</code></pre>`
}

function passedCheck({ subject, expected, actual }: Check, isWhole: boolean): Markup {
  const value = isWhole ? shown(actual) : shown(actual).slice(0, 200)
  const meets =
    JSON.stringify(expected) === JSON.stringify(actual)
      ? null
      : html` <span class="soft">meets ${shown(expected)}</span>`
  return html`<li><span>${subject}</span> <code>${value}</code>${meets}</li>`
}

function shown(value: Json): string {
  return value === '' ? '""' : valueText(value)
}

function figure({ name, width, height, png }: Screenshot, isKept: boolean): Markup {
  if (!isKept)
    return html`<p class="soft">Screenshot ${name}, ${sizeText(png.length)}: left out to keep this page small. The json report has it.</p>`
  return html`<figure><img src="data:image/png;base64,${Buffer.from(png).toString('base64')}" width="${width}" height="${height}" alt="Screenshot ${name}" loading="lazy"><figcaption class="soft">${name} · ${width} × ${height}</figcaption></figure>`
}

/** `isFailing`: the last exchange of a step that failed, whose curl command is unfolded. */
function exchangeMarkup(exchange: CaseExchange, isWhole: boolean, isFailing: boolean): Markup {
  const { method, url, status, duration_ms, error, curl } = exchange
  const kind = status === 0 ? 'none' : `s${Math.floor(status / 100)}`
  return html`<div class="exchange"><p class="line"><span class="method">${method}</span> <span class="url">${url}</span> <span class="status ${kind}">${status === 0 ? 'no response' : status}</span> <span class="soft">${measuredTime(duration_ms)}</span></p>
${error !== null && html`<p class="reason failed">${error}</p>`}
${message('Request', exchange.request_headers, exchange.request_body, isWhole)}
${status !== 0 && message('Response', exchange.response_headers, exchange.response_body, isWhole)}
<details class="fold"${isFailing && html` open`}><summary>Repeat it with curl</summary>${copyable(curl, 'the curl command')}</details></div>
`
}

function message(
  name: string,
  headers: Readonly<Record<string, string>>,
  body: string | null,
  isWhole: boolean,
): Markup {
  const size = body === null ? 'no body' : sizeText(Buffer.byteLength(body))
  return html`<details class="fold"><summary>${name} <span class="soft">${size}</span></summary>
<dl class="headers">${Object.entries(headers).map(([header, value]) => html`<dt>${header}</dt><dd>${value}</dd>`)}</dl>
${body !== null && body !== '' && html`<pre><code>${bodyText(body, isWhole)}</code></pre>`}</details>`
}

/** Indents JSON; a passed case keeps only the beginning of a long body. */
function bodyText(body: string, isWhole: boolean): Hole {
  const text = indented(body)
  if (isWhole || text.length <= maxPassedBodyLength) return text
  return html`${text.slice(0, maxPassedBodyLength)}
<span class="soft">… ${text.length - maxPassedBodyLength} more characters, left out because the case passed. The json report has them.</span>`
}

/** A body that is not JSON, or no longer JSON, is shown unchanged. */
function indented(body: string): string {
  const value = /^\s*[[{]/.test(body) ? parseJson(body) : undefined
  return value === undefined ? body : JSON.stringify(value, null, 2)
}

/** Characters of a body that a passed case keeps; a failed case keeps everything. */
const maxPassedBodyLength = 4_000

/** Bytes of all screenshots of passed cases; those of failed cases are always kept. */
const maxPassedScreenshotBytes = 12_000_000

/** Failed cases that are unfolded when the page opens. */
export const maxOpenFailures = 10

/** Cases above which suites are folded when the page opens. */
export const maxOpenCases = 150

/** Returns whether there is still room for a screenshot of a passed case. Called once for each, in the order of the page. */
export function createScreenshotBudget(): (bytes: number) => boolean {
  let left = maxPassedScreenshotBytes
  return (bytes) => {
    if (bytes > left) return false
    left -= bytes
    return true
  }
}

/** An outcome as it looks; `warned`: it passed, and has a reason to look at it. */
type Look = Outcome | 'warned'

export function chooseLook({ outcome, reason }: Pick<CaseResult, 'outcome' | 'reason'>): Look {
  return outcome === 'passed' && reason !== null ? 'warned' : outcome
}

export const glyphs: Record<Look, string> = { passed: '✓', warned: '!', failed: '✗', not_applicable: '–', not_run: '○' }
const lookWords: Record<Look, string> = { ...outcomeWords, warned: 'passed with a warning' }

/** Returns the outcome as a coloured sign, with its name for screen readers. */
export function mark(look: Look): Markup {
  return html`<span class="mark ${look}" role="img" aria-label="${lookWords[look]}" title="${lookWords[look]}">${glyphs[look]}</span>`
}

/** Returns a bar from `start` to `start + length`, of 1. */
export function bar(start: number, length: number, kind: string): Markup {
  const x = (start * 100).toFixed(2)
  const width = Math.max(0.6, length * 100).toFixed(2)
  return html`<svg class="bar ${kind}" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect x="${x}" width="${width}" height="4"/></svg>`
}

/** Returns code with a button that copies it. */
function copyable(text: string, name: string): Markup {
  return html`<div class="copyable"><pre><code>${text}</code></pre><button type="button" class="copy" data-copy aria-label="Copy ${name}">Copy</button></div>`
}
