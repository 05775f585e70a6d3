/** Verdicts for people: every finding with what it costs, what to do and the requests that show it, then what holds. */

import { type Destination, durationText, type Paint, plural, targetText, visible } from '../qa/report/text.ts'
import type { Reporter, RunResult } from '../qa/result.ts'
import { fixOf, type Verdict } from './observe/judge.ts'
import type { Finding, Observed } from './rule.ts'
import { pageRules } from './rules/page.ts'

/** Requests that are listed of one finding. */
const mostRequests = 4
const widest = 100

export interface ListOptions {
  verdicts: readonly Verdict[]
  observed: Observed
  /** What was watched, in words: `npm test`, `http://localhost:3000`. */
  what: string
}

export function createObservationList(
  { verdicts, observed, what }: ListOptions,
  { write, paint }: Destination,
): Reporter {
  return {
    end(result) {
      write(
        linesOf(verdicts, observed, what, result, paint)
          .map((line) => `${line}\n`)
          .join(''),
      )
    },
  }
}

function linesOf(
  verdicts: readonly Verdict[],
  observed: Observed,
  what: string,
  { target, duration_ms }: RunResult,
  paint: Paint,
): string[] {
  const of = (wanted: Verdict['standing']) => verdicts.filter(({ standing }) => standing === wanted)
  const holding = of('holds')
  const unseen = of('not_seen')
  const ofPage = observed.page === null ? unseen.filter(({ name }) => name in pageRules) : []
  /** A sandbox that ended cannot show its requests any more. */
  const show = target.kind === 'fresh' ? null : `${observed.command_name} requests show`
  const notes = verdicts.flatMap(({ notes = [] }) => notes)
  return [
    `${paint.bold('svc qa observe')}  ${visible(what)}: ${plural(observed.exchanges.length, 'request')} in ${durationText(duration_ms)}`,
    paint.dim(`against ${targetText(target)}`),
    ...[...of('error'), ...of('warning')].flatMap((verdict) => ['', ...verdictLines(verdict, show, paint)]),
    ...(show === null && verdicts.some(({ findings }) => findings.length > 0)
      ? [
          '',
          paint.dim(
            'The sandbox ended with the command. Keep its requests: --reporter list --reporter html=observe.html',
          ),
        ]
      : []),
    '',
    ...(notes.length === 0 ? [] : notes.map((note) => `${paint.cyan('i')} ${note}`)),
    ...namesLine(paint.green('✓'), 'hold', holding),
    ...namesLine(
      paint.yellow('-'),
      'had nothing to judge by',
      unseen.filter((verdict) => !ofPage.includes(verdict)),
    ),
    ...(ofPage.length === 0 ? [] : [`${paint.yellow('-')} ${ofPage.length} rules are about a page: --url ADDRESS`]),
    '',
    totals(of('error').length, of('warning').length, holding.length, unseen.length, paint),
  ]
}

function verdictLines(verdict: Verdict, show: string | null, paint: Paint): string[] {
  const { name, rule, findings, standing } = verdict
  const mark = standing === 'error' ? paint.red('✗ error  ') : paint.yellow('! warning')
  return [
    `${mark}  ${paint.bold(name)}  ${paint.dim(rule.title)}`,
    ...findings.flatMap((finding) => findingLines(verdict, finding, show, paint)),
    ...named('costs', rule.costs, paint),
  ]
}

function findingLines(verdict: Verdict, finding: Finding, show: string | null, paint: Paint): string[] {
  const { seen, requests } = finding
  return [
    ...wrapped(visible(seen), widest - 4).map((line) => `    ${line}`),
    ...requests
      .slice(0, mostRequests)
      .map(
        ({ request_id, at_ms, method, path, status }) =>
          `      ${paint.dim(timeOf(at_ms))}  ${method} ${visible(path)} → ${status || 'no answer'}  ${paint.dim(request_id)}`,
      ),
    ...(requests.length > mostRequests ? [`      … ${requests.length - mostRequests} more`] : []),
    ...named('do', fixOf(verdict, finding), paint),
    ...(requests.length === 0 || show === null ? [] : named('see', `${show} ${requests.at(-1)!.request_id}`, paint)),
  ]
}

function named(name: string, text: string, paint: Paint): string[] {
  const [first = '', ...rest] = wrapped(visible(text), widest - 11)
  return [`    ${paint.cyan(name.padEnd(5))}  ${first}`, ...rest.map((line) => `           ${line}`)]
}

function namesLine(mark: string, what: string, verdicts: readonly Verdict[]): string[] {
  if (verdicts.length === 0) return []
  const [first = '', ...rest] = wrapped(
    `${plural(verdicts.length, 'rule')} ${what}: ${verdicts.map(({ name }) => name).join(', ')}`,
    widest - 2,
  )
  return [`${mark} ${first}`, ...rest.map((line) => `  ${line}`)]
}

function totals(errors: number, warnings: number, holding: number, unseen: number, paint: Paint): string {
  const parts = [
    ...(errors > 0 ? [paint.red(plural(errors, 'error'))] : []),
    ...(warnings > 0 ? [paint.yellow(plural(warnings, 'warning'))] : []),
    `${holding} hold`,
    `${unseen} not seen`,
  ]
  return parts.join(', ')
}

/** The time of day, UTC, as the journal tells it. */
function timeOf(at_ms: number): string {
  return new Date(at_ms).toISOString().slice(11, 23)
}

function wrapped(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}
