/** The reporter for build servers: JUnit's XML. */
import { escapeHtml } from '#foundation/html.ts'
import { type CaseResult, countTotals, type Reporter, type RunResult, valueWords } from '../result.ts'
import { exchangeLine, failureLines } from './failure.ts'
import {
  appliedText,
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
  { target, svc_version, observe_file }: RunResult,
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
        ...(observe_file === undefined ? [] : [property('observe_file', appliedText(observe_file))]),
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
    ...steps.flatMap(({ title, outcome, exchanges, accepted }) => [
      `${title}: ${accepted ?? outcomeWords[outcome]}`,
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
