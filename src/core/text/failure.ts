/** Any error in the form that the command line reports: its category and exit code, what happened, and what to do. */
import { ContractError, explainError, RefusedError, ServiceError, UnreachableError } from '#client/errors.ts'
import { type ErrorCode, errorCodes, type ReasonCode, reasonCodes } from '#contract/error-codes.ts'
import { describeField } from '#contract/words/error-lines.ts'
import { readMessage, type SystemError, systemErrorBehind, systemHint, systemReason } from '#foundation/system-error.ts'
import { findEntry, isTableName } from '#foundation/table-entry.ts'
import { type Category, type Failure, findCategory } from '#text/cli-error.ts'
import { oneLine } from '#text/terminal.ts'

/**
 * Describes an error that is not a CliError: the client's errors by the contract's tables, those of the system by their
 * code, anything else as a bug.
 */
export function describeFailure(error: unknown): Failure {
  if (error instanceof ServiceError) return serviceFailure(error)
  if (error instanceof RefusedError) {
    const { reason_code, hint } = error
    return failure(categoryOfError(error.code), error.code, error.message, { reason_code, hint })
  }
  if (error instanceof UnreachableError) {
    const hint = error.hint ?? 'Start a sandbox: svc start. Or name the service: --base-url URL.'
    return failure('unreachable', error.timed_out ? 'timeout' : 'unreachable', error.message, { hint })
  }
  if (error instanceof ContractError) {
    const { message, request_id } = error
    return failure('service', 'contract_mismatch', oneLine(message), { hint: checkService, request_id })
  }
  const system = systemErrorBehind(error)
  if (system !== null) return systemFailure(system)
  const message = readMessage(error)
  return failure('unexpected', 'unexpected', message, { hint: 'This looks like a bug in svc.' })
}

function serviceFailure(error: ServiceError): Failure {
  // The service wrote them: a line end could forge a line of this program.
  const message = [explainError(error), ...(error.body?.fields ?? []).map(describeField)].map(oneLine).join('\n  ')
  const redirect = error.status >= 300 && error.status < 400 ? checkService : null
  const wait = error.retry_after_s === null ? null : `Retry-After: ${error.retry_after_s} s.`
  const reason_code = error.reason_code ?? reasonOfPage(error)
  const advice = error.hint ?? (reason_code === null ? null : reasonCodes[reason_code].hint)
  const hint = oneLine([advice, redirect, wait].filter((part) => part !== null).join(' ')) || null
  const { request_id } = error
  return failure(categoryOfError(error.code), error.code, message, { reason_code, hint, request_id })
}

/** The failures that are about a connection, by the category of their exit code. */
const networkCategories: Readonly<Record<string, Category>> = {
  ...{ ECONNREFUSED: 'unreachable', ECONNRESET: 'unreachable', ECONNABORTED: 'unreachable', ENOTFOUND: 'unreachable' },
  ...{ EHOSTUNREACH: 'unreachable', ENETUNREACH: 'unreachable', ETIMEDOUT: 'unreachable', EAI_AGAIN: 'unreachable' },
  EADDRINUSE: 'busy',
}

/** What could not be done, by the refused call. */
const refusedCalls: Readonly<Record<string, string>> = {
  ...{ open: 'opened', read: 'read', scandir: 'read', stat: 'read', lstat: 'read', access: 'used', write: 'written' },
  ...{ mkdir: 'created', mkdtemp: 'created', rename: 'renamed', unlink: 'removed', rm: 'removed', rmdir: 'removed' },
  ...{ connect: 'reached', getaddrinfo: 'found', listen: 'listened on', bind: 'listened on', spawn: 'started' },
}

/** Returns a failure of the system with the file, program or address that it is about. */
function systemFailure(error: SystemError): Failure {
  const { code, syscall = '', path, address, port, hostname } = error
  const [call = '', ...program] = syscall.split(' ')
  const host = address === undefined ? hostname : port === undefined ? address : `${address}:${port}`
  const subject = (program.join(' ') || path) ?? host
  const done = findEntry(refusedCalls, call) ?? 'used'
  const what = subject === undefined ? 'Something on this computer' : oneLine(subject)
  const message = `${what} cannot be ${done}: ${systemReason(error)}.`
  return failure(findEntry(networkCategories, code) ?? 'usage', 'system_error', message, { hint: systemHint(code) })
}

/** For responses that most likely are of another service. */
const checkService = 'Is this the service that you meant? Where the base URL is from: svc config list'

/** Returns the reason that a page shown instead of a frame ends with; null for every other response. */
function reasonOfPage({ body, message }: ServiceError): ReasonCode | null {
  const word = body === null ? message.slice(message.lastIndexOf(' ') + 1) : ''
  return isTableName(reasonCodes, word) ? word : null
}

function failure(
  category: Category,
  code: string,
  message: string,
  { reason_code = null, hint = null, request_id = null }: Partial<Failure>,
): Failure {
  return { category, code, reason_code, message, hint, request_id }
}

function categoryOfError(code: ErrorCode): Category {
  return findCategory(errorCodes[code].exit_code)
}
