/** Errors of the contract for anything thrown, and their responses. */
import { setTimeout } from 'node:timers/promises'
import { ApiError } from '#contract/errors.ts'
import { redactSecrets } from '#foundation/redaction.ts'
import { readErrorCode, readMessage, systemErrorBehind, systemHint, systemReason } from '#foundation/system-error.ts'
import type { Services } from '#operations/context.ts'
import { StorageError, type Store } from '#store/store.ts'
import { type PipelineResponse, type ResponseContext, responseHeaders } from './exchange.ts'

/** The error body of the contract (A10), without any secret that a message repeats (A12). */
export function errorResponse({ base_url }: Services, context: ResponseContext, error: ApiError): PipelineResponse {
  const headers = responseHeaders(context)
  if (error.status === 401) headers['www-authenticate'] = 'Bearer'
  Object.assign(headers, error.headers)
  if (error.retry_after_s !== undefined) headers['retry-after'] = String(error.retry_after_s)
  return {
    status: error.status,
    headers,
    body: redactSecrets(JSON.stringify(error.toBody(context.request_id, base_url))),
    error,
  }
}

/**
 * Resolves to an error of the contract for anything thrown. Our own failures are reported, never explained to the
 * caller; a failure caused by a damaged row becomes the error about the damage.
 */
export async function toApiError(services: Services, thrown: unknown, request_id: string): Promise<ApiError> {
  if (thrown instanceof ApiError) return thrown
  const error = thrown instanceof StorageError ? thrown : ((await findDamage(services, thrown)) ?? thrown)
  if (error instanceof StorageError) {
    services.report(error)
    const { refused, retry_after_s } = error
    if (retry_after_s !== null) {
      return new ApiError('storage_unavailable', {
        message: 'The database of the sandbox does not respond.',
        hint: 'Send it again once the database is back: nothing has to be repaired here.',
        retry_after_s,
      })
    }
    if (isHeldByOther(error.cause)) {
      return new ApiError('storage_unavailable', {
        message: 'Another program holds the database of the sandbox, and did not let go of it in time.',
        hint: 'Close the program that has it open, such as a database browser with a transaction, then send it again.',
        retry_after_s: 1,
      })
    }
    if (refused === 'write') return new ApiError('storage_unavailable', { retry_after_s: 1 })
    if (isDiskError(error.cause)) {
      return new ApiError('storage_unavailable', {
        message: `The sandbox cannot read its database now: ${readMessage(error.cause)}.`,
        hint: 'Check the disk and its connection, then send it again. Whether the file is damaged: svc sandbox status --check',
        retry_after_s: 1,
      })
    }
    return new ApiError('storage_unavailable', {
      message: 'The sandbox cannot read its database: the file is damaged.',
      hint: 'See what is wrong: svc sandbox status --check. Start over: svc sandbox reset.',
    })
  }
  const system = systemErrorBehind(error)
  if (system !== null) {
    services.report(new StorageError(new Error(systemReason(system), { cause: system }), 'read'))
    return new ApiError('storage_unavailable', {
      message: `The sandbox cannot do this now: ${systemReason(system)}.`,
      hint: systemHint(system.code),
      retry_after_s: 1,
    })
  }
  services.report(new Error(`request ${request_id} failed`, { cause: error }))
  return new ApiError('internal_error')
}

/** Whether SQLite has waited in vain for a lock of another program. */
function isHeldByOther(cause: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED)/.test(readErrorCode(cause) ?? '')
}

/** Whether SQLite was refused by the system. A read that ends too early, or has other bytes, is damage. */
function isDiskError(cause: unknown): boolean {
  const code = readErrorCode(cause) ?? ''
  return /^SQLITE_(IOERR|CANTOPEN|NOMEM|FULL)/.test(code) && !/_(SHORT_READ|DATA|CORRUPTFS)$/.test(code)
}

/** How long the response to an unexpected failure waits for the check, real milliseconds. */
const checkTimeoutMs = 3_000
const checks = new WeakMap<Store, Promise<string[]>>()

/**
 * Resolves to a StorageError when the database is damaged, else to null: a value of a type that its table forbids can
 * make any code fail. Requests that fail at the same time share one check.
 */
async function findDamage({ store }: Services, thrown: unknown): Promise<StorageError | null> {
  const check =
    checks.get(store) ??
    store
      .integrityProblems()
      .catch(() => [])
      .finally(() => checks.delete(store))
  checks.set(store, check)
  const [problem] = await Promise.race([check, setTimeout(checkTimeoutMs, [], { ref: false })])
  return problem === undefined ? null : new StorageError(new Error(problem, { cause: thrown }), 'read')
}
