/** Failures to read and to write files, for every command. */

import { systemErrorBehind, systemHint, systemReason } from '#foundation/system-error.ts'
import { findEntry } from '#foundation/table-entry.ts'
import { CliError } from '#text/cli-error.ts'

/** The failure of a command that cannot read a file, with the reason in words. */
export function unreadable(file: string, error: Error, hint: string | null = null): CliError {
  const system = systemErrorBehind(error)
  const reason = system === null ? error.message : system.code === 'ENOTDIR' ? 'no such file' : systemReason(system)
  return new CliError('usage', 'file_unreadable', `${file} cannot be read: ${reason}.`, hint)
}

/** Returns a failure to write a file as an error with the reason in words; any other error unchanged. */
export function unwritable(file: string, error: unknown, hint: string): unknown {
  const system = error instanceof CliError ? null : systemErrorBehind(error)
  if (system === null) return error
  const reason = findEntry(writeReasons, system.code) ?? systemReason(system)
  const fix = anywhere.has(system.code) ? systemHint(system.code) : hint
  return new CliError('usage', 'file_unwritable', `${file} cannot be written: ${reason}.`, fix)
}

/** Failures that another place for the file would not help. */
const anywhere: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN'])

/** Where a code means something else for a file that is to be created. */
const writeReasons: Readonly<Record<string, string>> = {
  EEXIST: 'part of its path is not a directory',
  ENOENT: 'its directory does not exist',
  ENOTDIR: 'part of its path is not a directory',
}
