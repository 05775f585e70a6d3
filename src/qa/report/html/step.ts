/** One step: its checks, what went over the wire, what the page looked like. */
import type { JsonValue } from '../../json.ts'
import type { Check, Exchange, Screenshot, StepResult } from '../../result.ts'
import { diffOf, valueText } from '../diff.ts'
import { durationText, placeText, plural, sizeText } from '../words.ts'
import { passed_body_length } from './limits.ts'
import { type Hole, html, type Markup } from './markup.ts'
import { bar, copyable, mark } from './pieces.ts'

export interface StepSetting {
  /** Where its time lies within the case, of 1. */
  start: number
  length: number
  /** Whether all of its bodies stay. */
  isWhole: boolean
  /** Whether there is room for a screenshot of so many bytes. */
  hasRoom: (bytes: number) => boolean
}

export function stepMarkup(step: StepResult, { start, length, isWhole, hasRoom }: StepSetting): Markup {
  const { title, outcome, checks, exchanges, screenshots, reason, duration_ms, place } = step
  const failed = checks.filter(({ passed }) => !passed)
  const passed = checks.filter(({ passed }) => passed)
  const all = plural(checks.length, 'check')
  const count = failed.length === 0 ? all : `${passed.length === 0 ? all : `${failed.length} of ${all}`} failed`
  return html`<details class="step${outcome === 'not_run' && ' unrun'}"${outcome === 'failed' && html` open`}>
<summary>${mark(outcome)}<span class="title">${title}</span><span class="soft count">${checks.length > 0 && count}</span>${outcome !== 'not_run' && html`${bar(start, length, outcome)}<span class="soft time">${durationText(duration_ms)}</span>`}</summary>
<div class="body"><p class="soft place">${placeText(place)}</p>
${reason !== null && html`<p class="reason ${outcome}">${reason}</p>`}
${failed.map(failedCheck)}
${screenshots.map((shot) => figure(shot, outcome === 'failed' || hasRoom(shot.png.length)))}
${exchanges.map((exchange, index) =>
  exchangeMarkup(exchange, isWhole, outcome === 'failed' && index === exchanges.length - 1),
)}
${passed.length > 0 && html`<details class="fold"><summary>${plural(passed.length, 'check')} passed</summary><ul class="checks">${passed.map((check) => passedCheck(check, isWhole))}</ul></details>`}
</div></details>
`
}

function failedCheck({ subject, expected, actual, hint, place }: Check): Markup {
  return html`<div class="check"><p><strong>${subject}</strong>${place !== undefined && html` <span class="soft place">${placeText(place)}</span>`}</p>
${difference(expected, actual)}
${hint !== undefined && html`<p class="hint">${hint}</p>`}</div>
`
}

function difference(expected: JsonValue, actual: JsonValue): Markup {
  const diff = diffOf(expected, actual)
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

function shown(value: JsonValue): string {
  return value === '' ? '""' : valueText(value)
}

function figure({ name, width, height, png }: Screenshot, isKept: boolean): Markup {
  if (!isKept)
    return html`<p class="soft">Screenshot ${name}, ${sizeText(png.length)}: left out to keep this page small. The json report has it.</p>`
  return html`<figure><img src="data:image/png;base64,${Buffer.from(png).toString('base64')}" width="${width}" height="${height}" alt="Screenshot ${name}" loading="lazy"><figcaption class="soft">${name} · ${width} × ${height}</figcaption></figure>`
}

/** `isCulprit`: the last one of a step that failed; what repeats it is in sight. */
function exchangeMarkup(exchange: Exchange, isWhole: boolean, isCulprit: boolean): Markup {
  const { method, url, status, duration_ms, error, curl } = exchange
  const kind = status === 0 ? 'none' : `s${Math.floor(status / 100)}`
  return html`<div class="exchange"><p class="line"><span class="method">${method}</span> <span class="url">${url}</span> <span class="status ${kind}">${status === 0 ? 'no answer' : status}</span> <span class="soft">${durationText(duration_ms)}</span></p>
${error !== null && html`<p class="reason failed">${error}</p>`}
${message('Request', exchange.request_headers, exchange.request_body, isWhole)}
${status !== 0 && message('Response', exchange.response_headers, exchange.response_body, isWhole)}
<details class="fold"${isCulprit && html` open`}><summary>Repeat it with curl</summary>${copyable(curl, 'the curl command')}</details></div>
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

/** JSON is indented; of a long body, a passed case keeps its beginning. */
function bodyText(body: string, isWhole: boolean): Hole {
  const text = indented(body)
  if (isWhole || text.length <= passed_body_length) return text
  return html`${text.slice(0, passed_body_length)}
<span class="soft">… ${text.length - passed_body_length} more characters, left out because the case passed. The json report has them.</span>`
}

function indented(body: string): string {
  if (!/^\s*[[{]/.test(body)) return body
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    // A body that was garbled or cut on purpose is shown as it came.
    return body
  }
}
