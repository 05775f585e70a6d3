/** Errors of SQLite, and what they mean. */
import { StorageError } from '../../store.ts'

/**
 * Returns why rows cannot be read, as a StorageError; other errors unchanged. An error from a thread has lost its class
 * on the way, but kept its name.
 */
export function readFailure(error: unknown): unknown {
  if (error instanceof StorageError || !(error instanceof Error)) return error
  if (error.name === 'StorageError') return new StorageError(error.cause ?? error, 'read')
  return isStorageFailure(error) || isMalformedJson(error) ? new StorageError(error, 'read') : error
}

const storageCodes = /^SQLITE_(FULL|READONLY|BUSY|LOCKED|IOERR|CANTOPEN|CORRUPT|NOTADB|NOMEM|PROTOCOL)/

/** Whether the database refuses everything, not this statement alone. */
export function isStorageFailure(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && storageCodes.test(error.code)
}

/** SQLite's own functions refuse a text that is not the JSON that was written. */
function isMalformedJson(error: Error): boolean {
  return 'code' in error && error.code === 'SQLITE_ERROR' && error.message === 'malformed JSON'
}
