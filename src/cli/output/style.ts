import { Chalk } from 'chalk'
import type { Host } from '../run/host.ts'
import type { ColorChoice, TimeChoice } from '../settings/table.ts'
import { ownControl } from './printable.ts'

/** Chalk knows the codes. They are marked as this program's own, so that the guard of the stream lets them pass. */
const codes = new Chalk({ level: 1 })
const names = ['bold', 'dim', 'inverse', 'red', 'green', 'yellow', 'cyan'] as const

type Paint = (text: string) => string

/** How tables and times are shown. */
export interface View {
  /** Null: short in tables of a terminal, RFC 3339 elsewhere. */
  time: TimeChoice | null
  /** The time that relative times count from, epoch milliseconds. */
  now_ms: number
  /** Whether a terminal gets every column, whole. */
  wide: boolean
  /** The columns that `--columns` names; null without it. */
  columns: readonly string[] | null
  /** Whether there are several tables, each of which takes its own of those columns. */
  has_tables?: boolean
  /** The names of columns that a terminal had no room for, until a note has named them. */
  left_out?: Set<string>
}

/** Colours, and the columns of the terminal; undefined where the text does not go to one. */
export type Style = Readonly<Record<(typeof names)[number], Paint>> & {
  columns?: number | undefined
  view: Readonly<View>
}

const usualView: View = { time: null, now_ms: 0, wide: false, columns: null }

/** Returns the style of a stream: with colours when it is a terminal that has them, or when `choice` says so. */
export function styleOf(stream: Host['stdout'], choice: ColorChoice, env: Host['env'], view = usualView): Style {
  const paint = isColored(stream, choice, env) ? paintWith : () => (text: string) => text
  const paints = names.map((name) => [name, paint(name)])
  return Object.assign(Object.fromEntries(paints), { columns: stream.is_terminal ? stream.columns : undefined, view })
}

/** The style of text without colours that goes to no terminal. */
export const plainStyle: Style = styleOf({ write: () => {}, is_terminal: false, columns: undefined }, 'never', {})

/** Returns a function that begins its style again after an inner one that ends it, and after each line end. */
function paintWith(name: (typeof names)[number]): Paint {
  const [begin = '', end = ''] = codes[name]('|')
    .split('|')
    .map((code) => ownControl(code.slice(2)))
  return (text) => {
    if (text === '') return ''
    return begin + text.replaceAll(end, end + begin).replace(/\r?\n/g, `${end}$&${begin}`) + end
  }
}

function isColored(stream: Host['stdout'], choice: ColorChoice, env: Host['env']): boolean {
  if (choice !== 'auto') return choice === 'always'
  if (env.NO_COLOR) return false
  if (env.FORCE_COLOR !== undefined) return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false'
  return stream.is_terminal && env.TERM !== 'dumb'
}
