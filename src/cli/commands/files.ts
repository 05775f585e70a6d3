/** Files that commands write, complete or not at all. */
import { createWriteStream, existsSync, statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { Option } from 'commander'
import type { CommandContext } from '#cli/run/command.ts'
import { unwritable } from '#cli/run/file-errors.ts'
import { renameOver } from '#foundation/file-system.ts'
import { CliError } from '#text/cli-error.ts'

/** Lets a command replace an existing file. */
export const forceOption = () => new Option('--force, --overwrite', 'replace an existing file')

/**
 * Writes a file next to `path` and renames it when it is complete, so that a failure leaves the old file. Throws
 * CliError when the file cannot be written, or exists and `overwrite` is false.
 */
export async function writeAtomically(
  { system, signal }: CommandContext,
  path: string,
  chunks: AsyncIterable<string | Uint8Array>,
  { overwrite, mode = 0o666 }: { overwrite: boolean; mode?: number },
): Promise<void> {
  const partial = `${path}.${system.pid}.part`
  const refuseExisting = () => {
    if (!existsSync(path)) return
    if (statSync(path).isDirectory()) {
      throw new CliError('usage', 'file_exists', `${path} is a folder.`, 'Give the name of a file in it.')
    }
    if (overwrite) return
    throw new CliError('usage', 'file_exists', `${path} exists.`, 'Give another name, or --force to replace it.')
  }
  refuseExisting()
  try {
    await pipeline(chunks, createWriteStream(partial, { mode }), { signal })
    refuseExisting()
    renameOver(partial, path)
  } catch (error) {
    await rm(partial, { force: true }).catch(() => undefined)
    const isOfFile = error instanceof Error && 'path' in error && error.path === partial
    const hint = 'Check the directory, its permissions and the free space.'
    throw isOfFile ? unwritable(path, error, hint) : error
  }
}

/** Yields a text that is there as a whole, for `writeAtomically`. */
export async function* oneText(text: string): AsyncGenerator<string> {
  yield text
}

/** Returns a path quoted for every kind of shell. */
export function quotePath(path: string): string {
  return /^[\w./\\~-]+$/.test(path) ? path : `"${path.replace(/[$`"]/g, '\\$&')}"`
}
