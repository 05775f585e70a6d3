/** The error body, and the error that operations throw. Its codes and causes are in error-codes.ts. */
import { z } from 'zod'
import { errorCodes, reasonCodes } from './error-codes.ts'
import { assumedObject } from './objects.ts'
import { assumed, documented, observed } from './provenance.ts'

export { errorCodes, reasonCodes } from './error-codes.ts'

type NonEmpty<Name> = [Name, ...Name[]]

/** The precise, stable cause of a failure (A12). */
export const ReasonCode = z.enum(Object.keys(reasonCodes) as NonEmpty<keyof typeof reasonCodes>)
export type ReasonCode = z.infer<typeof ReasonCode>

/** Five codes are documented; the others are additions (A11). */
export const ErrorCode = z.enum(Object.keys(errorCodes) as NonEmpty<keyof typeof errorCodes>)
export type ErrorCode = z.infer<typeof ErrorCode>

export const FieldError = assumedObject('A10', () => ({
  path: z.string().describe('The dotted path of the field: overrides.allowed_formats.0.'),
  message: z.string().describe('What is wrong there.'),
  expected: z.string().describe('What is expected there.'),
}))
export type FieldError = z.infer<typeof FieldError>

/** The error body (A10). */
export const ErrorBody = assumedObject('A10', () => ({
  error: documented(ErrorCode, 'The error code. Five are documented; the others are additions (A11).', 'A10'),
  message: observed(z.string(), 'A10', 'One sentence for readers. May change; do not match on it.'),
  request_id: observed(z.string(), 'A10', 'Support identifier, equal to the x-request-id header.'),
  reason_code: assumed(ReasonCode, 'A12', 'The precise, stable cause.'),
  hint: z.string().describe('What to do next.'),
  fields: z.array(FieldError).describe('The invalid fields; empty when the cause is not a field.'),
  retryable: z.boolean().describe('Whether the same request may succeed later.'),
  docs_url: z.string().describe('The page that explains the cause.'),
}))
export type ErrorBody = z.infer<typeof ErrorBody>

/** A mistake of the caller, thrown by operations and by the request pipeline, which responds with its error body. */
export class ApiError extends Error {
  readonly reason_code: ReasonCode
  readonly hint: string
  readonly fields: FieldError[]
  readonly retry_after_s: number | undefined
  readonly headers: Record<string, string>

  constructor(
    reason_code: ReasonCode,
    details: {
      message?: string
      hint?: string
      fields?: FieldError[]
      retry_after_s?: number
      headers?: Record<string, string>
    } = {},
  ) {
    super(details.message ?? reasonCodes[reason_code].message)
    this.name = 'ApiError'
    this.reason_code = reason_code
    this.hint = details.hint ?? reasonCodes[reason_code].hint
    this.fields = details.fields ?? []
    this.retry_after_s = details.retry_after_s
    this.headers = details.headers ?? {}
  }

  get status(): number {
    return errorCodes[reasonCodes[this.reason_code].error].status
  }

  /** Returns the error body of the response (A10). */
  toBody(request_id: string, base_url: string): ErrorBody {
    const error = reasonCodes[this.reason_code].error
    return {
      error,
      message: this.message,
      request_id,
      reason_code: this.reason_code,
      hint: this.hint,
      fields: this.fields,
      retryable: errorCodes[error].retryable,
      docs_url: `${base_url}/_sandbox/docs/errors/${this.reason_code}`,
    }
  }
}
