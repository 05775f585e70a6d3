/** The reporters for programs: JSON with the whole result, JUnit's XML for build servers, and the Test Anything Protocol. */

import { stringify } from 'yaml'
import { printable } from '#cli/output/terminal.ts'
import { escapeHtml } from '#foundation/html.ts'
import {
  type CaseExchange,
  type CaseResult,
  countTotals,
  type Reporter,
  type RunResult,
  type SourceLocation,
  valueWords,
} from '../result.ts'
import { exchangeLine, failureLines } from './failure.ts'
import {
  bySuite,
  caseTitle,
  type Destination,
  failureSentence,
  findReason,
  outcomeWords,
  placeText,
  plain,
  sumDurations,
} from './text.ts'

/** Writes indented JSON to files and terminals, one line to a pipe. Fields are always in the same order. */
export function createJsonReporter({ write, stream }: Destination): Reporter {
  const indent = stream === null || stream.is_terminal ? 2 : undefined
  return { end: (result) => write(`${JSON.stringify(toJsonReport(result), null, indent)}\n`) }
}

/** Returns a run as plain JSON: screenshots as base64 of their PNG, and the totals beside the cases. */
function toJsonReport(result: RunResult) {
  return {
    ...pick(result, 'svc_version'),
    target: {
      ...pick(result.target, 'base_url', 'kind', 'version', 'key_mode'),
      ...(result.target.browser !== undefined && { browser: result.target.browser }),
    },
    ...pick(result, 'started_at_ms', 'duration_ms', 'interrupted'),
    totals: countTotals(result.cases),
    cases: result.cases.map((item) => ({
      ...pick(item, 'id', 'suite', 'name'),
      place: toJsonPlace(item.place),
      ...pick(item, 'tags', 'matrix', 'attempt', 'outcome', 'reason', 'started_at_ms', 'duration_ms'),
      steps: item.steps.map((step) => ({
        ...pick(step, 'title'),
        place: toJsonPlace(step.place),
        ...pick(step, 'outcome', 'reason', 'duration_ms'),
        checks: step.checks.map((check) => ({
          ...pick(check, 'subject', 'passed', 'expected', 'actual', 'hint', 'response_reason'),
          place: check.place === undefined ? null : toJsonPlace(check.place),
        })),
        exchanges: step.exchanges.map(toJsonExchange),
        screenshots: step.screenshots.map((shot) => ({
          ...pick(shot, 'name', 'width', 'height'),
          png_base64: Buffer.from(shot.png).toString('base64'),
        })),
      })),
    })),
  }
}

function toJsonExchange(exchange: CaseExchange) {
  const sorted = (headers: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(headers).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  return {
    ...pick(exchange, 'method', 'url'),
    request_headers: sorted(exchange.request_headers),
    ...pick(exchange, 'request_body', 'status'),
    response_headers: sorted(exchange.response_headers),
    ...pick(exchange, 'response_body', 'error', 'duration_ms', 'curl'),
  }
}

function toJsonPlace(place: SourceLocation) {
  return pick(place, 'file', 'line', 'column')
}

/** Returns fields of an object in this order; null for one that is not there. */
function pick<T extends object>(value: T, ...names: (keyof T & string)[]) {
  return Object.fromEntries(names.map((name) => [name, value[name] ?? null]))
}

/** One testsuite for each suite, times in seconds, at most one failure a case. */
export function createJunitReporter({ write }: Destination): Reporter {
  return { end: (result) => write(renderJunit(result)) }
}

function renderJunit(result: RunResult): string {
  const { cases, failed, not_applicable, not_run } = countTotals(result.cases)
  const counts = { tests: cases, failures: failed, errors: 0, skipped: not_applicable + not_run }
  const suites = [...bySuite(result.cases)].map(([name, cases], id) => renderSuite(name, id, cases, result))
  const root = element('testsuites', { name: 'svc qa', ...counts, time: seconds(result.duration_ms) }, suites)
  return `<?xml version="1.0" encoding="UTF-8"?>\n${root}\n`
}

function renderSuite(
  name: string,
  id: number,
  cases: readonly CaseResult[],
  { target, svc_version }: RunResult,
): string {
  const totals = countTotals(cases)
  const { base_url, kind, version, key_mode, browser } = target
  const properties = Object.entries({
    base_url,
    kind,
    version: version ?? '',
    key_mode,
    ...(browser !== undefined && { browser }),
  })
  const property = (name: string, value: string) => element('property', { name, value })
  return element(
    'testsuite',
    {
      name,
      package: name,
      id,
      hostname: URL.parse(base_url)?.host ?? base_url,
      timestamp: new Date(Math.min(...cases.map(({ started_at_ms }) => started_at_ms))).toISOString().slice(0, 19),
      tests: totals.cases,
      failures: totals.failed,
      errors: 0,
      skipped: totals.not_applicable + totals.not_run,
      time: seconds(sumDurations(cases)),
    },
    [
      element('properties', {}, [
        property('svc.version', svc_version),
        ...properties.map(([name, value]) => property(`target.${name}`, value)),
      ]),
      ...cases.map(renderTestcase),
      element('system-out'),
      element('system-err'),
    ],
  )
}

function renderTestcase(item: CaseResult): string {
  const { suite, outcome, duration_ms } = item
  return element('testcase', { name: caseTitle(item), classname: suite, time: seconds(duration_ms) }, [
    ...(outcome === 'failed' ? [renderFailure(item)] : []),
    ...(outcome === 'not_applicable' || outcome === 'not_run'
      ? [element('skipped', { message: `${outcomeWords[outcome]}: ${findReason(item) ?? 'no reason was given'}` })]
      : []),
    element('system-out', {}, [text(logLines(item).join('\n'))]),
  ])
}

function renderFailure(item: CaseResult): string {
  const step = item.steps.find(({ outcome }) => outcome === 'failed')
  const type = step?.checks.some(({ passed }) => !passed) ? 'check' : 'step'
  const message = shortened(failureSentence(item))
  return element('failure', { message, type }, [text(failureLines(item, plain).join('\n'))])
}

/** Returns what happened, briefly: the place of the case, its tags and values, and every exchange. */
function logLines({ place, tags, matrix, steps }: CaseResult): string[] {
  const values = Object.entries(matrix).map(([name, value]) => `${name}=${valueWords(value)}`)
  return [
    placeText(place),
    ...(tags.length === 0 ? [] : [`tags: ${tags.join(', ')}`]),
    ...(values.length === 0 ? [] : [`matrix: ${values.join(', ')}`]),
    ...steps.flatMap(({ title, outcome, exchanges }) => [
      `${title}: ${outcomeWords[outcome]}`,
      ...exchanges.map((exchange) => `  ${exchangeLine(exchange)}`),
    ]),
  ]
}

function seconds(duration_ms: number): string {
  return (duration_ms / 1000).toFixed(3)
}

function shortened(message: string): string {
  return message.length <= 300 ? message : `${message.slice(0, 299)}…`
}

/** Returns an element of XML with its attributes; `content` is XML already. */
function element(
  name: string,
  attributes: Readonly<Record<string, string | number>> = {},
  content: readonly string[] = [],
): string {
  const head = Object.entries(attributes)
    .map(([name, value]) => ` ${name}="${attribute(String(value))}"`)
    .join('')
  if (content.length === 0) return `<${name}${head}/>`
  const isText = content.every((part) => !part.startsWith('<'))
  return isText
    ? `<${name}${head}>${content.join('')}</${name}>`
    : `<${name}${head}>\n${content.join('\n')}\n</${name}>`
}

/** Returns text escaped, without the characters that XML 1.0 does not have, not even as references. */
function text(value: string): string {
  return escapeHtml(value.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/gu, ''))
}

