/** What an error body says beside its message, as lines: for every reader of one, in a terminal, a report or a page. */
import type { ErrorBody, FieldError } from '../errors.ts'

/** Returns what an error body says beside its message: each invalid field, then the hint. */
export function describeCauses({ fields, hint }: Partial<Pick<ErrorBody, 'fields' | 'hint'>>): string[] {
  return [...(fields?.map(describeField) ?? []), ...(hint ? [hint] : [])]
}

/** Returns an invalid field of an error on one line: where, what is wrong, what is expected. */
export function describeField({ path, message, expected }: FieldError): string {
  return `${path || 'the body'}: ${message}${expected && ` (expected: ${expected})`}`
}
