import { QaError } from '#qa/result.ts'
import { CliError } from '#text/cli-error.ts'

/** Returns a failure of QA as one of the command line, any other error unchanged. */
export function qaFailure(error: unknown): unknown {
  if (!(error instanceof QaError)) return error
  const category = /^(target|browser)_/.test(error.code) ? 'unreachable' : 'usage'
  return new CliError(category, error.code, error.message, error.hint)
}