function attribute(value: string): string {
  return text(value).replace(/[\n\t\r]/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** Version 14. Lines are written as cases end; the plan is the last line. */
export function createTapReporter({ write }: Destination): Reporter {
  const reported = new Set<string>()
  function report(item: CaseResult): void {
    const key = `${item.id}\n${item.attempt}`
    if (reported.has(key)) return
    reported.add(key)
    write(renderPoint(item, reported.size))
  }
  return {
    start: () => write('TAP version 14\n'),
    case: report,
    end({ cases, interrupted }) {
      cases.forEach(report)
      write(`1..${reported.size}${reported.size === 0 ? ' # SKIP no cases' : ''}\n`)
      if (interrupted !== null) write(`Bail out! Interrupted by ${line(interrupted)}\n`)
    },
  }
}

function renderPoint(item: CaseResult, number: number): string {
  const isFailed = item.outcome === 'failed'
  const isSkipped = item.outcome === 'not_applicable' || item.outcome === 'not_run'
  const left = item.outcome === 'not_run' ? 'not run: ' : ''
  const skip = isSkipped ? ` # SKIP ${left}${line(findReason(item) ?? 'no reason was given')}` : ''
  const head = `${isFailed ? 'not ok' : 'ok'} ${number} - ${line(item.suite)}: ${line(caseTitle(item))}${skip}\n`
  return isFailed ? `${head}${diagnostics(item)}` : head
}

function diagnostics(item: CaseResult): string {
  const steps = item.steps
    .filter(({ outcome }) => outcome === 'failed')
    .map(({ title, place, reason, checks, exchanges }) => ({
      step: title,
      at: placeText(place),
      ...(reason === null ? {} : { reason }),
      failures: checks
        .filter(({ passed }) => !passed)
        .map(({ subject, expected, actual, hint, response_reason }) => ({
          subject,
          expected,
          actual,
          ...(response_reason === undefined ? {} : { response_reason }),
          ...(hint === undefined ? {} : { hint }),
        })),
      ...(exchanges.length === 0 ? {} : { exchange: exchangeLine(exchanges.at(-1)!), curl: exchanges.at(-1)!.curl }),
    }))
  const data = {
    message: findReason(item) ?? 'A check failed',
    severity: 'fail',
    at: placeText(item.place),
    duration_ms: item.duration_ms,
    steps,
  }
  const yaml = printable(stringify(data, { lineWidth: 0, aliasDuplicateObjects: false })).trimEnd()
  return `  ---\n${yaml.replace(/^(?=.)/gm, '  ')}\n  ...\n`
}

/** Returns text for a test point: on one line, where only the directive has an unescaped `#`. */
function line(text: string): string {
  return printable(text).replace(/\s+/g, ' ').trim().replace(/[\\#]/g, '\\$&')
}
