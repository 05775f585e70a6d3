/** The reporters of a run as one: parses `--reporter`, writes to stdout and to files. */

import { measuredTime } from '#foundation/duration.ts'
import { nearestName } from '#foundation/nearest-name.ts'
import { readMessage } from '#foundation/system-error.ts'
import { findEntry, tableNames } from '#foundation/table-entry.ts'
import { printable } from '#text/terminal.ts'
import { sizeText } from '#text/text.ts'
import { countTotals, QaError, type Reporter, type RunResult } from '../result.ts'
import { changesText, compareRuns } from './changes.ts'
import { createCtrfReporter } from './ctrf.ts'
import { createHtmlReporter } from './html/page.ts'
import { createJsonReporter } from './json.ts'
import { createJunitReporter } from './junit.ts'
import { createMarkdownReporter } from './markdown.ts'
import { createProgressLine, type ProgressLine } from './progress-line.ts'
import { createSarifReporter } from './sarif.ts'
import { createListReporter } from './terminal.ts'
import { countsText, type Destination, plain, type ReportTools } from './text.ts'

type Creator = (to: Destination) => Reporter
/** Replacements of reporters by name: findings of `observe` are listed in other words than cases. */
export type OwnReporters = Readonly<Partial<Record<ReporterName, Creator>>>

/** Each reporter, with a file as messages name one. */
const known = {
  list: { create: createListReporter, example: 'qa.txt' },
  junit: { create: createJunitReporter, example: 'report.xml' },
  json: { create: createJsonReporter, example: 'qa.json' },
  html: { create: createHtmlReporter, example: 'qa.html' },
  markdown: { create: createMarkdownReporter, example: 'qa.md' },
  ctrf: { create: createCtrfReporter, example: 'qa.ctrf.json' },
  sarif: { create: createSarifReporter, example: 'qa.sarif' },
} as const
/** Reporters that existed, and what does the same. */
const removed: Readonly<Record<string, ReporterName>> = { dot: 'list', tap: 'junit' }
type ReporterName = keyof typeof known
const reporterNames = tableNames(known)

/**
 * Returns the given reporters as one: `list`, `junit=report.xml`, ...; default `list`. One without a file writes to
 * stdout; at most one may. Throws QaError, a mistake in usage, before anything is written. `end`
 * rejects with QaError when a file cannot be written; the other reports are complete then.
 */
export function createReporters(specs: readonly string[], tools: ReportTools, own: OwnReporters = {}): Reporter {
  const creator = (name: ReporterName): Creator => own[name] ?? known[name].create
  const parsed = parseReporterSpecs(specs)
  const shown = parsed.find(({ file }) => file === null)?.name
  const progress = createProgressLine(tools)
  const isDrawn = shown === undefined || shown === 'list' || !tools.stdout.is_terminal
  const all = together([
    ...parsed.map(({ name, file }) =>
      file === null
        ? creator(name)(toStdout(name, tools, progress))
        : toFile({ name, create: creator(name), file }, tools, progress),
    ),
    ...(isDrawn ? [progress] : []),
    ...(shown === 'list' ? [] : [noteOfTotals(tools, progress)]),
  ])
  return { ...all, end: (result) => all.end?.(withChanges(result, tools, progress)) }
}

/** Adds what changed against the earlier run, and notes it: not every reporter shows it. */
function withChanges(result: RunResult, tools: ReportTools, progress: ProgressLine): RunResult {
  if (tools.earlier === null) return result
  const changes = compareRuns(tools.earlier, result.cases)
  note(tools, progress, `compared with ${changes.earlier}: ${changesText(changes)}`)
  return { ...result, changes }
}

