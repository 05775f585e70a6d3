/** Rows as JSON, which PostgreSQL reads with `json_populate_recordset`: any number of them in one statement. */
import type { Value } from '../servers/link.ts'

export type JsonRow = Record<string, Value>

/** Returns rows as a JSON text that PostgreSQL accepts: it supports neither U+0000 nor halves of surrogate pairs. */
export function toJson(rows: readonly JsonRow[]): string {
  const text = JSON.stringify(rows)
  if (!text.includes('\\u')) return text
  return JSON.stringify(rows, (_, value: unknown) =>
    typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '\uFFFD') : value,
  )
}

/** Returns bytes, or the bytes of a text, in the form of such a JSON text. */
export function encodeBytes(value: Uint8Array | string): string {
  return `\\x${Buffer.from(value as Uint8Array).toString('hex')}`
}
