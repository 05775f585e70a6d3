import { type ErrorCode, errorCodes, type ReasonCode, reasonCodes } from '#contract/error-codes.ts'
import type { ErrorBody } from '#contract/errors.ts'
import { describeCauses } from '#contract/words/error-lines.ts'
import { describeConnection } from './connection.ts'

/**
 * The service responded with an error. Its message has what a log needs: the sentence of the service with its
 * reason_code, each invalid field, and the hint. `body` is null when the response does not have the contract's error
 * body.
 */
export class ServiceError extends Error {
  override readonly name = 'ServiceError'
  /** HTTP status. */
  readonly status: number
  readonly body: ErrorBody | null
  /** Seconds of the Retry-After header, even if it is a date; null without one. */
  readonly retry_after_s: number | null
  readonly request_id: string | null

  constructor(details: {
    method: string
    path: string
    status: number
    body: ErrorBody | null
    /** The end of the message: a description of a body that is not an error body. */
    instead: string
    retry_after_s: number | null
    request_id: string | null
  }) {
    const { method, path, status, body, instead } = details
    super(
      body
        ? [`${body.message} (${body.reason_code})`, ...describeCauses(body)].join('\n  ')
        : `${method} ${path} responded with ${status}${instead}`,
    )
    this.status = status
    this.body = body
    this.retry_after_s = details.retry_after_s
    this.request_id = body?.request_id ?? details.request_id
  }

  /** The error code of the body, else the first code with this HTTP status, else `internal_error`. */
  get code(): ErrorCode {
    if (this.body !== null) return this.body.error
    const codes = Object.keys(errorCodes) as ErrorCode[]
    return codes.find((code) => errorCodes[code].status === this.status) ?? 'internal_error'
  }

  get reason_code(): ReasonCode | null {
    return this.body?.reason_code ?? null
  }

  /** The fix that the service suggests, or null. */
  get hint(): string | null {
    return this.body?.hint ?? null
  }
}

/** No response: nothing listens, the connection broke, or the time ran out. `cause` is the system's error. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError'
  readonly base_url: string
  /** Whether the service was reached but did not respond in time. */
  readonly timed_out: boolean
  /** What to do, where the cause says; else null. */
  readonly hint: string | null

  constructor(base_url: string, timeout_ms: number, cause: unknown) {
    const timed_out = cause instanceof Error && cause.name === 'TimeoutError'
    const { reason, hint } = describeConnection(cause, base_url)
    super(
      timed_out ? `${base_url} did not respond within ${timeout_ms} ms.` : `${base_url} cannot be reached: ${reason}.`,
      { cause },
    )
    this.hint = timed_out ? null : hint
    this.base_url = base_url
    this.timed_out = timed_out
  }
}

/** The service sent a response that the contract does not allow. */
export class ContractError extends Error {
  override readonly name = 'ContractError'
  /** HTTP status. */
  readonly status: number
  /** The differences, one line each: `placement.width: expected number`. */
  readonly differences: readonly string[]
  readonly request_id: string | null

  constructor(endpoint_id: string, status: number, differences: readonly string[], request_id: string | null) {
    super(`The response to ${endpoint_id} differs from the contract: ${differences.join('; ')}`)
    this.status = status
    this.differences = differences
    this.request_id = request_id
  }
}

/** The request was not sent, because the service would refuse it and sending it would itself be a mistake. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError'
  readonly reason_code: ReasonCode
  readonly hint: string

  constructor(reason_code: ReasonCode) {
    super(`Not sent. ${reasonCodes[reason_code].message}`)
    this.reason_code = reason_code
    this.hint = reasonCodes[reason_code].hint
  }

  get code(): ErrorCode {
    return reasonCodes[this.reason_code].error
  }
}

/** Returns the message of the service alone, without what the error's message adds. */
export function explainError({ body, message }: ServiceError): string {
  return body?.message ?? message
}
