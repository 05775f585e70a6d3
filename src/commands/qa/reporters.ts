/** `--reporter`: who reports a run of `svc qa run` or `svc qa observe`, and where to. */
import { resolve } from 'node:path'
import { suggestValues } from '../../cli/run/command.ts'
import { CliError } from '../../cli/run/errors.ts'
import type { HostStream } from '../../cli/run/host.ts'
import type { Session } from '../../cli/run/session.ts'
import type { OwnReporters } from '../../qa/report/reporters.ts'
import { QaError, type Reporter } from '../../qa/result.ts'
import { repeatable } from '../flag-values.ts'

export const reporterOption = suggestValues(
  repeatable('--reporter <name[=file]>', 'list, dot, junit, json, tap or html; default: list'),
  ['list', 'dot', 'junit=qa.xml', 'json=qa.json', 'tap', 'html=qa.html'],
)

/** Returns the reporters of `--reporter`; with -o json the whole result goes to stdout too. Throws CliError. */
export async function createReporter(
  { host, out, settings }: Session,
  specs: readonly string[] = [],
  own: OwnReporters = {},
): Promise<Reporter> {
  const { createReporters, writeReportFile } = await import('../../qa/report/reporters.ts')
  const isJson = settings.output === 'json' || settings.output === 'jsonl'
  const silent: HostStream = { write: () => {}, is_terminal: false, columns: undefined }
  try {
    const tools = {
      stdout: sinkOf(settings.output === 'none' ? silent : host.stdout, out.style),
      progress: sinkOf(host.stderr, out.noteStyle),
      quiet: out.quiet || isJson || settings.output === 'none',
      now: () => host.now(),
      writeFile: (path: string, content: string) => writeReportFile(resolve(host.cwd, path), content),
    }
    return createReporters(isJson ? [...specs.filter((spec) => spec.includes('=')), 'json'] : specs, tools, own)
  } catch (error) {
    throw qaFailure(error)
  }
}

/** Returns a failure of QA as one of the command line, any other error unchanged. */
export function qaFailure(error: unknown): unknown {
  if (!(error instanceof QaError)) return error
  const category = /^(target|browser)_/.test(error.code) ? 'unreachable' : 'usage'
  return new CliError(category, error.code, error.message, error.hint)
}

function sinkOf(stream: HostStream, paint: Session['out']['style']) {
  return {
    write: (text: string) => stream.write(text),
    is_terminal: stream.is_terminal,
    get columns() {
      return stream.columns
    },
    paint,
  }
}
