/** What a user gives a command to read: a file or stdin as text, and that text as JSON. */
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { decodeText, TextError } from '#foundation/encoding.ts'
import { parseJson } from '#foundation/json.ts'
import { readTextFile } from '#foundation/text-file.ts'
import { CliError } from '#text/cli-error.ts'
import { unreadable } from './file-errors.ts'
import { readStdin, type System } from './system.ts'

/**
 * Resolves to the text of a file, or of stdin for `-`. `name` is what messages call it. Throws CliError when it cannot be
 * read, or is not text.
 */
export async function readUserText(system: System, file: string, name?: string): Promise<string> {
  const path = file === '-' ? null : resolve(system.cwd, file)
  try {
    return path === null ? decodeText(await readStdin(system)) : await readTextFile(path)
  } catch (error) {
    throw readFailure(error, name ?? path ?? displayName(file))
  }
}

/** Resolves to the bytes of a file, or of stdin for `-`. Throws CliError when it cannot be read. */
export async function readUserBytes(system: System, file: string): Promise<Uint8Array> {
  if (file === '-') return readStdin(system)
  const path = resolve(system.cwd, file)
  try {
    return await readFile(path)
  } catch (error) {
    throw readFailure(error, path)
  }
}

/** Returns what messages call a file, or stdin. */
export function displayName(file: string): string {
  return file === '-' ? 'stdin' : file
}

/** Returns a failure to read a file as an error with the reason in words; any other error unchanged. */
export function readFailure(error: unknown, name: string): unknown {
  if (error instanceof TextError)
    return new CliError('usage', 'file_invalid', `${name} cannot be read: ${sentence(error.message)}`, error.hint)
  return error instanceof Error && 'syscall' in error ? unreadable(name, error) : error
}

function sentence(message: string): string {
  return `${message.charAt(0).toLowerCase()}${message.slice(1)}.`
}

/** Resolves to the value of a JSON text. Throws CliError with the line and column of the mistake, also for one that nests too deep. */
export async function parseUserJson(
  text: string,
  name: string,
  { code = 'file_invalid', hint = null }: { code?: string; hint?: string | null } = {},
): Promise<unknown> {
  const value = parseJson(text)
  if (value !== undefined) return value
  // Loaded only for a mistake: a parser that knows the place.
  const { describeJsonProblem } = await import('#foundation/json/syntax.ts')
  throw new CliError('usage', code, `${name} is not JSON. ${describeJsonProblem(text)}`, hint)
}
