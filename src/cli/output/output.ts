/** The output of a command: data on stdout in the chosen format, everything else on stderr. */
import { spawnSync } from 'node:child_process'
import { stripVTControlCharacters } from 'node:util'
import type { Failure } from '../run/errors.ts'
import type { System } from '../run/host.ts'
import type { ColorChoice, OutputFormat } from '../settings/table.ts'
import {
  chooseStyle,
  isDumbTerminal,
  jsonText,
  oneLine,
  ownControl,
  printable,
  type Style,
  streamText,
  type View,
} from './terminal.ts'
import { hangingLines, textWidth, wrap } from './text.ts'

export interface OutputOptions {
  format: OutputFormat
  quiet: boolean
  color: ColorChoice
  /** Whether a long list may be shown in a pager. */
  isPaged: boolean
  view?: View
  /** The transformation of the JSON that replaces the text: `--jq`, `--template`, or null. */
  filter?: { kind: 'jq' | 'template'; text: string } | null
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
  /** Prints one value: as a JSON document, or as the lines that `text` makes of it. */
  data(value: unknown, text: (style: Style) => readonly string[]): void
  /** Prints a list: as jsonl one item a line; as text in a pager when it is longer than the screen. */
  list(whole: unknown, items: readonly unknown[], text: (style: Style) => readonly string[]): void
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
  progress<T>(text: string, work: Promise<T>): Promise<T>
  /**
   * Awaits `work`, which reports the bytes done, and shows them on a terminal as a line that disappears at the end:
   * `text  12.3 of 45.6 MB  26 %`. Anywhere else nothing is printed. `total` is null when unknown.
   */
  bytes<T>(text: string, total: number | null, work: (done: (bytes: number) => void) => Promise<T>): Promise<T>
  /** Compiles `--jq` or `--template`, so that a typo has no effect. Throws CliError. */
  prepare(): Promise<void>
  /** Resolves when everything is printed. Throws CliError where `--jq` or `--template` does not fit the value. */
  flush(): Promise<void>
}

/** The result of `--jq` or `--template` for a value. */
type OutputFilter = (value: unknown) => Promise<string> | string

/** How tables and times are shown by default. */
function usualView({ now }: Pick<System, 'now'>): View {
  return { time: null, now_ms: now(), wide: false, columns: null, left_out: [] }
}

const progressDelayMs = 1_000
/** Time between two redraws of a line. */
const redrawMs = 100

/** Returns the control codes that erase the line of the cursor. */
export function eraseLine(): string {
  return ownControl('G') + ownControl('K')
}

export function createOutput(
  host: System,
  { format, quiet, color, isPaged, view = usualView(host), filter = null }: OutputOptions,
): Output {
  // Reading the properties of a stream opens it, so each is read only when something is printed to it.
  let outStyle: Style | undefined
  let errStyle: Style | undefined
  const out = () => {
    outStyle ??= chooseStyle(host.stdout, color, host.env, view)
    return outStyle
  }
  const err = () => {
    errStyle ??= chooseStyle(host.stderr, color, host.env, view)
    return errStyle
  }
  const isJson = format === 'json' || format === 'jsonl'
  /** A value cannot start its own line. Lines are printable in a pipe too, because its reader often prints them. */
  const toPrintable = (lines: readonly string[]) => lines.map((line) => `${oneLine(line)}\n`).join('')
  const print = (lines: readonly string[]) => host.stdout.write(toPrintable(lines))
  const printPages = (lines: readonly string[]) => {
    const text = toPrintable(lines)
    if (!isPaged || !showInPager(host, streamText(text, true))) host.stdout.write(text)
  }
  /** Prints one document: indented on a terminal, one line for programs. */
  const printJson = (value: unknown) =>
    host.stdout.write(`${jsonText(value, format === 'json' && host.stdout.is_terminal ? 2 : undefined)}\n`)

  let compiled: Promise<OutputFilter> | undefined
  let printed = Promise.resolve()
  const loadOnce = () => {
    compiled ??= loadFilter(filter, out)
    return compiled
  }
  /** Filters print in the order of the calls; the first failure ends that, and `flush` throws it. */
  const printFiltered = (values: readonly unknown[]) => {
    printed = printed.then(async () => {
      const apply = await loadOnce()
      for (const value of values) {
        const text = await apply(value)
        if (text !== '') host.stdout.write(text.endsWith('\n') ? text : `${text}\n`)
      }
    })
    // It is reported by `flush`, which may be called later.
    printed.catch(() => {})
  }
  const isFiltered = filter !== null && format !== 'none'
  const noteLeftOut = () => {
    const text = leftOutText(view.left_out?.splice(0) ?? [])
    if (text !== '') output.note(`Not shown ${text}. All columns: --wide`)
  }

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
    data(value, text) {
      if (isFiltered) printFiltered([value])
      else if (isJson) printJson(value)
      else if (format === 'text') print(text(out()))
      noteLeftOut()
    },
    list(whole, items, text) {
      if (isFiltered) printFiltered(format === 'jsonl' ? items : [whole])
      else if (format === 'jsonl') host.stdout.write(items.map((item) => `${jsonText(item)}\n`).join(''))
      else if (format === 'json') printJson(whole)
      else if (format === 'text') {
        const lines = text(out())
        printPages(lines)
        if (items.length > 0 && lines.length === 0 && view.columns !== null)
          output.note('No table here has these columns.')
      }
      noteLeftOut()
    },
    item(value, text) {
      if (isFiltered) printFiltered([value])
      else if (isJson) host.stdout.write(`${jsonText(value)}\n`)
      else if (format === 'text') print([text(out())].flat())
    },
    document(text, media_type) {
      if (isFiltered) printFiltered([{ media_type, text }])
      else if (isJson) printJson({ media_type, text })
      else if (format === 'text') host.stdout.write(text)
    },
    raw(text) {
      if (format !== 'none') host.stdout.write(text)
    },
    note(text) {
      if (quiet) return
      const { columns } = err()
      // Further lines are indented: a word of a value cannot start a line.
      const lines = columns === undefined ? [oneLine(text)] : wrap(oneLine(text), columns - 2)
      host.stderr.write(lines.map((line, index) => `${err().dim(index === 0 ? line : `  ${line}`)}\n`).join(''))
    },
    failure(failure) {
      host.stderr.write(isJson ? `${jsonText({ error: failure })}\n` : printable(failureText(failure, err())))
    },
    async bytes(text, total, work) {
      if (quiet || isJson || !host.stderr.is_terminal) return work(() => {})
      let drawn_at = 0
      const done = (bytes: number) => {
        const now = performance.now()
        if (now - drawn_at < redrawMs) return
        drawn_at = now
        const line = bytesLine(text, bytes, total, host.stderr.columns ?? defaultColumns)
        host.stderr.write(`${eraseLine()}${err().dim(line)}`)
      }
      try {
        return await work(done)
      } finally {
        if (drawn_at > 0) host.stderr.write(eraseLine())
      }
    },
    async progress(text, work) {
      if (quiet) return work
      let isShown = false
      const timer = setTimeout(() => {
        isShown = true
        host.stderr.write(host.stderr.is_terminal ? err().dim(text) : `${printable(text)}\n`)
      }, progressDelayMs)
      try {
        return await work
      } finally {
        clearTimeout(timer)
        if (isShown && host.stderr.is_terminal) host.stderr.write(eraseLine())
      }
    },
    async prepare() {
      if (filter !== null) await loadOnce()
    },
    flush: () => printed,
  }
  return output
}

