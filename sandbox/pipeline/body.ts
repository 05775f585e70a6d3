/** From bytes to a parsed value, and from a schema's complaints to an error that says what to do. */
import { isUtf8 } from 'node:buffer'
import type { z } from 'zod'
import { ApiError, type FieldError } from '../../src/contract/errors.ts'
import { explainIssues, type LocatedFieldError, unknownField } from '../../src/contract/field-errors.ts'
import { redactSecrets } from '../../src/foundation/redaction.ts'

/** Bodies nest at most this deep; the contract's own shapes need six levels. */
const deepest = 64
const mostFields = 20

/** The JSON value of a body. @throws ApiError 400 body_empty, json_malformed */
export function parseJson(body: Buffer): unknown {
  if (body.length === 0) throw new ApiError('body_empty')
  if (!isUtf8(body)) throw new ApiError('json_malformed', { message: 'The body is not UTF-8.' })
  const text = body.toString('utf8')
  if (text.trim() === '') throw new ApiError('body_empty')
  if (isTooDeep(text)) {
    throw new ApiError('json_malformed', { message: `The body nests deeper than ${deepest} levels.` })
  }
  const value = readJson(text)
  if (hasLoneSurrogate(text, value)) {
    throw new ApiError('json_malformed', { message: 'A text of the body holds half a surrogate pair.' })
  }
  if (/__proto__|\\u005f/i.test(text)) refuseProto(value, [])
  return value
}

/** A value that fits the schema. @throws ApiError 400 with every member at fault */
export function validate<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const { reason_code, fields } = explainIssues(result.error.issues)
  throw new ApiError(reason_code, { fields: fields.slice(0, mostFields).map(withoutSecrets) })
}

function withoutSecrets({ path, message, expected }: LocatedFieldError): FieldError {
  return { path: redactSecrets(path), message, expected }
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new ApiError('json_malformed')
  }
}

/** Text that is not Unicode has no canonical JSON, and no evidence could be made of it. */
function hasLoneSurrogate(text: string, value: unknown): boolean {
  return /\\u[dD][89a-fA-F]/.test(text) && /(?<!\\)(?:\\\\)*\\ud[89a-f]/.test(JSON.stringify(value))
}

/** Objects lose a member of this name when they are copied: two different bodies would become the same. */
function refuseProto(value: unknown, path: readonly PropertyKey[]): void {
  if (typeof value !== 'object' || value === null) return
  if (Object.hasOwn(value, '__proto__')) {
    throw new ApiError('field_unknown', { fields: [withoutSecrets(unknownField([...path, '__proto__']))] })
  }
  for (const [name, member] of Object.entries(value)) refuseProto(member, [...path, name])
}

/** Depth by brackets outside strings: cheap, and enough to keep recursion out of everything behind. */
function isTooDeep(text: string): boolean {
  let depth = 0
  let inString = false
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (inString) {
      if (code === 0x5c) index++
      else if (code === 0x22) inString = false
    } else if (code === 0x22) inString = true
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > deepest) return true
    } else if (code === 0x7d || code === 0x5d) depth--
  }
  return false
}