/** Calls each reporter in turn. When one fails the others are still called, and its error is thrown after them. */
function together(reporters: readonly Reporter[]): Reporter {
  async function each(call: (reporter: Reporter) => Promise<void> | void): Promise<void> {
    const errors: unknown[] = []
    for (const reporter of reporters) {
      try {
        await call(reporter)
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length > 0) throw errors[0]
  }
  return {
    start: (run) => each((reporter) => reporter.start?.(run)),
    begin: (item) => each((reporter) => reporter.begin?.(item)),
    case: (result) => each((reporter) => reporter.case?.(result)),
    end: (result) => each((reporter) => reporter.end?.(result)),
  }
}

const documents: readonly ReporterName[] = ['junit', 'json', 'html', 'ctrf', 'sarif']

/** Documents stay exact in a pipe; what is read by people is printable there too. */
function toStdout(name: ReporterName, { stdout, sourceUri }: ReportTools, progress: ProgressLine): Destination {
  const isDocument = documents.includes(name)
  return {
    sourceUri,
    stream: stdout,
    paint: stdout.paint,
    write(text) {
      progress.clear()
      stdout.write(isDocument ? text : printable(text))
    },
  }
}

/** Returns a reporter whose text is written as one file when the run has ended. */
function toFile(
  { name, create, file }: { name: ReporterName; create: Creator; file: string },
  tools: ReportTools,
  progress: ProgressLine,
): Reporter {
  const parts: string[] = []
  const write = (text: string) => void parts.push(text)
  const reporter = create({ stream: null, paint: plain, sourceUri: tools.sourceUri, write })
  return {
    ...reporter,
    async end(result) {
      await reporter.end?.(result)
      const content = parts.join('')
      try {
        await tools.writeFile(file, content)
      } catch (error) {
        const message = `Cannot write the ${name} report to ${file}: ${readMessage(error)}`
        const hint = 'Name another file, or remove what is in its place. The run itself has finished.'
        throw new QaError('report_unwritable', message, hint, error)
      }
      note(tools, progress, `${name} report: ${file} (${sizeText(Buffer.byteLength(content))})`)
    },
  }
}

function noteOfTotals(tools: ReportTools, progress: ProgressLine): Reporter {
  return {
    end({ cases, duration_ms }) {
      note(tools, progress, `${countsText(countTotals(cases))} in ${measuredTime(duration_ms)}`)
    },
  }
}

function note({ progress: sink, quiet }: ReportTools, progress: ProgressLine, text: string): void {
  if (quiet) return
  progress.clear()
  sink.write(`${sink.paint.dim(printable(text))}\n`)
}

interface ReporterSpec {
  name: ReporterName
  /** Null: to stdout. */
  file: string | null
}

/** Parses the values of `--reporter`, in order; default `list`. Throws QaError. */
function parseReporterSpecs(given: readonly string[]): ReporterSpec[] {
  const specs = (given.length === 0 ? ['list'] : given).map(parseSpec)
  const toStdout = specs.filter(({ file }) => file === null)
  const [first, second] = toStdout
  if (first !== undefined && second !== undefined) {
    throw new QaError(
      'reporter_stdout_taken',
      `Only one reporter can write to stdout, and ${toStdout.map(({ name }) => name).join(' and ')} would.`,
      `Give all but one a file: --reporter ${first.name} --reporter ${second.name}=${known[second.name].example}`,
    )
  }
  const files = specs.flatMap(({ file }) => (file === null ? [] : [file]))
  const twice = files.find((file, index) => files.indexOf(file) !== index)
  if (twice !== undefined) {
    throw new QaError('reporter_file_taken', `Two reporters would write to ${twice}.`, 'Give each its own file.')
  }
  return specs
}

function parseSpec(text: string): ReporterSpec {
  const [written = '', ...rest] = text.split('=')
  const name = reporterNames.find((known) => known === written)
  if (name === undefined) {
    const near = findEntry(removed, written) ?? nearestName(written, reporterNames)
    throw new QaError(
      'reporter_unknown',
      `There is no reporter '${written}'.`,
      `${near === null ? '' : `Did you mean ${near}? `}Reporters: ${reporterNames.join(', ')}.`,
    )
  }
  if (rest.length === 0) return { name, file: null }
  const file = rest.join('=')
  if (file !== '') return { name, file }
  throw new QaError(
    'reporter_file_missing',
    `--reporter ${text} names no file.`,
    `Name one, as in --reporter ${name}=${known[name].example}, or leave the = out for stdout.`,
  )
}
