/** The beginning or end of a span, as two tools take it. */
import { parseSince } from '#foundation/duration.ts'
import { CliError } from '#text/cli-error.ts'
import { instantText, sinceForms } from '#text/instants.ts'

/** Returns a span as given, or a time as epoch milliseconds. Throws CliError for anything else. */
export function readSince(text: string): string {
  const since = instantText(text)
  if (parseSince(since) !== null) return since
  const message = `${JSON.stringify(text)} is no time.`
  throw new CliError('usage', 'input_invalid', message, `Give ${sinceForms}.`)
}
