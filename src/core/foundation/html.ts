import { findEntry } from './table-entry.ts'
import { escapeCharacter, unsafe } from './unsafe-text.ts'

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Returns text escaped for HTML and XML, between tags and in a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => findEntry(entities, character)!)
}

/** Returns escaped text unescaped. */
export function unescapeHtml(html: string): string {
  return Object.entries(entities).reduceRight((text, [character, entity]) => text.replaceAll(entity, character), html)
}

/* Templates of pages. */

export interface Markup {
  readonly markup: string
}

/** A value in a template: null and false are left out. */
export type Hole = Markup | string | number | null | false | readonly Hole[]

/** Returns a template as markup: values are escaped unless they are markup themselves. */
export function html(strings: TemplateStringsArray, ...holes: readonly Hole[]): Markup {
  return { markup: strings.map((part, index) => (index === 0 ? part : renderHole(holes[index - 1]!) + part)).join('') }
}

/** Returns text as markup, unescaped: our own style sheet and script. */
export function trusted(markup: string): Markup {
  return { markup }
}

function renderHole(hole: Hole): string {
  if (hole === null || hole === false) return ''
  if (typeof hole === 'string') return escapeHtml(hole.replace(unsafe, escapeCharacter))
  if (typeof hole === 'number') return String(hole)
  return 'markup' in hole ? hole.markup : hole.map(renderHole).join('')
}
