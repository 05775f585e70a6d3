/** `svc sandbox export` and `svc sandbox import`. */
import { openAsBlob, statSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { Argument, Option } from 'commander'
import { callEndpoint, endpointCommand } from '#cli/endpoint/endpoint-command.ts'
import type { CommandContext } from '#cli/run/command.ts'
import { unreadable } from '#cli/run/file-errors.ts'
import { ownerOnly } from '#foundation/permissions.ts'
import { CliError, InterruptError } from '#text/cli-error.ts'
import { sizeText } from '#text/text.ts'
import { forceOption, writeAtomically } from '../files.ts'
import { canAsk, confirm } from '../prompt.ts'

const defaultFile = 'sandbox.svc.gz'

export const exportCommand = endpointCommand('sandbox.export', {
  details: 'The file is complete or not written at all.',
  arguments: [new Argument('[file]', 'file to write').default(defaultFile)],
  options: [forceOption()],
  examples: ['sandbox export', 'sandbox export monday.svc.gz --force'],
  async run(context, { args, options }) {
    const { system, out, signal } = context
    const file = resolve(system.cwd, args[0] ?? defaultFile)
    const bytes = context.client().sandbox.export({}, { signal })
    const how = { overwrite: options.overwrite === true, mode: ownerOnly.file }
    await out.bytes('GET /_sandbox/export: writing the file', null, (done) =>
      writeAtomically(context, file, counted(bytes, done), how),
    )
    const size_bytes = statSync(file).size
    out.data({ file, size_bytes }, () => [`Wrote ${file}, ${sizeText(size_bytes)}.`])
    return 0
  },
})

export const importCommand = endpointCommand('sandbox.import', {
  details: 'Before importing into a store shared by several nodes, it asks; if it cannot ask, it requires --yes.',
  arguments: [new Argument('<file>', 'file written by svc sandbox export')],
  options: [new Option('-y, --yes', 'do not ask')],
  examples: ['sandbox import sandbox.svc.gz', 'sandbox import sandbox.svc.gz -o json'],
  async run(context, { args, options }) {
    const file = resolve(context.system.cwd, args[0]!)
    let body: Blob
    try {
      body = await openAsBlob(file)
    } catch (error) {
      throw unreadable(file, error as Error, 'Name a file written by svc sandbox export.')
    }
    if (options.yes !== true) await confirmImport(context, args[0]!)
    const data = await context.out.bytes('POST /_sandbox/import', body.size, (done) => {
      const read = body.stream.bind(body)
      // Read by the transport as it sends it; then the sandbox verifies it.
      body.stream = () => read().pipeThrough(counter(done))
      return context
        .client()
        .sandbox.import({ body }, { signal: context.signal })
        .catch((error: unknown) => {
          throw error instanceof InterruptError ? cancelledImport(error) : error
        })
    })
    const { projects, evidence_entries } = data
    context.out.data(data, () => [
      `Restored ${basename(file)}: ${projects} projects, ${evidence_entries} evidence entries verified.`,
    ])
    return 0
  },
})

/** Asks before the state of others is replaced. Throws CliError unless the answer is yes, or if nobody can be asked. */
async function confirmImport(context: CommandContext, file: string): Promise<void> {
  const { data } = await callEndpoint(context, 'sandbox.info', {})
  if (data.nodes === null) return
  const question = `Replace the state of ${data.database} (${data.url}) for everyone who uses it?`
  if (canAsk(context) && (await confirm(context, question))) return
  const message = `Nothing was imported: ${data.database} is shared.`
  throw new CliError('usage', 'not_confirmed', message, `To replace its state: svc sandbox import ${file} --yes`)
}

/** The sandbox replaces its state in one step, which nobody can say that it had begun. */
function cancelledImport({ message }: InterruptError): CliError {
  const state = 'The sandbox keeps its state as it was, unless all of the file had just replaced it.'
  return new CliError('interrupted', 'interrupted', `${message} ${state}`, 'See which: svc beacons list')
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
