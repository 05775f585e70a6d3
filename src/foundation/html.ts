import { findEntry } from './table-entry.ts'

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
