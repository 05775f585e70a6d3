/** Failures of the database: which are tried again, and the message when it cannot be opened. */
import { SandboxError } from '#sandbox/sandbox-error.ts'
import { StorageError } from '../store.ts'

/** A server that takes no writes, or does not keep them as it should. Another connection may be to one that does. */
export class ServerProblem extends Error {
  /** What to do. */
  readonly hint: string
  constructor(message: string, hint: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'ServerProblem'
    this.hint = hint
  }
}

/** Whether a connection is lost, could not be made or is to the wrong server: the next one may succeed. */
export function isConnectionFailure(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof ServerProblem || isReadOnly(error)) return true
  const code = 'code' in error ? String(error.code) : ''
  if (/^(08|57P0)/.test(code) || /^E(CONN|PIPE|TIMEDOUT|HOST|NET|NOTFOUND|AI_AGAIN)/.test(code)) return true
  return /Connection terminated|not queryable|connection error|timeout expired|Query read timeout/i.test(error.message)
}

/** Whether a write was refused because the server takes none, or takes none any more. */
export function isReadOnly(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '25006'
}

/** Whether a connection failed because of TLS, or was refused by a rule that may be about TLS alone. */
export function isTlsRefusal(error: unknown): error is Error {
  if (!(error instanceof Error)) return false
  return aboutTls.test(error.message) || ('code' in error && error.code === '28000')
}

const aboutTls = /\b(SSL|TLS|certificate)\b|^ENOENT.* open /i

/** Whether the transaction may succeed when it is run again: a serialization failure or a deadlock. */
export function isConflict(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^40(001|P01)$/.test(String(error.code))
}

/** Whether the database as a whole refused, rather than one statement because of its values. */
function isStorageFailure(error: unknown): boolean {
  if (isConnectionFailure(error)) return true
  return error instanceof Error && 'code' in error && /^(25|40|53|54|55|57|58|XX|F0|42501)/.test(String(error.code))
}

/** Returns a failure of the database as a StorageError that is worth retrying; other errors unchanged. */
export function storageError(error: unknown, refused: 'read' | 'write'): unknown {
  if (error instanceof StorageError || !isStorageFailure(error)) return error
  return new StorageError(error, refused, retryS)
}

const retryS = 1

/** Returns why a database cannot be opened, as a SandboxError; other errors unchanged. */
export function explain(error: unknown, location: string): unknown {
  if (error instanceof StorageError) return explain(error.cause, location)
  if (error instanceof SandboxError || !(error instanceof Error)) return error
  // From the driver, which decodes the parts of the URL.
  if (error instanceof URIError) return invalidUrl()
  if (error instanceof ServerProblem) {
    return new SandboxError('database_unwritable', `${location} cannot be used: ${error.message}.`, error.hint, {
      cause: error,
    })
  }
  const code = 'code' in error ? String(error.code) : ''
  const why = error.message === '' ? code : error.message
  return explainRefusal(error, { location, code, why }) ?? explainUnreachable(error, { location, code, why }) ?? error
}

interface Failure {
  location: string
  code: string
  why: string
}

/** Returns the error when the server has refused the user, the database or a statement; null otherwise. */
function explainRefusal(cause: Error, { location, code, why }: Failure): SandboxError | null {
  // SASL errors come from the driver, which has no password to send.
  if (/^28/.test(code) || code === '3D000' || code === '42501' || why.startsWith('SASL')) {
    const message = `${location} refused the sandbox: ${why}.`
    return new SandboxError('database_unwritable', message, refusalHints.get(code) ?? 'Check user and password.', {
      cause,
    })
  }
  // An engine without a type, a function or a feature, or does not know a word of the statement.
  if (!/^(0A000|42601|42704|42883)$/.test(code)) return null
  return new SandboxError(
    'database_unwritable',
    `${location} does not support a statement of the sandbox: ${why}.`,
    `Use PostgreSQL ${minVersion} or later, or an engine with the features that svc docs scaling lists.`,
    { cause },
  )
}

const refusalHints = new Map([
  ['3D000', 'Create it, or name another one in the URL.'],
  ['42501', 'Use a user who may create a schema in the database, or let one run svc team migrate: svc docs team.'],
])

/** Returns the error when the server cannot be reached; null otherwise. */
function explainUnreachable(cause: Error, { location, code, why }: Failure): SandboxError | null {
  if (aboutTls.test(why)) {
    return new SandboxError(
      'database_unreachable',
      `${location} cannot be reached over TLS: ${why.replace(/\.$/, '')}.`,
      'Set sslmode in the URL: verify-full, with sslrootcert=FILE for a certificate authority of your own; require does not check the server; disable does not encrypt.',
      { cause },
    )
  }
  if (/^53[34]00$/.test(code)) {
    return new SandboxError(
      'database_unreachable',
      `${location} has no connection left for the sandbox: ${why}.`,
      'Close other connections, or raise the limit: max_connections of the server, CONNECTION LIMIT of the role and of the database. A node uses about six.',
      { cause },
    )
  }
  if (/Query read timeout/.test(why)) {
    return new SandboxError(
      'database_unreachable',
      `${location} accepts connections, but has not run a statement in time.`,
      'See what it waits for in pg_stat_activity: a standby that is gone, a lock, or, behind a pooler, a connection of a pool that is used up.',
      { cause },
    )
  }
  if (!isConnectionFailure(cause) && !/^(53|57|ENOENT)/.test(code)) return null
  return new SandboxError(
    'database_unreachable',
    `${location} cannot be reached: ${why}.`,
    'Check that PostgreSQL runs there and accepts connections from this computer.',
    { cause },
  )
}

/** Returns why a server cannot be used, by its `server_version_num`; null when it can. */
export function versionProblem(location: string, version: number): SandboxError | null {
  if (!(version < minVersion * 10000)) return null
  return new SandboxError(
    'database_unwritable',
    `${location} is PostgreSQL ${Math.floor(version / 10000)}; the sandbox needs ${minVersion} or later.`,
    'Use a newer server. svc docs scaling lists the features it needs.',
  )
}

/** `MATERIALIZED` and `plan_cache_mode` came with PostgreSQL 12. */
const minVersion = 12

export function invalidUrl(): SandboxError {
  return new SandboxError(
    'option_invalid',
    'The store is not the URL of a PostgreSQL database.',
    'Write it as postgres://USER:PASSWORD@HOST:5432/DATABASE, with %40 for @, %2F for /, %23 for #, %3F for ? and %25 for % in the password.',
  )
}