/** Returns which columns each table lacks: `here: key`, where all lack the same, else `in table 1: key; in table 3: tags`. */
function leftOutText(tables: readonly (readonly string[])[]): string {
  const lists = tables.map((names) => names.join(', '))
  const texts =
    new Set(lists).size === 1 ? [`here: ${lists[0]}`] : lists.map((list, index) => `in table ${index + 1}: ${list}`)
  return texts.filter((_, index) => lists[index] !== '').join('; ')
}

/** Loads the code for a filter: jq is 1.3 MB, templates a tenth of that. */
async function loadFilter(
  filter: NonNullable<OutputOptions['filter']> | null,
  style: () => Style,
): Promise<OutputFilter> {
  const [{ compileJq }, { compileTemplate }] = await Promise.all([import('./jq.ts'), import('./template.ts')])
  if (filter?.kind === 'jq') return (await compileJq(filter.text)).apply
  return compileTemplate(filter?.text ?? '', style())
}

const defaultColumns = 80

/** Returns the line of a transfer, cut to the width of the terminal: a wrapped line could not be erased. */
function bytesLine(text: string, bytes: number, total: number | null, columns: number): string {
  const mega = (count: number) => (count / 1_000_000).toFixed(1)
  const amount = total === null ? `${mega(bytes)} MB` : `${mega(bytes)} of ${mega(total)} MB`
  const percent = total === null || total === 0 ? '' : `  ${Math.floor((bytes / total) * 100)} %`
  const figures = `  ${amount}${percent}`
  return `${text.slice(0, Math.max(0, columns - 1 - figures.length))}${figures}`.slice(0, columns - 1)
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

/** Exit codes of a shell for a missing program; Windows has its own. */
const notFound = [127, 9009]

/**
 * Shows a text in a pager until you close it, as git and gh do. Returns false when nothing was shown and the text still
 * has to be printed: there is no terminal, the text fits the screen, no pager is wanted (SVC_PAGER or PAGER is empty or
 * cat), or it is not installed.
 */
function showInPager(host: System, text: string): boolean {
  const { stdout, env, platform } = host
  const { is_terminal, rows, columns = 80 } = stdout
  if (!is_terminal || isDumbTerminal(host) || rows === undefined || countRows(text, columns) < rows) return false
  const isWindows = platform === 'win32'
  const command = (env.SVC_PAGER ?? env.PAGER ?? (isWindows ? 'more' : 'less')).trim()
  if (command === '' || command === 'cat') return false
  // Checked first, so that a shell without the program prints no message on the terminal.
  const line = isWindows ? command : `command -v ${command.split(' ')[0]} >/dev/null 2>&1 || exit 127; ${command}`
  const { status, error } = spawnSync(line, {
    shell: true,
    input: text,
    stdio: ['pipe', 'inherit', 'inherit'],
    // The output is UTF-8 even where no locale says so, as in most containers.
    env: { LESS: 'FRX', LESSCHARSET: 'utf-8', LV: '-c', ...env },
  })
  // EPIPE: the pager was closed before it had read everything, which is fine.
  const isStarted = error === undefined || (error as NodeJS.ErrnoException).code === 'EPIPE'
  return isStarted && !notFound.includes(status ?? 0)
}

/** Returns the number of rows that a text takes on a screen of this width. */
function countRows(text: string, columns: number): number {
  return text
    .trimEnd()
    .split('\n')
    .reduce((rows, line) => rows + Math.max(1, Math.ceil(textWidth(stripVTControlCharacters(line)) / columns)), 0)
}
