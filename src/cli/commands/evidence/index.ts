/**
 * `svc evidence`: verifies and lists it; `export` writes it to a file with signed checkpoints, `tamper` a copy of that file
 * that fails to verify.
 */

import { resolve } from 'node:path'
import { Argument, InvalidArgumentError, Option } from 'commander'
import { callEndpoint, endpointCommand, namedProject, projectFilter } from '#cli/endpoint/endpoint-command.ts'
import { endpointOptions } from '#cli/endpoint/flags.ts'
import { countFromOne } from '#cli/endpoint/option-values.ts'
import { type Command, type CommandContext, type CommandInput, type Noun, textOption } from '#cli/run/command.ts'
import { readFailure } from '#cli/run/user-file.ts'
import type { CallInput } from '#client/exchange.ts'
import type { EvidenceVerification } from '#contract/resources/evidence.ts'
import { decodeText } from '#foundation/encoding.ts'
import { CliError, exitCodes, nothingChecked } from '#text/cli-error.ts'
import { type Column, paintDim, tableLines } from '#text/table.ts'
import type { Style } from '#text/terminal.ts'
import { plural } from '#text/text.ts'
import { version } from '#text/version.ts'
import { forceOption, writeAtomically } from '../files.ts'
import { type BundleVerification, verifyBundle } from './bundle-file.ts'
import { createExportReader, parseLine, readLines, writeLine } from './export-file.ts'

const exportEvidence = endpointCommand('evidence.export', {
  details:
    'Writes JSON lines for every project, or for the one of --client-id: its entries, oldest first, then the checkpoint. The last line is a signed manifest of the chains. A broken chain is not exported. A file is complete or not written at all; an existing one is replaced only with --force.',
  arguments: [new Argument('[file]', 'file to write; default: stdout')],
  options: [forceOption()],
  examples: ['evidence export', 'evidence export evidence.jsonl --force'],
  async run(context, { args, options }) {
    const { system, out } = context
    const [file] = args
    if (file === undefined) {
      for await (const line of exportedLines(context)) out.raw(line)
      return 0
    }
    const path = resolve(system.cwd, file)
    let count = 0
    const counted = async function* () {
      for await (const line of exportedLines(context)) {
        count++
        yield line
      }
    }
    await writeAtomically(context, path, counted(), { overwrite: options.overwrite === true })
    out.note(`Wrote ${path}, ${count} lines.`)
    return 0
  },
})

const tamperEvidence: Command = {
  name: 'tamper',
  isHidden: true,
  summary: 'Copy an export with one entry changed, to see verify fail',
  details: 'A test aid. It reads an export and writes another file; the evidence of the sandbox does not change.',
  arguments: [new Argument('<export>', 'file written by svc evidence export'), new Argument('<copy>', 'file to write')],
  options: [new Option('--seq <n>', 'position of the entry to change; default: the first').argParser(countFromOne)],
  examples: ['evidence tamper evidence.jsonl tampered.jsonl', 'evidence tamper evidence.jsonl tampered.jsonl --seq 1'],
  async run(context, { args, options: { seq = 1 } }: CommandInput<{ seq?: number }, readonly [string, string]>) {
    const from = resolve(context.system.cwd, args[0])
    const to = resolve(context.system.cwd, args[1])
    if (from === to)
      throw new CliError('usage', 'argument_invalid', 'The copy must be a different file from the export.')

    const client_id = namedProject(context)
    let changed: string | null = null
    const copied = async function* () {
      for await (const { bytes, isWhole } of readLines(from)) {
        const line = changed === null ? parseLine(bytes.toString('utf8')) : null
        if (line?.line === 'entry' && line.seq === seq && (client_id ?? line.client_id) === line.client_id) {
          changed = line.client_id
          const entry = line.entry.replace(/"at_ms":(\d+)/, (_, at_ms: string) => `"at_ms":${Number(at_ms) + 1}`)
          yield `${writeLine({ ...line, entry })}\n`
        } else {
          yield bytes
          if (isWhole) yield '\n'
        }
      }
      if (changed === null) throw new CliError('usage', 'entry_missing', `${from} has no entry ${seq} to change.`)
    }
    await writeAtomically(context, to, copied(), { overwrite: true })
    context.out.note(`Changed entry ${seq} of ${changed} in ${to}. To see it found: svc evidence verify ${args[1]}`)
    return 0
  },
}

