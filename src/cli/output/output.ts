/** The output of a command: data on stdout in the chosen format, everything else on stderr. */

import type { SeparatedForm, SeparatedFormat } from '#contract/separated.ts'
import type { Failure } from '#text/cli-error.ts'
import { withCommandName } from '#text/command-name.ts'
import {
  type ColorChoice,
  chooseStyle,
  jsonText,
  oneLine,
  printable,
  type Style,
  streamText,
  type View,
} from '#text/terminal.ts'
import { hangingLines, wrap } from '#text/text.ts'
import { commandName, type System } from '../run/system.ts'
import type { OutputFormat } from '../settings/table.ts'
import { createFilterPrinter } from './filter-printer.ts'
import { showInPager } from './pager.ts'
import { showBytes, showProgress } from './progress.ts'
import { type NamedField, printedRows } from './separated.ts'

export interface OutputOptions {
  format: OutputFormat
  quiet: boolean
  color: ColorChoice
  /** Whether long text may be shown in a pager. */
  isPaged: boolean
  view?: View
  /** The transformation of the JSON that replaces the text: an expression of jq, or null. */
  filter?: string | null
  /** How csv is written, by `--delimiter` and `--bom`. */
  separated?: SeparatedForm | undefined
}

export interface Output {
  readonly format: OutputFormat
  /** The style of stdout. */
  readonly style: Style
  /** The style of stderr. */
  readonly noteStyle: Style
  /** Whether notes are left out. */
  readonly quiet: boolean
  /** How tables and times are shown. */
  readonly view: View
  /**
   * Prints one value: as a JSON document, or as the lines that `text` makes of it, in a pager when they are longer than
   * the screen. `rows` are those of csv and tsv, of which a value without any has neither.
   */
  data(value: unknown, text: (style: Style) => readonly string[], rows?: readonly unknown[]): void
  /**
   * Prints a list: as jsonl one item a line, as csv and tsv with a header; as text in a pager when it is longer than the
   * screen.
   */
  list(
    whole: unknown,
    items: readonly unknown[],
    text: (style: Style) => readonly string[],
    columns?: readonly NamedField[],
  ): void
  /** Prints one item of an endless list. */
  item(value: unknown, text: (style: Style) => string | readonly string[]): void
  /**
   * Prints a document that is not JSON, unchanged when it does not go to a terminal; in JSON formats as `{media_type,
   * text}`.
   */
  document(text: string, media_type: string): void
  /**
   * Prints text in every format but none, unchanged when it does not go to a terminal: for JSON lines written
   * elsewhere.
   */
  raw(text: string): void
  /** Prints a note on stderr, unless quiet. */
  note(text: string): void
  /** Prints a failure on stderr: as text, or as one JSON object. */
  failure(failure: Failure): void
  /** Awaits `work`. If it takes longer than a second, prints on stderr what it is waiting for. */
  progress<T>(text: string | (() => string), work: Promise<T>): Promise<T>
  /**
   * Awaits `work`, which reports the bytes done, and shows them on a terminal as a line that disappears at the end:
   * `text  12.3 of 45.6 MB  26 %`. Anywhere else nothing is printed. `total` is null when unknown.
   */
  bytes<T>(text: string, total: number | null, work: (done: (bytes: number) => void) => Promise<T>): Promise<T>
  /** Compiles `--jq`, so that a typo has no effect. Throws CliError. */
  prepare(): Promise<void>
  /** Resolves when everything is printed. Throws CliError where `--jq` does not fit the value. */
  flush(): Promise<void>
}

/** How tables and times are shown by default. */
function usualView({ now }: Pick<System, 'now'>): View {
  return { time: null, now_ms: now(), wide: false, columns: null, left_out: [] }
}

