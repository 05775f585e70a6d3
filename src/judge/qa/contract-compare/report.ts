/** The report of a comparison as text and as Markdown. */

import { tableNames } from '#foundation/table-entry.ts'
import { type Column, tableLines } from '#text/table.ts'
import type { Style } from '#text/terminal.ts'
import { hangingLines, plural } from '#text/text.ts'
import { headings } from '../contract-check/report.ts'
import { isListedStatus } from '../expect/statuses.ts'
import { type Comparison, endpoints, type ValuedDifference } from './findings.ts'
import type { RendererComparison } from './renderer.ts'

export interface CompareReport {
  /** What was compared: a file or an address. */
  service: string
  /** What it was compared with, as it stands in a sentence: `the sandbox`, `yesterday.har`. */
  other: string
  comparison: Comparison
  /** Requests that were not compared, by reason. */
  not_compared: { why: string; count: number }[]
  /** Entries of the recordings that are not of this API. */
  left_out: { file: string; why: string; count: number }[]
  /** Each recorded format in a page, with the renderer of the recording and with ours; null where that was not asked for. */
  renderer: RendererComparison[] | null
}

/** Returns the report as lines of a terminal. */
export function reportLines(report: CompareReport, columns: readonly Column[], style: Style): string[] {
  const { comparison, not_compared, left_out, renderer, other } = report
  const { endpoints, findings, outcomes } = comparison
  const rows = endpoints.map((row) => ({ ...row, result: row.findings === 0 ? 'ok' : 'differs' }))
  const listed = (title: string, lines: readonly string[]) =>
    lines.length === 0
      ? []
      : ['', style.bold(title), ...lines.flatMap((line) => hangingLines('  ', line, style.columns))]
  return [
    ...tableLines(columns, rows, style),
    ...tableNames(headings).flatMap((weight) => {
      const own = findings.filter((finding) => finding.weight === weight)
      return own.length === 0
        ? []
        : ['', style.bold(headings[weight]), ...own.flatMap((finding) => findingLines(finding, other, style))]
    }),
    ...listed('Renderer', describeRenderer(renderer ?? [])),
    ...listed(
      'Decided differently, which is no difference of the contract',
      outcomes.map(({ service, other, count }) => `${count} × ${service}; with the other side ${other}`),
    ),
    ...listed(
      'Not compared',
      not_compared.map(({ why, count }) => `${count} × ${why}`),
    ),
    ...listed(
      'Left out',
      left_out.map(({ file, why, count }) => `${count} × ${why} (${file})`),
    ),
  ]
}

function findingLines(finding: ValuedDifference, other: string, style: Style): string[] {
  const { endpoint, what, weight } = finding
  const paint = weight === 'addition' ? style.dim : weight === 'documented' ? style.red : style.yellow
  const text = `${endpoint}: ${what} ${describeFinding(finding, other)}`
  const lines = hangingLines('  ', text, style.columns).map((line) => line.replace(what, () => paint(what)))
  const facts = [describeBreaker(finding, other), describePlace(finding)].filter(Boolean).join(' ')
  return [...lines, ...hangingLines('    ', facts, style.columns).map((line) => style.dim(line))]
}

/** Returns a finding as a sentence about its `what`, without the end. */
function describeFinding({ weight, expected, observed, breaks, basis }: ValuedDifference, other: string): string {
  if (weight === 'addition') {
    if (basis === 'contract')
      return `is not in the contract; it is ${observed}${breaks === 'other' ? ` in ${other}` : ''}`
    return observed === 'missing' ? `is missing; in ${other} it is ${expected}` : `is new: ${observed}`
  }
  if (basis === 'other') return `is ${observed}; ${other} says ${expected}`
  return `should be ${expected}; it is ${observed}${breaks === 'other' ? ` in ${other}` : ''}`
}