/**
 * Yields the lines of an export, each with its line break, after the reader of exports has accepted it. Entries that are
 * appended in the meantime are left out.
 */
async function* exportedLines(context: CommandContext): AsyncGenerator<string> {
  const { client_id: only } = await projectFilter(context)
  const query = only === undefined ? {} : { client_id: only }
  const { checkpoints, manifest } = (await callEndpoint(context, 'evidence.manifest', { query })).data
  const reader = createExportReader(manifest.public_key)
  const checked = (line: Parameters<typeof writeLine>[0]) => {
    const text = writeLine(line)
    if (reader.add(Buffer.from(text), true)) return `${text}\n`
    const problem = reader.finish().chains.at(-1)?.problem
    const message = `The evidence changed while it was exported. ${problem}`
    throw new CliError('service', 'evidence_changed', message, 'Export it again. Nothing else may reset the sandbox.')
  }
  for (const checkpoint of checkpoints) {
    const { client_id, entries } = checkpoint
    for (let after_seq = 0; after_seq < entries; ) {
      const limit = Math.min(1000, entries - after_seq)
      const input: CallInput = { params: { client_id }, query: { after_seq, limit, checkpoint: 'false' } }
      const { data } = await callEndpoint(context, 'evidence.export', input)
      for (const entry of data.entries) yield checked({ line: 'entry', client_id, ...entry })
      if (data.entries.length === 0) break
      after_seq += data.entries.length
    }
    yield checked({ line: 'checkpoint', ...checkpoint })
  }
  yield checked({ line: 'manifest', ...manifest })
}

const chainColumns: readonly Column[] = [
  { name: 'project' },
  { name: 'chain', paint: (cell, style) => (cell === 'holds' ? style.green(cell) : style.red(cell)) },
  { name: 'entries' },
  { name: 'head', rank: 2, paint: paintDim },
  { name: 'problem', kind: 'prose' },
]

export const evidence: Noun = {
  summary: 'Check and export the evidence that billing is based on',
  commands: [
    endpointCommand('evidence.list', {
      empty: 'No evidence yet. Create a placement: svc placements create',
      examples: ['evidence list', 'evidence list --kind consent -o jsonl'],
      columns: [
        { name: 'when', field: 'at_ms', kind: 'time', paint: paintDim },
        { name: 'project', field: 'client_id', rank: 2 },
        { name: 'seq' },
        { name: 'kind' },
        { name: 'slot', field: 'slot_id', kind: 'id' },
        { name: 'hash', least: 12, paint: paintDim },
      ],
    }),
    exportEvidence,
    {
      ...endpointCommand('evidence.manifest', { examples: ['evidence manifest', 'evidence manifest -o json'] }),
      isHidden: true,
    },
    verify(),
    tamperEvidence,
  ],
}

/** Verifies the chains of the sandbox, or of an export without any service. */
function verify(): Command {
  const live = endpointCommand('evidence.verify', {
    details:
      'With an export it checks the file offline, up to its first wrong line: its entries as the sandbox does, its checkpoints, its manifest, and the spelling of each line. With a bundle it checks each part and the page around it. A broken chain or a changed part is exit code 5, and so is evidence without an entry.',
    examples: ['evidence verify', 'evidence verify --full', 'evidence verify evidence.jsonl -o json'],
    arguments: [
      new Argument('[file]', 'file written by svc evidence export or svc bundle create; default: the sandbox'),
    ],
    options: [
      ...endpointOptions('evidence.verify').query.values(),
      new Option('--public-key <key>', 'key that must have signed the export; default: any').argParser(publicKey),
    ],
    exitCode,
    tables: [chainColumns],
    rows: ({ chains }) => chains,
    text: (verification, style) => chainTable(verification, style),
  })
  return {
    ...live,
    async run(context, input) {
      const [file] = input.args
      if (file === undefined && input.options.publicKey !== undefined) {
        const hint = 'Name its file: svc evidence verify FILE --public-key KEY'
        throw new CliError('usage', 'argument_missing', '--public-key is for an export.', hint)
      }
      if (file === undefined) return live.run(context, input)
      const public_key = textOption(input.options, 'publicKey') ?? null
      const path = resolve(context.system.cwd, file)
      // A pipe is read once: what follows the first line comes from the same stream.
      const lines = readLines(path)
      const first = await lines.next()
      if (isPage(first.value?.bytes)) {
        const page = await readPage(path, first.value, lines)
        return printBundle(context, verifyBundle(page, { file, public_key, svc_version: version }))
      }
      const reader = createExportReader(public_key)
      for (let { value } = first; value; { value } = await lines.next())
        if (!reader.add(value.bytes, value.isWhole)) break
      await lines.return(undefined)
      const verification = reader.finish()
      const text = (style: Style) => [
        ...chainTable(verification, style),
        ...verification.public_keys.map((key) => style.dim(`signed by ${key}`)),
      ]
      context.out.data(verification, text, verification.chains)
      return exitCode(verification)
    },
  }
}

