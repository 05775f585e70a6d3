import { InvalidArgumentError, Option } from 'commander'
import { parseSince, parseSpan } from '#foundation/duration.ts'
import { isRefusedPort } from '#foundation/refused-ports.ts'
import { CliError } from '#text/cli-error.ts'
import { instantText, sinceForms } from '#text/instants.ts'

/** A flag that can be repeated. Its value is the list of all given values. */
export function repeatable(flags: string, description: string): Option {
  return new Option(flags, `${description} (repeatable)`).argParser(append)
}

/** Returns a list with one more value, for flags that collect their values. */
export function append(value: string, before: readonly string[] | undefined): string[] {
  return [...(before ?? []), value]
}

/** Reads a whole number of at most nine digits. */
export function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}

/** Reads a span as milliseconds: `1500`, `2s`. */
export function spanMs(text: string): number {
  const span_ms = parseSpan(text)
  if (span_ms === null) throw new InvalidArgumentError('It must be milliseconds or a span such as 2s.')
  return span_ms
}

/** Reads a port; 0 stands for any free one. */
export function portNumber(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
    throw new InvalidArgumentError('It must be a port from 0 to 65535.')
  return Number(text)
}

/** Reads a whole number that is not zero. */
export function countFromOne(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It must be a whole number, at least 1.')
  return Number(text)
}

/** Reads a duration such as `20s` or `2m`, in milliseconds; never zero. */
export function durationMs(text: string): number {
  const duration_ms = parseSpan(text)
  if (duration_ms === null || duration_ms === 0)
    throw new InvalidArgumentError('It must be a duration such as 20s or 2m, or milliseconds.')
  return duration_ms
}

/** Reads the start of a filter, which the sandbox counts from its own clock. */
export function sinceText(text: string): string {
  const since = instantText(text)
  if (parseSince(since) === null) throw new InvalidArgumentError(`It must be ${sinceForms}.`)
  return since
}

/** Throws CliError for an address that is not that of a page, or whose port no browser connects to. */
export function checkPageUrl(text: string): void {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    const message = `'${text}' is not the address of a page.`
    throw new CliError('usage', 'url_invalid', message, 'Write it in full: http://localhost:3000')
  }
  if (!isRefusedPort(url.port)) return
  const message = `No browser connects to port ${url.port}: it is of another protocol (ERR_UNSAFE_PORT).`
  throw new CliError('usage', 'port_refused', message, 'Serve the page on another port, such as 3000.')
}
