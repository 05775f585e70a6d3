/**
 * `svc sandbox`: resets its state, exports it to a file, imports it, saves it as snapshots, and migrates it. The other
 * verbs are in the files next to this one.
 */

import { openAsBlob, statSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { Argument, Option } from 'commander'
import { callEndpoint, endpointCommand } from '#cli/endpoint/endpoint-command.ts'
import { type Column, tableLines } from '#cli/output/table.ts'
import { alignPairs, sizeText } from '#cli/output/text.ts'
import type { Command, CommandContext, CommandGroup, Noun } from '#cli/run/command.ts'
import { CliError, exitCodes } from '#cli/run/errors.ts'
import { unreadable } from '#cli/run/file-errors.ts'
import { startEnvironment, startFlags } from '#cli/settings/start-options.ts'
import { ownerOnly } from '#foundation/permissions.ts'
import { forceOption, writeAtomically } from '../files.ts'
import { canAsk, confirm } from '../prompt.ts'
import { logs } from '../requests/tail.ts'
import { clock, faults, scenario } from './conditions.ts'
import { asEarlierName } from './earlier-name.ts'
import { ps, stop } from './running.ts'
import { categories, start } from './start.ts'
import { integrityPairs, status } from './status.ts'

const reset = endpointCommand('sandbox.reset', {
  details:
    'On a terminal it asks first if the database is a file. Without a terminal, or with --no-input, it does not ask, because scripts reset between tests.',
  options: [new Option('-y, --yes', 'do not ask')],
  examples: ['sandbox reset --yes', 'sandbox reset -o none'],
  input: async (session, { options }) => {
    if (options.yes !== true && canAsk(session)) await confirmReset(session)
    return { body: {} }
  },
  text: () => ['Reset to the seed.'],
})

/** Asks before a file is reset. Throws CliError unless the answer is yes. */
async function confirmReset(session: CommandContext): Promise<void> {
  const { data } = await callEndpoint(session, 'sandbox.info', {})
  if (data.database === ':memory:') return
  if (await confirm(session, `Delete everything recorded in ${data.database} (${data.url})?`)) return
  throw new CliError('usage', 'not_confirmed', 'Nothing was reset.', 'To skip the question: svc sandbox reset --yes')
}

const migrate: Command = {
  name: 'migrate',
  summary: 'Create or migrate the schema of a shared PostgreSQL database',
  details:
    'svc start migrates automatically, under a lock: when several nodes start at once, one of them migrates. Use this command when nodes are not allowed to change the schema, or to test the migration beforehand. A schema from a newer version is refused with exit code 2, and nothing is changed. Database files are backed up and migrated when they are opened.',
  options: [
    startFlags().get('store')!,
    new Option('--namespace <name>', 'namespace to migrate; default: the shared one'),
  ],
  examples: [
    'sandbox migrate --store postgres://svc@db.internal:5432/svc',
    'sandbox migrate --namespace pr-42 -o json',
  ],
  async run({ host, out }, { options }) {
    const store = (options.store as string | undefined) ?? startEnvironment(host.env, new Set(['store'])).store
    if (store === undefined) {
      throw new CliError(
        'usage',
        'option_missing',
        'No database is named.',
        'Give --store postgres://..., or set SVC_STORE.',
      )
    }
    const { migrateStore, SandboxError } = await import('#sandbox/index.ts')
    try {
      const migrated = await migrateStore(store, (options.namespace as string | undefined) ?? null)
      const { from_version, to_version } = migrated
      const what =
        from_version === to_version ? 'up to date' : from_version === 0 ? 'created' : `migrated from ${from_version}`
      out.item(migrated, (style) =>
        alignPairs(
          [
            ['database', migrated.database],
            ['schema', migrated.schema],
            ['version', `${to_version}, ${what}`],
          ],
          style,
        ),
      )
      return 0
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error
      throw new CliError(categories[error.code], error.code, error.message, error.hint)
    }
  },
}

const defaultFile = 'sandbox.svc.gz'

const exportCommand = endpointCommand('sandbox.export', {
  details: 'The file is complete or not written at all.',
  arguments: [new Argument('[file]', 'file to write').default(defaultFile)],
  options: [forceOption()],
  examples: ['sandbox export', 'sandbox export monday.svc.gz --force'],
  async run(session, { args, options }) {
    const { host, out, signal } = session
    const file = resolve(host.cwd, args[0] ?? defaultFile)
    const bytes = session.client().sandbox.export({}, { signal })
    const how = { overwrite: options.overwrite === true, mode: ownerOnly.file }
    await out.bytes('GET /_sandbox/export: writing the file', null, (done) =>
      writeAtomically(session, file, counted(bytes, done), how),
    )
    const size_bytes = statSync(file).size
    out.data({ file, size_bytes }, () => [`Wrote ${file}, ${sizeText(size_bytes)}.`])
    return 0
  },
})

const importCommand = endpointCommand('sandbox.import', {
  details: 'Before importing into a store shared by several nodes, it asks; if it cannot ask, it requires --yes.',
  arguments: [new Argument('<file>', 'file written by svc sandbox export')],
  options: [new Option('-y, --yes', 'do not ask')],
  examples: ['sandbox import sandbox.svc.gz', 'sandbox import sandbox.svc.gz -o json'],
  async run(session, { args, options }) {
    const file = resolve(session.host.cwd, args[0]!)
    let body: Blob
    try {
      body = await openAsBlob(file)
    } catch (error) {
      throw unreadable(file, error as Error, 'Name a file written by svc sandbox export.')
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

/** Asks before the state of others is replaced. Throws CliError unless the answer is yes, or if nobody can be asked. */
async function confirmImport(session: CommandContext, file: string): Promise<void> {
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

const snapshot: CommandGroup = {
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
        if (items.length === 0) out.note('No snapshots yet. Save one: svc sandbox snapshot save NAME')
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

export const sandbox: Noun = {
  summary: 'Start, stop and manage the emulator',
  commands: [
    start,
    stop,
    status,
    ps,
    logs,
    asEarlierName(
      'sandbox status',
      endpointCommand('sandbox.info', { examples: ['sandbox info', 'sandbox info -o json'] }),
    ),
    asEarlierName(
      'sandbox status --check',
      endpointCommand('sandbox.integrity', {
        details: 'Ends with exit code 5 when a check fails.',
        examples: ['sandbox integrity', 'sandbox integrity -o json'],
        text: (integrity, _meta, style) => alignPairs(integrityPairs(integrity, style), style),
        exitCode: ({ ok }) => (ok ? exitCodes.ok.exit_code : exitCodes.expectation.exit_code),
      }),
    ),
    reset,
    snapshot,
    exportCommand,
    importCommand,
    migrate,
    clock,
    faults,
    scenario,
  ],
}
