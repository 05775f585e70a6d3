/** The whole state in one file: written aside and renamed when all of it is there; read from disk as it is sent. */
import { createWriteStream, existsSync, openAsBlob, renameSync, rmSync, statSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { Argument, Option } from 'commander'
import { callEndpoint } from '../../cli/endpoint/endpoint-command.ts'
import type { Command } from '../../cli/run/command.ts'
import { CliError } from '../../cli/run/errors.ts'
import { contract } from '../../contract/index.ts'

const defaultFile = 'sandbox.svc.gz'

export const exportCommand: Command = {
  name: 'export',
  summary: contract['sandbox.export'].summary,
  details: `${contract['sandbox.export'].description} The file is written aside and renamed when all of it is there. (GET /_sandbox/export)`,
  arguments: [new Argument('[file]', 'where to write it').default(defaultFile)],
  options: [new Option('--overwrite', 'replace the file if there is one')],
  examples: ['sandbox export', 'sandbox export monday.svc.gz --overwrite'],
  async run(session, { args, options }) {
    const { host, out } = session
    const file = resolve(host.cwd, args[0] ?? defaultFile)
    const mayOverwrite = options.overwrite === true
    if (!mayOverwrite) refuseExisting(file)
    const aside = `${file}.${host.pid}.part`
    const bytes = session.client().sandbox.export({}, { signal: session.signal })
    try {
      const written = pipeline(bytes, createWriteStream(aside, { mode: 0o600 }), { signal: session.signal })
      await out.progress('GET /_sandbox/export: writing the file', written)
      if (!mayOverwrite) refuseExisting(file)
      renameSync(aside, file)
    } catch (error) {
      rmSync(aside, { force: true })
      throw systemError(error, file)
    }
    const size_bytes = statSync(file).size
    out.data({ file, size_bytes }, () => [`Wrote ${file}, ${size_bytes} bytes.`])
    return 0
  },
}

export const importCommand: Command = {
  name: 'import',
  summary: contract['sandbox.import'].summary,
  details: `${contract['sandbox.import'].description} (POST /_sandbox/import)`,
  arguments: [new Argument('<file>', 'a file of svc sandbox export')],
  examples: ['sandbox import sandbox.svc.gz', 'sandbox import sandbox.svc.gz -o json'],
  async run(session, { args }) {
    const file = resolve(session.host.cwd, args[0]!)
    let body: Blob
    try {
      body = await openAsBlob(file)
    } catch {
      throw new CliError('usage', 'file_unreadable', `${file} cannot be read.`, 'Name a file of svc sandbox export.')
    }
    const { data } = await callEndpoint(session, 'sandbox.import', { body })
    const { projects, evidence_entries } = data as { projects: number; evidence_entries: number }
    session.out.data(data, () => [
      `The sandbox is as it was in ${basename(file)}: ${projects} projects, ${evidence_entries} evidence entries verified.`,
    ])
    return 0
  },
}

function refuseExisting(file: string): void {
  if (!existsSync(file)) return
  throw new CliError('usage', 'file_exists', `${file} exists.`, 'Give another name, or --overwrite to replace it.')
}

/** What the file system refused, told with the file it is about; anything else as it is. */
function systemError(error: unknown, file: string): unknown {
  if (!(error instanceof Error) || !('syscall' in error) || !('path' in error)) return error
  return new CliError(
    'usage',
    'file_unwritable',
    `${file} cannot be written: ${error.message}.`,
    'Check the directory, its permissions and the free space.',
  )
}
