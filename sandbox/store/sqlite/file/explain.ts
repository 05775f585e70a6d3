/** Why a database file cannot be used, as errors with advice. */
import { accessSync, closeSync, constants, openSync, statSync } from 'node:fs'
import { devNull } from 'node:os'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import { type SystemError, systemErrorBehind } from '#foundation/system-error.ts'
import { refusedFile, SandboxError } from '#sandbox/sandbox-error.ts'
import { StorageError } from '../../store.ts'

/**
 * Returns why a database cannot be opened or used, as a SandboxError; other errors unchanged. Only what SQLite itself
 * calls damage, and content that this version cannot read, counts as damage: the cause of anything else is elsewhere,
 * and the file must be kept.
 */
export function explain(error: unknown, path: string): unknown {
  if (error instanceof SandboxError) return error
  if (error instanceof StorageError) {
    const explained = explain(error.cause, path)
    return explained instanceof SandboxError ? explained : damaged(path, error.message)
  }
  if (error instanceof Error && 'code' in error && error.code === 'ERR_DLOPEN_DISABLED') return addonsDisabled(error)
  const system = systemErrorBehind(error)
  if (system !== null) return refusedFile(system.path ?? path, system.syscall === 'read' ? 'read' : 'opened', system)
  return error instanceof Database.SqliteError ? explainCode(error, path) : error
}

function addonsDisabled(cause: Error): SandboxError {
  const message = 'Node was started with --no-addons, and the database of the sandbox is an add-on.'
  const hint = 'Leave out --no-addons, also in NODE_OPTIONS, and --permission without --allow-addons.'
  return new SandboxError('option_invalid', message, hint, { cause })
}

function explainCode(error: InstanceType<typeof Database.SqliteError>, path: string): SandboxError {
  if (isBusy(error)) {
    return new SandboxError(
      'database_unwritable',
      `${path} is in use by another program: ${error.message}.`,
      'Close the program that has it open, such as a database browser, or give --db another file.',
    )
  }
  if (isContent.test(error.code)) return damaged(path, error.message)
  const cause = /^SQLITE_(CANTOPEN|IOERR)/.test(error.code) ? whyUnopened(path) : null
  if (cause !== null) return refusedFile(cause.path ?? path, 'opened', cause)
  const [, code, done] = refusals.find(([codes]) => codes.test(error.code)) ?? []
  if (code !== undefined && done !== undefined) return refusedFile(path, done, { code, message: error.message })
  return new SandboxError(
    'database_unwritable',
    `${path} cannot be used: ${error.message} (${error.code}).`,
    'Check the directory, its permissions and the free space, or start with --ephemeral.',
    { cause: error },
  )
}

/** Codes of a file that is damaged, or whose tables and rows are not those of a sandbox. */
const isContent =
  /^SQLITE_(NOTADB|CORRUPT|ERROR|SCHEMA|CONSTRAINT|MISMATCH|TOOBIG|RANGE|FORMAT|EMPTY|NOTFOUND|IOERR_(SHORT_READ|DATA|CORRUPTFS))/

/** The refusal of the system behind a code of SQLite, and what could not be done. */
const refusals: readonly (readonly [RegExp, string, 'opened' | 'read' | 'written'])[] = [
  [/^SQLITE_IOERR_NOMEM|^SQLITE_NOMEM/, 'ENOMEM', 'opened'],
  [/^SQLITE_IOERR_(READ|FSTAT|SEEK|ACCESS|SHMMAP|MMAP|GETTEMPPATH)/, 'EIO', 'read'],
  [/^SQLITE_IOERR/, 'EIO', 'written'],
  [/^SQLITE_FULL/, 'ENOSPC', 'written'],
  [/^SQLITE_(PERM|AUTH)/, 'EACCES', 'opened'],
]

/** Returns what the system refuses for a file that SQLite cannot open, which names no reason; null when nothing is found. */
function whyUnopened(path: string): SystemError | null {
  const files = [path, `${path}.lock`, `${path}-wal`, `${path}-shm`]
  const opened: number[] = []
  try {
    for (const file of files) {
      if (statSync(file, { throwIfNoEntry: false })?.isDirectory() !== true) continue
      return Object.assign(new Error('it is a folder'), { code: 'EISDIR', path: file })
    }
    accessSync(dirname(path), constants.W_OK | constants.X_OK)
    // Any file: it fails when this process has no descriptors left for all of them.
    for (const _ of files) opened.push(openSync(devNull, 'r'))
    return null
  } catch (error) {
    const system = systemErrorBehind(error)
    return system === null ? null : Object.assign(system, { path })
  } finally {
    for (const descriptor of opened) closeSync(descriptor)
  }
}

export function isDamage(error: unknown): error is Error {
  return error instanceof Database.SqliteError && /^SQLITE_(NOTADB|CORRUPT)/.test(error.code)
}

export function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY')
}

/** Returns the error for a file whose content cannot be used. */
export function damaged(path: string, problem: string): SandboxError {
  return new SandboxError(
    'database_corrupt',
    `${path} is damaged or was made by something else: ${problem}.`,
    'Move it away, or give --db another file.',
  )
}

/** Returns the error for a log that could not be copied at the end. */
export function unfinished(error: unknown, path: string): SandboxError {
  return new SandboxError(
    'database_unwritable',
    `${path} could not take in its log: ${error instanceof Error ? error.message : String(error)}.`,
    `Nothing is lost: keep ${path}-wal next to it. The next start copies it once there is space.`,
  )
}
