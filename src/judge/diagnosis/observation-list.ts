import { measuredTime } from '#foundation/duration.ts'
import { appliedText, type Destination, type Paint, targetText } from '#qa/report/text.ts'
import type { Reporter, RunResult } from '#qa/result.ts'
import { oneLine } from '#text/terminal.ts'
import { hangingLines, plural } from '#text/text.ts'
import type { JournaledExchange } from './exchange.ts'
import { type LintFinding, lintLines } from './lint.ts'
import { caseTitle, countLookedAt, type Verdict, type Watched } from './observe.ts'
import type { RuleFinding } from './rule.ts'

/** The maximum number of requests of a finding that are listed. */
const maxRequests = 4
const widest = 100

interface ListOptions {
  verdicts: readonly Verdict[]
  watched: Watched
  /** The command or page that was observed: `npm test`, `http://localhost:3000`. */
  what: string
  /** About `svc.observe.yaml`. */
  file_findings: readonly LintFinding[]
}

/** Where a list goes. */
interface Sheet {
  paint: Paint
  /** Columns of its lines. */
  width: number
  /** The command that shows a request; null when the sandbox has ended with its requests. */
  show: string | null
}

export function createObservationList(options: ListOptions, { write, paint, stream }: Destination): Reporter {
  const width = Math.min(widest, (stream?.is_terminal === true && stream.columns) || widest)
  return {
    end(result) {
      const show = result.target.kind === 'fresh' ? null : `${options.watched.command_name} requests show`
      const lines = listLines(options, result, { paint, width, show })
      write(lines.map((line) => `${line}\n`).join(''))
    },
  }
}

function listLines(
  { verdicts, watched, what, file_findings }: ListOptions,
  { target, duration_ms, observe_file }: RunResult,
  sheet: Sheet,
): string[] {
  const { paint, width, show } = sheet
  const {
    error = [],
    warning = [],
    accepted = [],
    holds = [],
    not_seen = [],
    off = [],
  } = Object.groupBy(verdicts, ({ standing }) => standing)
  const violated = [...error, ...warning]
  const isAboutMissingPage = ({ rule }: Verdict) => watched.page === null && ['page', 'served'].includes(rule.facts)
  const aboutPage = not_seen.filter(isAboutMissingPage).length
  const following = not_seen.filter(({ follows }) => follows !== null)
  const unseen = not_seen.filter((verdict) => !isAboutMissingPage(verdict) && verdict.follows === null)
  const keep = 'The sandbox ended with the command. Keep its requests: --reporter list --reporter html=observe.html'
  const rules = (mark: string, verb: string, list: readonly Verdict[]) => {
    // When nothing was seen, the names of all rules would only hide that.
    const ids = watched.exchanges.length === 0 ? '' : `: ${list.map(({ rule }) => rule.id).join(', ')}`
    return list.length === 0 ? [] : hangingLines(`${mark} `, `${plural(list.length, 'rule')} ${verb}${ids}`, width)
  }
  const notes = verdicts.flatMap(({ notes = [] }) => notes)
  const totals = [
    ...(error.length > 0 ? [paint.red(plural(error.length, 'error'))] : []),
    ...(warning.length > 0 ? [paint.yellow(plural(warning.length, 'warning'))] : []),
    ...(file_findings.length > 0 ? [paint.red(`${file_findings.length} of ${observe_file?.path}`)] : []),
    ...(accepted.length > 0 ? [`${accepted.length} accepted`] : []),
    `${holds.length} hold`,
    `${not_seen.length} not seen`,
    ...(off.length > 0 ? [`${off.length} off`] : []),
  ]
  return [
    `${paint.bold('svc observe')}  ${oneLine(what)}: ${countLookedAt(watched)} in ${measuredTime(duration_ms)}`,
    paint.dim(`against ${targetText(target)}`),
    ...violated.flatMap((verdict) => ['', ...verdictLines(verdict, sheet)]),
    ...(file_findings.length === 0 ? [] : ['', ...lintLines(observe_file?.path ?? '', file_findings, paint)]),
    ...(show === null && violated.length > 0
      ? ['', ...hangingLines('', keep, width).map((line) => paint.dim(line))]
      : []),
    '',
    ...notes.map((note) => `${paint.cyan('i')} ${note}`),
    ...rules(paint.green('✓'), holds.length === 1 ? 'holds' : 'hold', holds),
    ...rules(paint.yellow('-'), 'had nothing to judge by', unseen),
    ...following.map(({ rule, follows }) => `${paint.yellow('-')} ${rule.id} follows from ${follows}`),
    ...(aboutPage === 0 ? [] : [`${paint.yellow('-')} ${aboutPage} rules are about a page: --url ADDRESS`]),
    ...(observe_file === undefined ? [] : [`${paint.cyan('i')} ${oneLine(appliedText(observe_file))}`]),
    '',
    totals.join(', '),
  ]
}

function verdictLines({ rule, findings, standing }: Verdict, { paint, width, show }: Sheet): string[] {
  const mark = standing === 'error' ? paint.red('✗ error  ') : paint.yellow('! warning')
  const named = (name: string, text: string) =>
    hangingLines(`    ${paint.cyan(name.padEnd(5))}  `, oneLine(text), width)
  const listed = new Set<JournaledExchange>()
  const findingLines = ({ message, fix = rule.fix, requests = [] }: RuleFinding) => {
    // A request with two wrong fields is evidence of both, and is listed once.
    const fresh = requests.filter((exchange) => !listed.has(exchange))
    for (const exchange of fresh) listed.add(exchange)
    return [
      ...hangingLines('    ', oneLine(message), width),
      ...fresh.slice(0, maxRequests).map((exchange) => `      ${requestLine(exchange, paint)}`),
      ...(fresh.length > maxRequests ? [`      … ${fresh.length - maxRequests} more`] : []),
      ...named('do', fix),
      ...(fresh.length === 0 || show === null ? [] : named('see', `${show} ${fresh.at(-1)!.request_id}`)),
    ]
  }
  return [
    `${mark}  ${paint.bold(rule.id)}  ${paint.dim(caseTitle(rule))}`,
    ...findings.flatMap(findingLines),
    ...named('costs', rule.costs ?? ''),
  ]
}

/** Returns a request with its time of day, UTC. */
function requestLine({ request_id, at_ms, method, path, status }: JournaledExchange, paint: Paint): string {
  const time = new Date(at_ms).toISOString().slice(11, 23)
  return `${paint.dim(time)}  ${method} ${oneLine(path)} → ${status || 'no response'}  ${paint.dim(request_id)}`
}
