/** Where a body is wrong that is not JSON. Loaded by the first such body: few are. */
import { ApiError, reasonCodes } from '#contract/errors.ts'
import { findInvalidUtf8 } from '#foundation/encoding.ts'
import { describeJsonProblem } from '#foundation/json/syntax.ts'

export function withPlace(error: ApiError, body: Buffer): ApiError {
  const offset = findInvalidUtf8(body)
  if (offset !== null)
    return new ApiError(error.reason_code, { message: `The body is not UTF-8, at byte offset ${offset}.` })
  // Any other message already says what is wrong.
  if (error.message !== reasonCodes.json_malformed.message) return error
  return new ApiError(error.reason_code, { message: `${error.message} ${describeJsonProblem(body.toString('utf8'))}` })
}