/** Whether a bundle begins with these bytes. */
function isPage(bytes = Buffer.alloc(0)): boolean {
  const start = bytes.toString('latin1', 0, 22)
  return start.slice(0, 15).toLowerCase() === '<!doctype html>' || start === '{"kind":"svc_bundle","'
}

type Line = { bytes: Buffer; isWhole: boolean }

/** Resolves to the text of a bundle. Throws CliError. */
async function readPage(path: string, first: Line, rest: AsyncIterable<Line>): Promise<string> {
  const parts: Buffer[] = []
  const add = ({ bytes, isWhole }: Line) => parts.push(bytes, Buffer.from(isWhole ? '\n' : ''))
  add(first)
  for await (const line of rest) add(line)
  try {
    return decodeText(Buffer.concat(parts))
  } catch (error) {
    throw readFailure(error, path)
  }
}

function printBundle({ out }: CommandContext, verification: BundleVerification): number {
  const { ok, chains, public_keys, alterations, not_compared } = verification
  const entries = chains[0]?.entries ?? 0
  const text = (style: Style) => [
    ok
      ? style.green(`The bundle is as it was signed, with ${plural(entries, 'evidence entry', 'evidence entries')}.`)
      : style.red('The bundle was changed since it was signed:'),
    ...alterations.map((alteration) => `  ${alteration}`),
    ...(not_compared === null ? [] : [`Not compared: ${not_compared}.`]),
    ...public_keys.map((key) => style.dim(`signed by ${key}`)),
  ]
  out.data(verification, text, chains)
  return (ok ? exitCodes.ok : exitCodes.expectation).exit_code
}

/** Reads a public key as an export has it: the 32 bytes of Ed25519 in base64url. */
function publicKey(text: string): string {
  if (/^[\w-]{43}$/.test(text)) return text
  throw new InvalidArgumentError('It must be 43 characters, as public_key of an export.')
}

/** @throws CliError when there is no entry to verify */
function exitCode({ ok, chains }: EvidenceVerification): number {
  if (ok && chains.every(({ entries }) => entries === 0)) {
    const message = `No evidence was verified: ${plural(chains.length, 'chain')} with 0 entries.`
    throw nothingChecked(message, 'Create a placement first: svc placements create')
  }
  return ok ? exitCodes.ok.exit_code : exitCodes.expectation.exit_code
}

function chainTable({ chains }: EvidenceVerification, style: Style): string[] {
  const rows = chains.map(({ client_id, entries, head, broken_at, problem }) => ({
    project: client_id,
    chain: broken_at === null ? 'holds' : `broken at ${broken_at}`,
    entries,
    head: head?.slice(0, 16),
    problem,
  }))
  const before = chains.flatMap(({ client_id, verified_before = 0 }) =>
    verified_before === 0
      ? []
      : [
          `${client_id}: ${plural(verified_before, 'entry', 'entries')} verified before. --full reads all of them again.`,
        ],
  )
  return [...tableLines(chainColumns, rows, style), ...before.map((line) => style.dim(line))]
}
