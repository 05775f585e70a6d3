import { existsSync } from 'node:fs'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/**
 * Writes a report aside and renames it, so that what reads it never sees half of one, and a failure keeps the old one.
 * Makes the directories that are missing. Rejects with the system's error.
 */
export async function writeReportFile(path: string, content: string): Promise<void> {
  await makeDirectory(dirname(path))
  const aside = join(dirname(path), `.${basename(path)}.${process.pid}.part`)
  try {
    await writeFile(aside, content)
    await rename(aside, path)
  } catch (error) {
    await rm(aside, { force: true })
    throw error
  }
}

/** One level at a time: the recursive form of mkdir never ends where the system refuses names, as in /proc. */
async function makeDirectory(path: string): Promise<void> {
  if (existsSync(path)) return
  await makeDirectory(dirname(path))
  try {
    await mkdir(path)
  } catch (error) {
    // Another report may have made it meanwhile.
    if (!existsSync(path)) throw error
  }
}

/** A report could not be written. */
export class ReportFileError extends Error {
  override readonly name = 'ReportFileError'
  readonly file: string
  /** What to do. */
  readonly hint = 'Name another file, or free its place. The run itself went on to its end.'

  constructor(reporter: string, file: string, cause: unknown) {
    super(`Cannot write the ${reporter} report to ${file}: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    })
    this.file = file
  }
}
