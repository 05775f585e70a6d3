/**
 * Text for a terminal: its styles, and a guard so that nothing else in it can control the terminal. Every stream of the
 * command line is guarded: on a terminal each control character is escaped, as `\u001b`, no matter who sent it. Codes
 * of this program itself pass because they contain a secret of the process, which no stored or received text has; the
 * guard removes it, so a value's content can never style it.
 */
import { Chalk } from 'chalk'
import { escapeCharacter as escaped, unsafe } from '#foundation/unsafe-text.ts'

/** Where text goes: stdout, stderr, or what stands for them. */
export interface SystemStream {
  write(text: string): void
  readonly is_terminal: boolean
  /** Width in columns; undefined when it is not a terminal. */
  readonly columns: number | undefined
  /** Height in lines; undefined when it is not a terminal. */
  readonly rows?: number | undefined
}

/** The environment variables of the process. */
type Environment = Readonly<Record<string, string | undefined>>

export type ColorChoice = 'auto' | 'always' | 'never'
export type TimeChoice = 'absolute' | 'relative' | 'ms'

/** Most texts need no other check. */
const isPlain = /^[\t\n -~]*$/
const isOneLine = /^[^\t\n\r]*$/

/**
 * Drawn once per process, when a stream has colours or redraws a line. Its form is one that width measurements strip.
 */
let secret: string | undefined
let ownCode: RegExp | undefined
let ownClipboard: RegExp | undefined
let ownOrUnsafe: RegExp | undefined

/** Returns a control sequence of this program, such as `31m` or `K`, in the form that only the guard of a stream passes. */
export function ownControl(code: string): string {
  return `\u001b[${ownSecret()};${code}`
}

/**
 * Returns the control sequence OSC 52, which puts a text into the clipboard, in the form that only the guard of a
 * stream passes. The text is included only as base64.
 */
export function clipboardControl(text: string): string {
  return `\u001b]${ownSecret()};52;c;${Buffer.from(text).toString('base64')}\u0007`
}

function ownSecret(): string {
  secret ??= [...crypto.getRandomValues(new Uint16Array(4))].map((part) => 1_000 + (part % 9_000)).join(';')
  ownCode ??= new RegExp(`\\u001b\\[${secret};([\\d;]*[A-Za-z])`, 'g')
  ownClipboard ??= new RegExp(`\\u001b\\]${secret};(52;c;[A-Za-z0-9+/=]*\\u0007)`, 'g')
  ownOrUnsafe ??= new RegExp(`${ownCode.source}|${ownClipboard.source}|${unsafe.source}`, 'gu')
  return secret
}

/** Returns a text with its control characters escaped: `\u001b`. Tabs, line ends and this program's own codes stay. */
export function printable(text: string): string {
  if (isPlain.test(text)) return text
  return text.replace(ownOrUnsafe ?? unsafe, (found) => (found.length > 2 ? found : escaped(found)))
}

/** Returns a text for one line: as `printable`, with a blank in place of tabs and line ends. */
export function oneLine(text: string): string {
  return printable(isOneLine.test(text) ? text : text.replace(/[\t\n\r]+/g, ' '))
}

/** Returns a text, such as a paste, for one line without its control characters: tabs and line ends become blanks. */
export function withoutControls(text: string): string {
  return text.replace(/[\t\n\r]+/g, ' ').replace(unsafe, '')
}

/** Returns JSON that is safe on a terminal and equal to the value: JSON.stringify escapes C0 only. */
export function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(unsafe, escaped)
}

/**
 * Returns the text for a stream: printable for a terminal, unchanged for anything else; both with plain control codes.
 */
export function streamText(text: string, is_terminal: boolean): string {
  const safe = is_terminal ? printable(text) : text
  if (ownCode === undefined || ownClipboard === undefined) return safe
  return safe.replace(ownCode, '\u001b[$1').replace(ownClipboard, '\u001b]$1')
}

/** Returns a guarded stream. Reading the properties of a stream opens it, so each is read only when needed. */
export function guardStream(stream: () => SystemStream): SystemStream {
  return {
    write(text) {
      const to = stream()
      to.write(streamText(text, to.is_terminal))
    },
    get is_terminal() {
      return stream().is_terminal
    },
    get columns() {
      return stream().columns
    },
    get rows() {
      return stream().rows
    },
  }
}

/** Chalk has the codes. They are marked as this program's own, so that the guard of the stream lets them pass. */
const codes = new Chalk({ level: 1 })
const colorNames = ['bold', 'dim', 'inverse', 'red', 'green', 'yellow', 'cyan'] as const

type Paint = (text: string) => string

/** How tables and times are shown. */
export interface View {
  /** Null: short in tables of a terminal, RFC 3339 elsewhere. */
  time: TimeChoice | null
  /** The time that relative times count from, epoch milliseconds. */
  now_ms: number
  /** Whether a terminal gets every column in full. */
  wide: boolean
  /** The columns that `--columns` names; null without it. */
  columns: readonly string[] | null
  /** Whether there are several tables, each of which takes its own of those columns. */
  has_tables?: boolean
  /** The columns that a terminal had no room for, of each table that was drawn since the last note about them. */
  left_out?: string[][]
}

/** Returns the control codes that erase the line of the cursor. */
export function eraseLine(): string {
  return ownControl('G') + ownControl('K')
}

/** Colours, and the columns of the terminal; undefined when the text does not go to one. */
export type Style = Readonly<Record<(typeof colorNames)[number], Paint>> & {
  columns?: number | undefined
  view: Readonly<View>
}

const usualView: View = { time: null, now_ms: 0, wide: false, columns: null }

/** Returns the style of a stream: with colours when it is a terminal that supports them, or when `choice` says so. */
export function chooseStyle(stream: SystemStream, choice: ColorChoice, env: Environment, view = usualView): Style {
  const paint = isColored(stream, choice, env) ? paintWith : () => (text: string) => text
  const paints = colorNames.map((name) => [name, paint(name)])
  return Object.assign(Object.fromEntries(paints), { columns: stream.is_terminal ? stream.columns : undefined, view })
}

/** The style of text without colours that does not go to a terminal. */
export const plainStyle: Style = chooseStyle({ write: () => {}, is_terminal: false, columns: undefined }, 'never', {})

/** Returns a function that restarts its style after an inner one that ends it, and after each line end. */
function paintWith(name: (typeof colorNames)[number]): Paint {
  const [begin = '', end = ''] = codes[name]('|')
    .split('|')
    .map((code) => ownControl(code.slice(2)))
  return (text) => {
    if (text === '') return ''
    return begin + text.replaceAll(end, end + begin).replace(/\r?\n/g, `${end}$&${begin}`) + end
  }
}

function isColored(stream: SystemStream, choice: ColorChoice, env: Environment): boolean {
  if (choice !== 'auto') return choice === 'always'
  if (env.NO_COLOR) return false
  if (env.FORCE_COLOR !== undefined) return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false'
  return stream.is_terminal && env.TERM !== 'dumb'
}

/** Whether a terminal cannot move its cursor, such as one without TERM: there a pager waits for a key on every page. */
export function isDumbTerminal({ env, platform }: { env: Environment; platform: string }): boolean {
  return (env.TERM || (platform === 'win32' ? 'windows' : 'dumb')) === 'dumb'
}
