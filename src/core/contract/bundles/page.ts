/**
 * The page of a bundle (A117): one file of HTML without a script, which opens anywhere without a network, prints, and holds
 * its data. It follows from the data alone, so that a page that shows something else is found.
 */
import { measuredTime } from '#foundation/duration.ts'
import { type Hole, html, type Markup, trusted } from '#foundation/html.ts'
import { parseJson } from '#foundation/json.ts'
import { acceptMeanings, reasonCodes } from '../error-codes.ts'
import { noFillReasons } from '../no-fill.ts'
import type { PlacementDetail } from '../resources/placements.ts'
import type { Bundle, BundleEvidence, BundleMedia, BundleTurn } from './bundle.ts'
import { pageStyle } from './page-style.ts'
import { bundleElement } from './text.ts'

/** Nothing is loaded and nothing runs. */
const policy =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src data:; base-uri 'none'; form-action 'none'"

/** Returns a bundle as a page. */
export function bundlePage(bundle: Bundle): string {
  const { turns, session_id } = bundle
  const title = turns.length === 1 ? turns[0]!.placement.slot_id : `session ${session_id ?? ''}`
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">
<title>${title} · svc bundle create</title>
<style>${trusted(pageStyle)}</style></head>
<body>
${headMarkup(bundle, title)}
<main>
${turns.map((turn, index) => turnMarkup(turn, turns.length > 1 ? `Turn ${index + 1}: ` : ''))}
${settingsMarkup(bundle)}
${proofMarkup(bundle)}
</main>
${trusted(bundleElement(bundle))}
</body></html>
`.markup
}

function headMarkup(bundle: Bundle, title: string): Markup {
  const { at_ms, client_id, session_id, svc_version, left_out, turns, scenario, fault_rules, clock_offset_ms } = bundle
  return html`<header><p class="brand">svc bundle create</p><h1>${title}</h1>
${pairs([
  ['Project', client_id],
  ['Session', session_id],
  ['Written', timeText(at_ms)],
  ['By', `svc ${svc_version}`],
  ['Clock', clock_offset_ms === 0 ? null : `moved by ${measuredTime(Math.abs(clock_offset_ms))}`],
  ['Scenario', scenario],
  ['Fault rules', fault_rules === 0 ? null : String(fault_rules)],
  [
    'Turns',
    turns.length === 1
      ? null
      : `${turns.length}${left_out === 0 ? '' : `, the newest; ${left_out} older are left out`}`,
  ],
])}
</header>`
}

function turnMarkup(turn: BundleTurn, prefix: string): Markup {
  const { placement } = turn
  const { slot_id, billing, fix } = placement
  const [outcome, tone] = readOutcome(placement)
  return html`<section class="turn"><h2>${prefix}${capitalized(outcome)} <span class="chip ${tone}">${billing === null ? placement.status : billing.would_bill ? 'would bill' : 'would not bill'}</span></h2>
${explanation(placement)}
${fix !== null && html`<p class="hint">${fix}</p>`}
<div class="columns"><div>
<h3>What happened</h3>${timeline(turn)}
<h3>Beacons</h3>${beaconTable(turn)}
</div><div>
${creative(turn)}
<h3>Placement</h3>${pairs([
    ['Slot', slot_id],
    ['Job', placement.job_id],
    ['Session', placement.session_id],
    ['Surface', placement.job_type],
    ['Mode', placement.mode],
    ['Format', placement.format],
    ['Campaign', `${placement.campaign_id ?? ''}${placement.forced ? ', forced, never billed' : ''}` || null],
    ['Written in', findSource(placement)],
    ['Topic', placement.topic],
    ['Prompt', placement.prompt_length === null ? null : `${placement.prompt_length} characters, never stored`],
    [
      'Price',
      billing === null || billing.gross_cpm === null ? null : `${billing.gross_cpm} ${billing.currency ?? ''} CPM`,
    ],
    ['Counts', billing?.metric.replaceAll('_', ' ') ?? null],
  ])}
<h3>Consent at the decision</h3>${consentMarkup(placement)}
</div></div>
<h3>How it was decided</h3>${traceMarkup(placement)}
<h3>Requests</h3>${requestsMarkup(turn)}
<h3>Evidence</h3>${evidenceMarkup(turn.evidence)}
${fold('The decision as it was sent', json(placement.decision))}
${placement.partner_request !== null && fold('What partners would have received', json(placement.partner_request))}
</section>`
}

function readOutcome({ fill, format, no_fill_reason, billing }: PlacementDetail): [text: string, tone: string] {
  if (fill === null) return ['pending', 'wait']
  if (!fill) return [`no fill, ${no_fill_reason}`, 'plain']
  return [`filled with a ${format}${format === 'native' ? ' ad' : ''}`, billing?.would_bill === true ? 'good' : 'bad']
}

function explanation({ billing, no_fill_reason }: PlacementDetail): Hole {
  if (no_fill_reason !== null) return html`<p>${noFillReasons[no_fill_reason].meaning}</p>`
  return billing !== null && html`<p>${billing.explanation}</p>`
}

function timeline({ placement }: BundleTurn): Markup {
  const { created_at_ms, decided_at_ms, first_frame_at_ms, beacons } = placement
  const steps: [name: string, at_ms: number | null][] = [
    ['requested', created_at_ms],
    ['decided', decided_at_ms],
    ['frame loaded', first_frame_at_ms],
    ...beacons.map(({ event, verdict, received_at_ms }): [string, number] => [
      `${event ?? 'beacon'} ${verdict}`,
      received_at_ms,
    ]),
  ]
  const known = steps.flatMap(([name, at_ms]) => (at_ms === null ? [] : { name, at_ms }))
  return html`<ol class="timeline">${known
    .toSorted((a, b) => a.at_ms - b.at_ms)
    .map(
      ({ name, at_ms }, index) =>
        html`<li><span class="time">${index === 0 ? timeText(at_ms) : `+${measuredTime(at_ms - created_at_ms)}`}</span> ${name}</li>`,
    )}</ol>`
}

function beaconTable({ placement, measurements }: BundleTurn): Markup {
  const { beacons, created_at_ms } = placement
  if (beacons.length === 0) return html`<p class="soft">None arrived.</p>`
  const measured = new Map(measurements.map(({ beacon_id, measurements: values }) => [beacon_id, values]))
  return html`<div class="scroll"><table><thead><tr><th>After</th><th>Event</th><th>Verdict</th><th>Reason</th><th>Bills</th><th>Measured</th></tr></thead><tbody>${beacons.map(
    ({ received_at_ms, event, verdict, reason_code, would_bill, beacon_id, metric }) =>
      html`<tr><td class="time">${measuredTime(Math.max(0, received_at_ms - created_at_ms))}</td><td>${event ?? 'unknown'}</td><td><span class="chip ${verdict === 'accepted' ? 'good' : 'bad'}">${verdict}</span></td><td><code>${reason_code}</code> <span class="soft">${explainReason(reason_code)}</span></td><td>${would_bill ? (metric?.replaceAll('_', ' ') ?? 'yes') : 'no'}</td><td class="measured">${measurementText(measured.get(beacon_id ?? ''))}</td></tr>`,
  )}</tbody></table></div>`
}

function explainReason(code: string): string {
  const meanings: Readonly<Record<string, string>> = acceptMeanings
  if (Object.hasOwn(meanings, code)) return meanings[code]!
  const causes: Readonly<Record<string, { message: string }>> = reasonCodes
  return Object.hasOwn(causes, code) ? causes[code]!.message : ''
}

function measurementText(values: object | undefined): string {
  if (values === undefined) return ''
  return Object.entries(values)
    .map(([name, value]) => `${name} ${String(value)}`)
    .join(', ')
}

/** The creative as a picture, or as the clip where the bundle has it, with the label that its page shows. */
function creative({ placement, media }: BundleTurn): Hole {
  const { decision } = placement
  if (decision?.fill !== true) return null
  const { width, height } = decision.dimensions
  const clip = media.find(({ use }) => use === 'clip')
  const still = media.find(({ use }) => use === 'still')
  const size = html` width="${width}" height="${height}" style="aspect-ratio:${width}/${height}"`
  return html`<h3>Creative</h3><figure><figcaption>${decision.ad_label_text} · ${decision.sponsor_name} · ${width} × ${height}</figcaption>${
    clip !== undefined
      ? html`<video src="${dataUrl(clip)}"${still !== undefined && html` poster="${dataUrl(still)}"`} controls muted playsinline${size}></video>`
      : still !== undefined &&
        html`<img src="${dataUrl(still)}" alt="The creative"${decision.format === 'native' ? null : size}>`
  }${decision.assets !== null && html`<p><strong>${decision.assets.title}</strong></p><p>${decision.assets.description ?? ''}</p><p class="soft">${decision.assets.cta_text}</p>`}<p class="soft">leads to ${decision.click_url}</p></figure>`
}

function dataUrl({ media_type, base64 }: BundleMedia): string {
  return `data:${media_type};base64,${base64}`
}

function consentMarkup({ consent, consent_strings }: PlacementDetail): Markup {
  if (consent === null) return html`<p class="soft">None was bound.</p>`
  const { lifecycle_state, revision, source, purposes, expires_at_ms } = consent
  return pairs([
    ['State', lifecycle_state],
    ['Revision', String(revision)],
    ['Source', source],
    ['Targeting', purposes.semantic_targeting ? 'permitted' : 'not permitted'],
    ['Prompt', purposes.prompt_shared ? 'shared' : 'not shared'],
    ['Expires', timeText(expires_at_ms)],
    ['Strings', consent_strings.length === 0 ? null : `${consent_strings.length} stored with it`],
  ])
}

/** The file and line of a campaign of somebody's own demand: `demand.yaml:2`. */
function findSource({ trace }: PlacementDetail): string | null {
  const source = trace.find(({ outcome }) => outcome === 'won')?.source
  return source === undefined ? null : `${source.file}:${source.line}`
}

function traceMarkup({ trace }: PlacementDetail): Markup {
  if (trace.length === 0) return html`<p class="soft">No campaign was asked.</p>`
  const ranks = { won: 0, outbid: 1, removed: 2 }
  const rows = trace.toSorted((a, b) => ranks[a.outcome] - ranks[b.outcome])
  const table = html`<div class="scroll"><table><thead><tr><th>Campaign</th><th>Outcome</th><th>Rule</th><th>Why</th></tr></thead><tbody>${rows.map(
    ({ campaign_id, outcome, rule, explanation: why }) =>
      html`<tr><td><code>${campaign_id}</code></td><td>${outcome}</td><td>${rule ?? ''}</td><td>${why}</td></tr>`,
  )}</tbody></table></div>`
  const remained = rows.filter(({ outcome }) => outcome !== 'removed').length
  return fold(`${rows.length} campaigns, of which ${remained} remained`, table)
}

function requestsMarkup({ requests }: BundleTurn): Markup {
  if (requests.length === 0) return html`<p class="soft">The journal has none of it.</p>`
  return html`${requests.map((request) => {
    const { method, path, status, reason_code, duration_ms } = request
    return fold(
      html`<span class="method">${method}</span> <code>${path}</code> <span class="chip ${status < 400 && status > 0 ? 'good' : 'bad'}">${status === 0 ? 'no response' : status}</span> ${reason_code} <span class="soft">${measuredTime(duration_ms)}</span>`,
      html`<h4>Request</h4>${headerList(request.request_headers)}${bodyMarkup(request.request_body)}<h4>Response</h4>${headerList(request.response_headers)}${bodyMarkup(request.response_body)}`,
    )
  })}`
}

function headerList(headers: Readonly<Record<string, string>>): Markup {
  return pairs(Object.entries(headers))
}

function bodyMarkup(body: string | null): Hole {
  if (body === null || body === '') return null
  const value = parseJson(body)
  return value === undefined ? html`<pre>${body}</pre>` : json(value)
}

function evidenceMarkup(entries: readonly BundleEvidence[]): Markup {
  if (entries.length === 0) return html`<p class="soft">None.</p>`
  return html`${entries.map(({ seq, kind, at_ms, entry, hash, previous_hash }) =>
    fold(
      html`entry ${seq} <span class="soft">${kind}, ${timeText(at_ms)}</span>`,
      html`${bodyMarkup(entry)}${pairs([
        ['Hash before', previous_hash],
        ['Hash', hash],
      ])}`,
    ),
  )}`
}

function settingsMarkup({ settings }: Bundle): Markup {
  return html`<section><h2>Settings that differ from the defaults</h2>${
    settings.length === 0
      ? html`<p class="soft">None.</p>`
      : html`<div class="scroll"><table><thead><tr><th>Setting</th><th>Value</th><th>Default</th></tr></thead><tbody>${settings.map(
          ({ name, value, default: normal }) =>
            html`<tr><td><code>${name}</code></td><td><code>${valueText(value)}</code></td><td class="soft"><code>${valueText(normal)}</code></td></tr>`,
        )}</tbody></table></div>`
  }</section>`
}

function proofMarkup({ parts, public_key, signature }: Bundle): Markup {
  return html`<section><h2>Proof</h2><p>Each of ${parts.length} parts has a hash, and the sandbox signed the list. To check this file: <code>svc evidence verify FILE.html</code></p>${pairs(
    [
      ['Public key', public_key],
      ['Signature', signature],
    ],
  )}</section>`
}

/* Parts of the page. */

function pairs(rows: readonly (readonly [name: string, value: string | null])[]): Markup {
  return html`<dl>${rows.map(([name, value]) => value !== null && html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`
}

function fold(summary: Hole, content: Hole): Markup {
  return html`<details><summary>${summary}</summary><div>${content}</div></details>`
}

function json(value: unknown): Markup {
  return html`<pre>${JSON.stringify(value, null, 2)}</pre>`
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function valueText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}

function timeText(at_ms: number): string {
  const date = new Date(at_ms)
  return Number.isNaN(date.getTime()) ? String(at_ms) : date.toISOString()
}