export function createOutput(
  system: System,
  { format, quiet, color, isPaged, view = usualView(system), filter = null, separated: form }: OutputOptions,
): Output {
  // Reading the properties of a stream opens it, so each is read only when something is printed to it.
  const out = once(() => chooseStyle(system.stdout, color, system.env, view))
  const err = once(() => chooseStyle(system.stderr, color, system.env, view))
  const filtered = createFilterPrinter(system.stdout, filter)
  const isFiltered = filter !== null && format !== 'none'
  const isJson = format === 'json' || format === 'jsonl'
  const separated = format === 'csv' || format === 'tsv' ? format : null

  const output: Output = {
    format,
    view,
    get style() {
      return out()
    },
    get noteStyle() {
      return err()
    },
    quiet,
    data(value, text, rows = []) {
      if (isFiltered) filtered.print([value])
      else if (isJson) printJson(value)
      else if (separated !== null) system.stdout.write(separatedText(rows, separated, { view, separated: form }))
      else if (format === 'text') printPages(text(out()), rows.length)
      noteLeftOut()
    },
    list(whole, items, text, columns = []) {
      if (isFiltered) filtered.print(format === 'jsonl' ? items : [whole])
      else if (format === 'jsonl') system.stdout.write(items.map((item) => `${jsonText(item)}\n`).join(''))
      else if (format === 'json') printJson(whole)
      else if (separated !== null)
        system.stdout.write(separatedText(items, separated, { view, separated: form, columns }))
      else if (format === 'text') printPages(text(out()), items.length)
      noteLeftOut()
    },
    item(value, text) {
      if (isFiltered) filtered.print([value])
      else if (isJson) system.stdout.write(`${jsonText(value)}\n`)
      else if (format === 'text') system.stdout.write(toPrintable([text(out())].flat()))
    },
    document(text, media_type) {
      if (isFiltered) filtered.print([{ media_type, text }])
      else if (isJson) printJson({ media_type, text })
      else if (format !== 'none') system.stdout.write(text)
    },
    raw(text) {
      if (format !== 'none') system.stdout.write(text)
    },
    note(text) {
      if (!quiet) system.stderr.write(noteText(withCommandName(text, commandName(system)), err()))
    },
    failure(given) {
      const error = withCommandNames(given, commandName(system))
      system.stderr.write(isJson ? `${jsonText({ error })}\n` : printable(failureText(error, err())))
    },
    ...createProgress(system, err, { quiet, isJson }),
    prepare: filtered.prepare,
    flush: filtered.flush,
  }
  return output

  function printPages(lines: readonly string[], count: number): void {
    const text = toPrintable(lines)
    if (!isPaged || !showInPager(system, streamText(text, true))) system.stdout.write(text)
    if (count > 0 && lines.length === 0 && view.columns !== null) output.note('No table here has these columns.')
  }

  /** Prints one document: indented on a terminal, one line for programs. */
  function printJson(value: unknown): void {
    system.stdout.write(`${jsonText(value, format === 'json' && system.stdout.is_terminal ? 2 : undefined)}\n`)
  }

  function noteLeftOut(): void {
    const text = leftOutText(view.left_out?.splice(0))
    if (text !== '') output.note(`Not shown ${text}. All columns: --wide`)
  }
}

/** What is shown while work is under way: nothing with --quiet, and no count of bytes for programs. */
function createProgress(
  { stderr }: Pick<System, 'stderr'>,
  style: () => Style,
  { quiet, isJson }: { quiet: boolean; isJson: boolean },
): Pick<Output, 'bytes' | 'progress'> {
  return {
    bytes: (text, total, work) =>
      quiet || isJson || !stderr.is_terminal ? work(() => {}) : showBytes(stderr, style(), { text, total }, work),
    progress: (text, work) => (quiet ? work : showProgress(stderr, style, text, work)),
  }
}

interface SeparatedOptions extends Pick<OutputOptions, 'separated'> {
  view: View
  columns?: readonly NamedField[]
}

function separatedText(rows: readonly unknown[], as: SeparatedFormat, options: SeparatedOptions): string {
  const { view, separated: form, columns = [] } = options
  const fields = view.columns?.map((name) => columns.find((column) => column.name === name)?.field ?? name) ?? null
  return printedRows(rows, as, { fields, isIso: view.time !== 'ms', form })
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

/** A value cannot start its own line. Lines are printable in a pipe too, because its reader often prints them. */
function toPrintable(lines: readonly string[]): string {
  return lines.map((line) => `${oneLine(line)}\n`).join('')
}

/** Further lines are indented: a word of a value cannot start a line. */
function noteText(text: string, { columns, dim }: Style): string {
  const lines = columns === undefined ? [oneLine(text)] : wrap(oneLine(text), columns - 2)
  return lines.map((line, index) => `${dim(index === 0 ? line : `  ${line}`)}\n`).join('')
}

/** Returns which columns each table lacks: `here: key`, where all lack the same, else `in table 1: key; in table 3: tags`. */
function leftOutText(tables: readonly (readonly string[])[] = []): string {
  const lists = tables.map((names) => names.join(', '))
  const texts =
    new Set(lists).size === 1 ? [`here: ${lists[0]}`] : lists.map((list, index) => `in table ${index + 1}: ${list}`)
  return texts.filter((_, index) => lists[index] !== '').join('; ')
}

function withCommandNames(failure: Failure, command_name: string): Failure {
  const { message, hint } = failure
  const named = (text: string) => withCommandName(text, command_name)
  // The fields keep their order.
  return { ...failure, message: named(message), hint: hint && named(hint) }
}

function failureText({ message, hint, request_id, reason_code }: Failure, style: Style): string {
  const details = [
    reason_code === null ? null : `reason ${reason_code}`,
    request_id === null ? null : `request ${request_id}`,
  ].filter((part) => part !== null)
  const [first = '', ...more] = message.split('\n')
  const lines = (head: string, text: string) => hangingLines(head, text, style.columns)
  return [
    ...lines(`${style.red('error')}: `, first),
    // Fields and problems of files have lines, and an indent, of their own.
    ...more.flatMap((line) => lines(/^ */.exec(line)![0], line.trimStart())),
    ...(hint === null
      ? []
      : hint.split('\n').flatMap((line, index) => lines(index === 0 ? `${style.cyan('hint')}: ` : '  ', line))),
    ...(details.length === 0 ? [] : [style.dim(details.join(', '))]),
    '',
  ].join('\n')
}
