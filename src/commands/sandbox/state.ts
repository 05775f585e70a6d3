/** The state of a sandbox: in one file (`svc sandbox export` and `import`), and as snapshots within it. */
import { openAsBlob, statSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { Argument, Option } from 'commander'
import { callEndpoint, endpointCommand } from '../../cli/endpoint/endpoint-command.ts'
import { type Column, tableLines } from '../../cli/output/table.ts'
import { sizeText } from '../../cli/output/text.ts'
import type { CommandGroup, Session } from '../../cli/run/command.ts'
import { CliError } from '../../cli/run/errors.ts'
import { forceOption, writeAtomically } from '../files.ts'
import { canAsk, confirm } from '../prompt.ts'

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
    const how = { overwrite: options.overwrite === true, mode: 0o600 }
    await out.bytes('GET /_sandbox/export: writing the file', null, (done) =>
      writeAtomically(session, file, counted(bytes, done), how),
    )
    const size_bytes = statSync(file).size
    out.data({ file, size_bytes }, () => [`Wrote ${file}, ${sizeText(size_bytes)}.`])
    return 0
  },
})

export const importCommand = endpointCommand('sandbox.import', {
  details: 'Into a store that several nodes share it asks first; where it cannot ask, it takes --yes.',
  arguments: [new Argument('<file>', 'file that svc sandbox export has written')],
  options: [new Option('-y, --yes', 'do not ask')],
  examples: ['sandbox import sandbox.svc.gz', 'sandbox import sandbox.svc.gz -o json'],
  async run(session, { args, options }) {
    const file = resolve(session.host.cwd, args[0]!)
    let body: Blob
    try {
      body = await openAsBlob(file)
    } catch {
      throw new CliError('usage', 'file_unreadable', `${file} cannot be read.`, 'Name a file of svc sandbox export.')
    }
    if (options.yes !== true) await confirmImport(session, args[0]!)
    const data = await session.out.bytes('POST /_sandbox/import', body.size, (done) => {
      const read = body.stream.bind(body)
      // Read by the transport as it sends it; then the sandbox verifies it.
      body.stream = () => read().pipeThrough(counter(done))
      return session.client().sandbox.import({ body }, { signal: session.signal })
    })
    const { projects, evidence_entries } = data
    session.out.data(data, () => [
      `Restored ${basename(file)}: ${projects} projects, ${evidence_entries} evidence entries verified.`,
    ])
    return 0
  },
})

/** Asks before the state of others is replaced. Throws CliError unless the answer is yes, or where nobody can be asked. */
async function confirmImport(session: Session, file: string): Promise<void> {
  const { data } = await callEndpoint(session, 'sandbox.info', {})
  if (data.nodes === null) return
  const question = `Replace the state of ${data.database} (${data.url}) for everyone who uses it?`
  if (canAsk(session) && (await confirm(session, question))) return
  const message = `Nothing was imported: ${data.database} is shared.`
  throw new CliError('usage', 'not_confirmed', message, `To replace its state: svc sandbox import ${file} --yes`)
}

async function* counted(chunks: AsyncIterable<Uint8Array>, done: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.length
    done(bytes)
    yield chunk
  }
}

function counter(done: (bytes: number) => void): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let bytes = 0
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.length
      done(bytes)
      controller.enqueue(chunk)
    },
  })
}

const columns: readonly Column[] = [
  { name: 'name', kind: 'id' },
  { name: 'saved', field: 'saved_at_ms', kind: 'time' },
  { name: 'size', field: 'size_bytes', kind: 'size' },
  { name: 'schema', field: 'schema_version', rank: 2 },
]

export const snapshot: CommandGroup = {
  name: 'snapshot',
  summary: 'Save the state of the sandbox under a name, and restore it',
  commands: [
    endpointCommand('snapshots.save', {
      examples: ['sandbox snapshot save before-launch', 'sandbox snapshot save with-consent --replace'],
      text: ({ name, size_bytes }) => [`Saved ${name}, ${sizeText(size_bytes)}.`],
    }),
    endpointCommand('snapshots.list', {
      examples: ['sandbox snapshot list', 'sandbox snapshot list -o json'],
      tables: [columns],
      text: ({ items }, _meta, style) => (items.length === 0 ? [] : tableLines(columns, items, style)),
      after: async ({ out }, { items }) => {
        if (items.length === 0) out.note('No snapshot is saved. Save one: svc sandbox snapshot save NAME')
      },
    }),
    endpointCommand('snapshots.restore', {
      examples: ['sandbox snapshot restore before-launch', 'sandbox snapshot restore before-launch -o none'],
      text: ({ name }) => [`Restored ${name}.`],
    }),
    endpointCommand('snapshots.delete', {
      examples: ['sandbox snapshot delete before-launch', 'sandbox snapshot delete with-consent -o none'],
      text: () => ['Deleted.'],
    }),
  ],
}
