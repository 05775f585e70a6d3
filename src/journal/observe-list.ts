/** Verdicts as text: every finding with what it costs, what to do and the requests that show it, then what holds. */
import { measuredTime } from '../foundation/duration.ts'
import { type Destination, type Paint, plural, targetText, visible } from '../qa/report/text.ts'
import type { Reporter, RunResult } from '../qa/result.ts'
import type { Exchange } from './exchange.ts'
import { isAboutPage, type Verdict, type Watched } from './observe.ts'
import type { Finding } from './rule.ts'

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
  const { error = [], warning = [], holds = [], not_seen = [] } = Object.groupBy(verdicts, ({ standing }) => standing)
  const violated = [...error, ...warning]
  const isAboutMissingPage = ({ rule }: Verdict) => watched.page === null && isAboutPage(rule)
  const aboutPage = not_seen.filter(isAboutMissingPage).length
  const unseen = not_seen.filter((verdict) => !isAboutMissingPage(verdict))
  /** A sandbox that ended cannot show its requests any more. */
  const show = target.kind === 'fresh' ? null : `${watched.command_name} requests show`
  const keep = 'The sandbox ended with the command. Keep its requests: --reporter list --reporter html=observe.html'
  const notes = verdicts.flatMap(({ notes = [] }) => notes)
  const totals = [
    ...(error.length > 0 ? [paint.red(plural(error.length, 'error'))] : []),
    ...(warning.length > 0 ? [paint.yellow(plural(warning.length, 'warning'))] : []),
    `${holds.length} hold`,
    `${not_seen.length} not seen`,
  ]
  return [
    `${paint.bold('svc qa observe')}  ${visible(what)}: ${plural(watched.exchanges.length, 'request')} in ${measuredTime(duration_ms)}`,
    paint.dim(`against ${targetText(target)}`),
    ...violated.flatMap((verdict) => ['', ...verdictLines(verdict, show, paint)]),
    ...(show === null && violated.length > 0 ? ['', paint.dim(keep)] : []),
    '',
    ...notes.map((note) => `${paint.cyan('i')} ${note}`),
    ...rulesLines(paint.green('✓'), 'hold', holds),
    ...rulesLines(paint.yellow('-'), 'had nothing to judge by', unseen),
    ...(aboutPage === 0 ? [] : [`${paint.yellow('-')} ${aboutPage} rules are about a page: --url ADDRESS`]),
    '',
    totals.join(', '),
  ]
}

function verdictLines({ rule, findings, standing }: Verdict, show: string | null, paint: Paint): string[] {
  const mark = standing === 'error' ? paint.red('✗ error  ') : paint.yellow('! warning')
  const named = (name: string, text: string) => hanging(`    ${paint.cyan(name.padEnd(5))}  `, 11, visible(text))
  const listed = new Set<Exchange>()
  const findingLines = ({ message, fix = rule.fix, requests = [] }: Finding) => {
    // A request with two wrong fields is evidence of both, and is listed once.
    const fresh = requests.filter((exchange) => !listed.has(exchange))
    for (const exchange of fresh) listed.add(exchange)
    return [
      ...hanging('    ', 4, visible(message)),
      ...fresh.slice(0, maxRequests).map((exchange) => `      ${requestLine(exchange, paint)}`),
      ...(fresh.length > maxRequests ? [`      … ${fresh.length - maxRequests} more`] : []),
      ...named('do', fix),
      ...(fresh.length === 0 || show === null ? [] : named('see', `${show} ${fresh.at(-1)!.request_id}`)),
    ]
  }
  return [
    `${mark}  ${paint.bold(rule.id)}  ${paint.dim(rule.title)}`,
    ...findings.flatMap(findingLines),
    ...named('costs', rule.costs ?? ''),
  ]
}

function rulesLines(mark: string, what: string, verdicts: readonly Verdict[]): string[] {
  if (verdicts.length === 0) return []
  const ids = verdicts.map(({ rule }) => rule.id).join(', ')
  return hanging(`${mark} `, 2, `${plural(verdicts.length, 'rule')} ${what}: ${ids}`)
}

/** Returns a request with its time of day, UTC. */
function requestLine({ request_id, at_ms, method, path, status }: Exchange, paint: Paint): string {
  const time = new Date(at_ms).toISOString().slice(11, 23)
  return `${paint.dim(time)}  ${method} ${visible(path)} → ${status || 'no response'}  ${paint.dim(request_id)}`
}

/** Returns a text in lines of at most `maxWidth`: the first after `head`, which takes `indent` columns, the others below it. */
function hanging(head: string, indent: number, text: string): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && indent + line.length + 1 + word.length > maxWidth) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line].map((each, index) => (index === 0 ? head : ' '.repeat(indent)) + each)
}
