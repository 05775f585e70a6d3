/** What the scripts of all formats share: they are JavaScript, over the same checks and variables. */
import type { CollectionRequest } from './collection.ts'

/** Polls of one slot after which a script gives up. Each waits at the service. */
export const maxPolls = 20

/** The variable of a time that no tool has by itself, and its value. */
export const laterName = 'a_second_later'
export const laterValue = 'new Date(Date.now() + 1000).toISOString()'

/** Whether a request needs that time. */
export function usesLater({ body }: Pick<CollectionRequest, 'body'>): boolean {
  return JSON.stringify(body).includes(`{{${laterName}}}`)
}

/** Returns the expression of a value in `body`: `body.decision?.asset_token`. */
export function bodyValue(path: string): string {
  const [first, ...rest] = path.split('.').map((name) => (/^\d+$/.test(name) ? `[${name}]` : name))
  return [`body.${first}`, ...rest.map((name) => `?.${name}`)].join('')
}

/** Returns a value as JavaScript. */
export function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value.replaceAll("'", "\\'")}'` : JSON.stringify(value)
}

/** Returns a text with each variable replaced by what `write` makes of its name. */
export function replaceVariables(text: string, write: (name: string) => string): string {
  return text.replace(/{{(\w+)}}/g, (_, name: string) => write(name))
}

/** Returns lines two spaces further to the right. */
export function indent(lines: readonly string[]): string[] {
  return lines.map((line) => (line === '' ? '' : `  ${line}`))
}
