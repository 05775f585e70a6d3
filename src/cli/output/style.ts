import type { Host } from '../run/host.ts'

import type { ColorChoice } from '../settings/table.ts'
import { ownControl } from './printable.ts'

/** The code that begins a style and the one that ends it. */
const codes = {
  bold: [1, 22],
  dim: [2, 22],
  inverse: [7, 27],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const

type Paint = (text: string) => string

/** Colours, and the columns of the terminal; undefined where the text does not go to one. */
export type Style = Readonly<Record<keyof typeof codes, Paint>> & { columns?: number | undefined }

/** Returns the style of a stream: with colours when it is a terminal that has them, or when `choice` says so. */
export function styleOf(stream: Host['stdout'], choice: ColorChoice, env: Host['env']): Style {
  const paint = isColored(stream, choice, env) ? paintWith : () => (text: string) => text
  const paints = Object.entries(codes).map(([name, [open, close]]) => [name, paint(open, close)])
  return Object.assign(Object.fromEntries(paints), { columns: stream.is_terminal ? stream.columns : undefined })
}

/** The style of text without colours that goes to no terminal. */
export const plainStyle: Style = styleOf({ write: () => {}, is_terminal: false, columns: undefined }, 'never', {})

/** Returns a function that begins its style again after an inner one that ends it, and after each line end. */
function paintWith(open: number, close: number): Paint {
  const [begin, end] = [ownControl(`${open}m`), ownControl(`${close}m`)]
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
