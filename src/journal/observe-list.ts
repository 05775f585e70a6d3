/** Verdicts as text: every finding with what it costs, what to do and the requests that show it, then what holds. */
import { measuredTime } from '../foundation/duration.ts'
import { type Destination, type Paint, plural, targetText, visible } from '../qa/report/text.ts'
import type { Reporter, RunResult } from '../qa/result.ts'
import { isAboutPage, type Verdict, type Watched } from './observe.ts'
import type { AnyRule, Finding } from './rule.ts'

/** How many requests of a finding are listed. */
const maxRequests = 4
const maxWidth = 100

export interface ListOptions {
  verdicts: readonly Verdict[]
  watched: Watched
  /** What was watched: `npm test`, `http://localhost:3000`. */
  what: string
}

export function createObservationList(options: ListOptions, { write, paint }: Destination): Reporter {
  return {
    end(result) {
      const lines = listLines(options, result, paint)
      write(lines.map((line) => `${line}\n`).join(''))
    },
  }
}

function listLines(
  { verdicts, watched, what }: ListOptions,
  { target, duration_ms }: RunResult,
  paint: Paint,
): string[] {
  const having = (wanted: Verdict['standing']) => verdicts.filter(({ standing }) => standing === wanted)
  const violated = [...having('error'), ...having('warning')]
  const unseen = having('not_seen')
  const aboutPage = watched.page === null ? unseen.filter(({ rule }) => isAboutPage(rule)) : []
  /** A sandbox that ended cannot show its requests any more. */
  const show = target.kind === 'fresh' ? null : `${watched.command_name} requests show`
  const notes = verdicts.flatMap(({ notes = [] }) => notes)
  return [
    `${paint.bold('svc qa observe')}  ${visible(what)}: ${plural(watched.exchanges.length, 'request')} in ${measuredTime(duration_ms)}`,
    paint.dim(`against ${targetText(target)}`),
    ...violated.flatMap((verdict) => ['', ...verdictLines(verdict, show, paint)]),
    ...(show === null && violated.length > 0
      ? [
          '',
          paint.dim(
            'The sandbox ended with the command. Keep its requests: --reporter list --reporter html=observe.html',
          ),
        ]
      : []),
    '',
    ...notes.map((note) => `${paint.cyan('i')} ${note}`),
    ...rulesLine(paint.green('✓'), 'hold', having('holds')),
    ...rulesLine(
      paint.yellow('-'),
      'had nothing to judge by',
      unseen.filter((verdict) => !aboutPage.includes(verdict)),
    ),
    ...(aboutPage.length === 0
      ? []
      : [`${paint.yellow('-')} ${aboutPage.length} rules are about a page: --url ADDRESS`]),
    '',
    totals(having('error').length, having('warning').length, having('holds').length, unseen.length, paint),
  ]
}

function verdictLines({ rule, findings, standing }: Verdict, show: string | null, paint: Paint): string[] {
  const mark = standing === 'error' ? paint.red('✗ error  ') : paint.yellow('! warning')
  return [
    `${mark}  ${paint.bold(rule.id)}  ${paint.dim(rule.title)}`,
    ...findings.flatMap((finding) => findingLines(rule, finding, show, paint)),
    ...named('costs', rule.costs ?? '', paint),
  ]
}

function findingLines(
  rule: AnyRule,
  { message, fix = rule.fix, requests = [] }: Finding,
  show: string | null,
  paint: Paint,
): string[] {
  const listed = requests.slice(0, maxRequests)
  return [
    ...wrapped(visible(message), maxWidth - 4).map((line) => `    ${line}`),
    ...listed.map(
      ({ request_id, at_ms, method, path, status }) =>
        `      ${paint.dim(timeOf(at_ms))}  ${method} ${visible(path)} → ${status || 'no response'}  ${paint.dim(request_id)}`,
    ),
    ...(requests.length > maxRequests ? [`      … ${requests.length - maxRequests} more`] : []),
    ...named('do', fix, paint),
    ...(requests.length === 0 || show === null ? [] : named('see', `${show} ${requests.at(-1)!.request_id}`, paint)),
  ]
}

function named(name: string, text: string, paint: Paint): string[] {
  const [first = '', ...rest] = wrapped(visible(text), maxWidth - 11)
  return [`    ${paint.cyan(name.padEnd(5))}  ${first}`, ...rest.map((line) => `           ${line}`)]
}

function rulesLine(mark: string, what: string, verdicts: readonly Verdict[]): string[] {
  if (verdicts.length === 0) return []
  const [first = '', ...rest] = wrapped(
    `${plural(verdicts.length, 'rule')} ${what}: ${verdicts.map(({ rule }) => rule.id).join(', ')}`,
    maxWidth - 2,
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

/** Returns the time of day, UTC. */
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
