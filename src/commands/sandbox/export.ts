/** `svc sandbox export` and `import`: the state of a sandbox in one file. */
import { openAsBlob, statSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { Argument } from 'commander'
import { callEndpoint, endpointCommand } from '../../cli/endpoint/endpoint-command.ts'
import { CliError } from '../../cli/run/errors.ts'
import { forceOption, writeAtomically } from '../files.ts'

const defaultFile = 'sandbox.svc.gz'

export const exportCommand = endpointCommand('sandbox.export', {
  details: 'The file is complete or not written at all.',
  arguments: [new Argument('[file]', 'file to write').default(defaultFile)],
  options: [forceOption()],
  examples: ['sandbox export', 'sandbox export monday.svc.gz --force'],
  async run(session, { args, options }) {
    const { host, out, signal } = session
    const file = resolve(host.cwd, args[0] ?? defaultFile)
    const bytes = session.client().sandbox.export({}, { signal })
    const writing = writeAtomically(session, file, bytes, { overwrite: options.overwrite === true, mode: 0o600 })
    await out.progress('GET /_sandbox/export: writing the file', writing)
    const size_bytes = statSync(file).size
    out.data({ file, size_bytes }, () => [`Wrote ${file}, ${size_bytes} bytes.`])
    return 0
  },
})

export const importCommand = endpointCommand('sandbox.import', {
  arguments: [new Argument('<file>', 'file that svc sandbox export has written')],
  options: [],
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
    const { projects, evidence_entries } = data
    session.out.data(data, () => [
      `Restored ${basename(file)}: ${projects} projects, ${evidence_entries} evidence entries verified.`,
    ])
    return 0
  },
})
