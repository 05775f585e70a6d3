/** Markup whose holes are escaped unless they are markup themselves, so that nothing off the wire can become a tag. */
import { visible } from '../words.ts'

export interface Markup {
  readonly markup: string
}

/** What may stand in a hole: null and false leave nothing. */
export type Hole = Markup | string | number | null | false | readonly Hole[]

export function html(strings: TemplateStringsArray, ...holes: readonly Hole[]): Markup {
  return { markup: strings.map((part, index) => (index === 0 ? part : textOf(holes[index - 1]!) + part)).join('') }
}

/** Text that is markup already: our own style sheet and script. */
export function trusted(markup: string): Markup {
  return { markup }
}

function textOf(hole: Hole): string {
  if (hole === null || hole === false) return ''
  if (typeof hole === 'string') return escaped(visible(hole))
  if (typeof hole === 'number') return String(hole)
  return 'markup' in hole ? hole.markup : hole.map(textOf).join('')
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character]!)
}