/** Says who does not hold to the document. Additions are allowed. */
function describeBreaker({ weight, breaks, endpoint, what, statuses }: ValuedDifference, other: string): string {
  if (weight !== 'documented') return ''
  const sides = [statuses.service, statuses.other]
  const unlisted = what === 'status' ? sides.filter((status) => !isListedStatus(endpoints[endpoint], status)) : []
  if (unlisted.length > 0) return `The contract has no status ${unlisted.join(' and no ')} for ${endpoint}.`
  const upper = other.charAt(0).toUpperCase() + other.slice(1)
  const texts: Readonly<Record<ValuedDifference['breaks'], string>> = {
    service: 'The service breaks its document.',
    other: `${upper} breaks the document.`,
    both: 'Both break the document.',
    neither: 'The document allows both.',
    either: 'The document allows one of them.',
  }
  return texts[breaks]
}

function describePlace({ count, first: { entry, request_id } }: ValuedDifference): string {
  const place = [entry === null ? '' : `entry ${entry}`, request_id ?? ''].filter(Boolean).join(', ')
  return `${plural(count, 'time')}${place === '' ? '' : `, first ${place}`}`
}

/** Returns a line for each format that shows the same in both ways, and for each difference of the others. */
function describeRenderer(compared: readonly RendererComparison[]): string[] {
  return compared.flatMap(({ format, recorded, service, sandbox, differs }) => {
    const list = (values: readonly string[]) => (values.length === 0 ? 'none' : values.join(', '))
    const what = `${format}, with the ${recorded.join(' and the ')} of the recording`
    if (differs.length === 0) {
      return [`${what}: the same events (${list(service.events)}) and beacons (${list(service.beacons)})`]
    }
    return differs.map(
      (part) => `${what}: ${part} are ${list(service[part])}; with those of the sandbox ${list(sandbox[part])}`,
    )
  })
}

/** Returns the report as Markdown, for a pull request or an issue. */
export function reportMarkdown(report: CompareReport): string {
  const { service, other, comparison, not_compared, left_out, renderer } = report
  const { compared, findings, outcomes } = comparison
  const sections = tableNames(headings).flatMap((weight) => {
    const own = findings.filter((finding) => finding.weight === weight)
    if (own.length === 0) return []
    const rows = own.map((finding) => {
      const { endpoint, what, count, first } = finding
      const place = [first.entry === null ? '' : `entry ${first.entry}`, first.request_id ?? '']
        .filter(Boolean)
        .join(', ')
      const said = [describeFinding(finding, other), describeBreaker(finding, other)].filter(Boolean).join('. ')
      return [code(endpoint), code(what), cell(said.replace(/\.$/, '')), String(count), cell(place)]
    })
    return ['', `### ${headings[weight]}`, '', ...tableRows(['Endpoint', 'What', 'Difference', 'Times', 'First'], rows)]
  })
  const counts = [
    ...outcomes.map(
      ({ service, other, count }) => `${count} × decided differently: ${service}; with the other side ${other}`,
    ),
    ...not_compared.map(({ why, count }) => `${count} × not compared: ${why}`),
    ...left_out.map(({ file, why, count }) => `${count} × left out of ${file}: ${why}`),
  ]
  return [
    `## ${cell(service)} compared with ${cell(other)}`,
    '',
    `${plural(compared, 'exchange')} compared, ${findings.length === 0 ? 'no difference' : plural(findings.length, 'difference')}.`,
    ...sections,
    ...(renderer === null
      ? []
      : ['', '### Renderer', '', ...describeRenderer(renderer).map((line) => `- ${cell(line)}`)]),
    ...(counts.length === 0 ? [] : ['', '### Not in these counts', '', ...counts.map((line) => `- ${cell(line)}`)]),
    '',
  ].join('\n')
}

function tableRows(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`)
}

/** Text of a service cannot end a cell, and is no markup. */
function cell(text: string): string {
  return text.replace(/[\\`*_{}[\]<>|#~]/g, '\\$&').replace(/[\r\n]+/g, ' ')
}

function code(text: string): string {
  return `\`${text.replace(/[`|\r\n]/g, ' ')}\``
}
