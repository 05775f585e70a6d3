/** What a run of scripted QA looks like to others: several reporters at once, to stdout and to files. */
import { type Reporter, totalsOf } from '../result.ts'
import { createDotReporter } from './dot.ts'
import { ReportFileError } from './file.ts'
import { createHtmlReporter } from './html/reporter.ts'
import { createJsonReporter } from './json.ts'
import { createJunitReporter } from './junit.ts'
import { createListReporter } from './list.ts'
import { createProgressLine, drawn, type ProgressLine } from './progress.ts'
import { parseReporterSpecs, type ReporterName } from './spec.ts'
import { createTapReporter } from './tap.ts'
import { type Destination, plain, type ReportTools } from './tools.ts'
import { countsText, durationText, sizeText } from './words.ts'

export { ReportFileError, writeReportFile } from './file.ts'
export { ReporterSpecError, reporterNames } from './spec.ts'
export type { Paint, ReportTools, Sink } from './tools.ts'

type Creator = (to: Destination) => Reporter
/** What takes the place of reporters, by their names: findings are told in other words than cases. */
export type OwnReporters = Readonly<Partial<Record<ReporterName, Creator>>>

const known: Readonly<Record<ReporterName, Creator>> = {
  list: createListReporter,
  dot: createDotReporter,
  junit: createJunitReporter,
  json: createJsonReporter,
  tap: createTapReporter,
  html: createHtmlReporter,
}

/**
 * The reporters that were asked for, as one: `list`, `junit=report.xml`, ...; `list` when none was. One without a file
 * writes to stdout; at most one may. Throws ReporterSpecError, a mistake in usage, before anything is written. `end`
 * rejects with ReportFileError when a file cannot be written; the other reports are complete then.
 */
export function createReporters(specs: readonly string[], tools: ReportTools, own: OwnReporters = {}): Reporter {
  const creators = { ...known, ...own }
  const parsed = parseReporterSpecs(specs)
  const shown = parsed.find(({ file }) => file === null)?.name
  const progress = createProgressLine(tools)
  const isDrawn = shown !== 'dot' && !(shown !== undefined && shown !== 'list' && tools.stdout.is_terminal)
  return together([
    ...parsed.map(({ name, file }) =>
      file === null ? creators[name](toStdout(tools, progress)) : toFile(name, creators[name], file, tools, progress),
    ),
    ...(isDrawn ? [drawn(progress)] : []),
    ...(shown === 'list' || shown === 'dot' ? [] : [noteOfTotals(tools, progress)]),
  ])
}

/** Calls each in turn. One that fails keeps none of the others from hearing the same; its error comes last. */
function together(reporters: readonly Reporter[]): Reporter {
  async function each(tell: (reporter: Reporter) => Promise<void> | void): Promise<void> {
    const errors: unknown[] = []
    for (const reporter of reporters) {
      try {
        await tell(reporter)
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

function toStdout({ stdout }: ReportTools, progress: ProgressLine): Destination {
  return {
    stream: stdout,
    paint: stdout.paint,
    write(text) {
      progress.clear()
      stdout.write(text)
    },
  }
}

/** A reporter whose text is kept until the run has ended, and then written as one file. */
function toFile(
  name: ReporterName,
  create: Creator,
  file: string,
  tools: ReportTools,
  progress: ProgressLine,
): Reporter {
  const parts: string[] = []
  const reporter = create({ stream: null, paint: plain, write: (text) => void parts.push(text) })
  return {
    ...reporter,
    async end(result) {
      await reporter.end?.(result)
      const content = parts.join('')
      try {
        await tools.writeFile(file, content)
      } catch (error) {
        throw new ReportFileError(name, file, error)
      }
      note(tools, progress, `${name} report: ${file} (${sizeText(Buffer.byteLength(content))})`)
    },
  }
}

function noteOfTotals(tools: ReportTools, progress: ProgressLine): Reporter {
  return {
    end({ cases, duration_ms }) {
      note(tools, progress, `${countsText(totalsOf(cases))} in ${durationText(duration_ms)}`)
    },
  }
}

function note({ progress: sink, quiet }: ReportTools, progress: ProgressLine, text: string): void {
  if (quiet) return
  progress.clear()
  sink.write(`${sink.paint.dim(text)}\n`)
}
