/**
 * `svc evidence`: verifies and lists it; `export` writes it to a file with signed checkpoints, `tamper` a copy of that file
 * that fails to verify.
 */
import { createHash, createPublicKey, verify as verifySignature } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { Argument, Option } from 'commander'
import { z } from 'zod'
import { callEndpoint, endpointCommand, namedProject, projectFilter } from '../cli/endpoint/endpoint-command.ts'
import { countFromOne } from '../cli/endpoint/input.ts'
import { type Column, paintDim, tableLines } from '../cli/output/table.ts'
import type { Style } from '../cli/output/terminal.ts'
import { plural } from '../cli/output/text.ts'
import type { Command, Noun, Session } from '../cli/run/command.ts'
import { CliError, exitCodes, nothingChecked, unreadable } from '../cli/run/errors.ts'
import { nextCursor } from '../client/client.ts'
import type { CallInput } from '../client/exchange.ts'
import {
  Checkpoint,
  checkpointText,
  EvidenceEntry,
  type EvidenceVerification,
  genesis,
  linkProblem,
  type Sha256Hex,
} from '../contract/resources/evidence.ts'
import { parseJson } from '../foundation/json.ts'
import { forceOption, writeAtomically } from './files.ts'

const exportEvidence = endpointCommand('evidence.export', {
  details:
    'Writes JSON lines for every project, or for the one of --client-id: its entries, oldest first, then the checkpoint. The last line contains the number of projects. A file is complete or not written at all; an existing one is replaced only with --force.',
  arguments: [],
  options: [new Option('--file <file>', 'write to this file; default: stdout'), forceOption()],
  examples: ['evidence export', 'evidence export --file evidence.jsonl --force'],
  async run(session, { options }) {
    const { host, out } = session
    if (options.file === undefined) {
      for await (const line of exportedLines(session)) out.raw(line)
      return 0
    }
    const path = resolve(host.cwd, options.file as string)
    let count = 0
    const counted = async function* () {
      for await (const line of exportedLines(session)) {
        count++
        yield line
      }
    }
    await writeAtomically(session, path, counted(), { overwrite: options.overwrite === true })
    out.note(`Wrote ${path}, ${count} lines.`)
    return 0
  },
})

const tamperEvidence: Command = {
  name: 'tamper',
  summary: 'Copy an export with one entry changed, to see verify fail',
  details: 'A test aid. It reads an export and writes another file; the evidence of the sandbox does not change.',
  arguments: [new Argument('<export>', 'file written by svc evidence export'), new Argument('<copy>', 'file to write')],
  options: [new Option('--seq <n>', 'position of the entry to change; default: the first').argParser(countFromOne)],
  examples: ['evidence tamper evidence.jsonl tampered.jsonl', 'evidence tamper evidence.jsonl tampered.jsonl --seq 1'],
  async run(session, { args, options }) {
    const [from, to] = args.map((path) => resolve(session.host.cwd, path as string)) as [string, string]
    if (from === to)
      throw new CliError('usage', 'argument_invalid', 'The copy must be a different file from the export.')
    const seq = (options.seq as number | undefined) ?? 1
    const client_id = namedProject(session)
    let changed: string | null = null
    const copied = async function* () {
      for await (const text of linesOf(from)) {
        const line = changed === null ? parseEvidenceLine(text) : null
        if (line?.line === 'entry' && line.seq === seq && (client_id ?? line.client_id) === line.client_id) {
          changed = line.client_id
          yield `${tamperedLine(line)}\n`
        } else yield `${text}\n`
      }
      if (changed === null) throw new CliError('usage', 'entry_missing', `${from} has no entry ${seq} to change.`)
    }
    await writeAtomically(session, to, copied(), { overwrite: true })
    session.out.note(`Changed entry ${seq} of ${changed} in ${to}. To see it found: svc evidence verify ${args[1]}`)
    return 0
  },
}

/** Yields the lines of an export, each with its line break. */
async function* exportedLines(session: Session): AsyncGenerator<string> {
  const projects = await projectsOf(session)
  for (const client_id of projects) {
    for (let after_seq: number | null = 0; after_seq !== null; ) {
      const input: CallInput = { params: { client_id }, query: { after_seq } }
      const { data } = await callEndpoint(session, 'evidence.export', input)
      for (const entry of data.entries) yield lineOf({ line: 'entry', client_id, ...entry })
      if (data.checkpoint !== null) yield lineOf({ line: 'checkpoint', ...data.checkpoint })
      after_seq = data.next_seq
    }
  }
  yield lineOf({ line: 'end', chains: projects.length })
}

function lineOf(value: object): string {
  return `${JSON.stringify(value)}\n`
}

async function projectsOf(session: Session): Promise<string[]> {
  const { client_id } = await projectFilter(session)
  if (client_id !== undefined) return [client_id]
  const found: string[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query: object = { limit: 1000, ...(cursor === undefined ? {} : { cursor }) }
    const { data } = await callEndpoint(session, 'projects.list', { query })
    found.push(...data.items.map((item) => item.client_id))
    cursor = nextCursor(data, cursor)
  }
  return found.toReversed()
}

/** Yields the lines of a file. Throws CliError when it cannot be read. */
async function* linesOf(path: string): AsyncGenerator<string> {
  const input = createReadStream(path, 'utf8')
  try {
    yield* createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
  } catch (error) {
    if (!(error instanceof Error) || !('syscall' in error)) throw error
    throw unreadable(path, error)
  }
}

/**
 * A line of an export. An export is JSON lines: for each project its entries from the first one, then a checkpoint that
 * is signed over their number and the hash of the last one (A77). The last line contains the number of projects.
 *
 * A changed entry breaks the chain at that entry. A chain with new hashes, or without its end, has no valid checkpoint. The
 * signature proves who exported only when the expected key is given.
 */
const EvidenceLine = z.discriminatedUnion('line', [
  z.strictObject({ line: z.literal('entry'), client_id: z.string(), ...EvidenceEntry.shape }),
  z.strictObject({ line: z.literal('checkpoint'), ...Checkpoint.shape }),
  z.strictObject({ line: z.literal('end'), chains: z.int().min(0) }),
])
type EvidenceLine = z.infer<typeof EvidenceLine>

/** Returns one line of an export, or null when the text is not one. */
function parseEvidenceLine(text: string): EvidenceLine | null {
  return EvidenceLine.safeParse(parseJson(text)).data ?? null
}

interface EvidenceChecks {
  sha256Hex: Sha256Hex
  /** Whether an Ed25519 signature over a text holds; key and signature are base64url. */
  isSigned(text: string, signature: string, public_key: string): boolean
}

type Chain = EvidenceVerification['chains'][number]

interface EvidenceReader {
  add(text: string): void
  /** Returns the result, after every line has been added. */
  finish(): EvidenceVerification & { public_keys: string[] }
}

/** Checks an export line by line. `public_key` is the key that must have signed it; null accepts any. */
function createEvidenceReader({ sha256Hex, isSigned }: EvidenceChecks, public_key: string | null): EvidenceReader {
  const chains = new Map<string, Chain>()
  const signed = new Set<string>()
  const keys = new Set<string>()
  let current: Chain | null = null
  let lines = 0
  /** The number of chains in the last line; null before it. */
  let expected_chains: number | null = null

  const chainOf = (client_id: string): Chain => {
    const known = chains.get(client_id)
    if (known !== undefined) return known
    const chain = { client_id, entries: 0, head: null, broken_at: null, problem: null }
    chains.set(client_id, chain)
    return chain
  }
  /** Records a problem of a chain. Only the first one is reported. */
  const fail = (chain: Chain, broken_at: number, problem: string) => {
    if (chain.broken_at === null) Object.assign(chain, { broken_at, problem })
  }

  const addEntry = (chain: Chain, line: EvidenceLine & { line: 'entry' }) => {
    if (chain.broken_at !== null) return
    const expected = chain.entries + 1
    if (signed.has(chain.client_id)) return fail(chain, expected, `Entry ${line.seq} is after the checkpoint.`)
    const problem = linkProblem(line, expected, chain.head ?? genesis, sha256Hex)
    if (problem !== null) return fail(chain, expected, problem)
    chain.entries = expected
    chain.head = line.hash
  }

  const addCheckpoint = (chain: Chain, line: EvidenceLine & { line: 'checkpoint' }) => {
    signed.add(chain.client_id)
    keys.add(line.public_key)
    const next = chain.entries + 1
    if (public_key !== null && line.public_key !== public_key) {
      fail(chain, next, `The checkpoint was signed by another key: ${line.public_key}.`)
    }
    if (!isSigned(checkpointText(line), line.signature, line.public_key)) {
      fail(chain, next, 'The signature of the checkpoint is not valid.')
    }
    if (chain.entries < line.entries) {
      fail(chain, next, `Entry ${next} is missing: the checkpoint was signed over ${line.entries} entries.`)
    }
    if (chain.entries > line.entries || chain.head !== line.head) {
      fail(chain, Math.max(1, chain.entries), 'The chain is not the one that the checkpoint was signed over.')
    }
  }

  return {
    add(text) {
      lines++
      if (text.trim() === '') return
      const line = parseEvidenceLine(text)
      if (line === null) {
        const chain = current ?? chainOf('-')
        fail(chain, chain.entries + 1, `Line ${lines} is not a line of an evidence export.`)
        return
      }
      if (expected_chains !== null)
        fail(current ?? chainOf('-'), (current?.entries ?? 0) + 1, `Line ${lines} is after the end.`)
      if (line.line === 'end') {
        expected_chains = line.chains
        return
      }
      current = chainOf(line.client_id)
      if (line.line === 'entry') addEntry(current, line)
      else addCheckpoint(current, line)
    },
    finish() {
      if (chains.size === 0 && expected_chains !== 0) fail(chainOf('-'), 1, 'It is empty.')
      for (const chain of chains.values()) {
        if (!signed.has(chain.client_id))
          fail(chain, chain.entries + 1, 'The end is cut off: the checkpoint is missing.')
      }
      const present = chains.size
      if (current !== null && expected_chains === null)
        fail(current, current.entries + 1, 'The end is cut off: the last line is missing.')
      if (expected_chains !== null && expected_chains !== present)
        fail(chainOf('-'), 1, `${expected_chains} chains were exported, ${present} are there.`)
      const all = [...chains.values()]
      const ok = all.length > 0 && all.every(({ broken_at }) => broken_at === null)
      return { ok, chains: all, public_keys: [...keys] }
    },
  }
}

/** Returns a line with a changed entry and the old hash. */
function tamperedLine(line: EvidenceLine & { line: 'entry' }): string {
  const entry = line.entry.replace(/"at_ms":(\d+)/, (_, at_ms: string) => `"at_ms":${Number(at_ms) + 1}`)
  return JSON.stringify({ ...line, entry })
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
    verify(),
    tamperEvidence,
  ],
}

/** Verifies the chains of the sandbox, or of an export without any service. */
function verify(): Command {
  const live = endpointCommand('evidence.verify', {
    details:
      'With an export it checks the file offline: its hashes, its checkpoints, and that its end was not cut off. A broken chain is exit code 5, and so is evidence without an entry.',
    examples: ['evidence verify', 'evidence verify evidence.jsonl -o json'],
    arguments: [new Argument('[export]', 'file written by svc evidence export; default: the sandbox')],
    options: [new Option('--public-key <key>', 'key that must have signed the export; default: any')],
    exitCode,
    tables: [chainColumns],
    text: (verification, _, style) => chainTable(verification, style),
  })
  return {
    ...live,
    async run(session, input) {
      const [file] = input.args
      if (file === undefined && input.options.publicKey !== undefined) {
        const hint = 'Name its file: svc evidence verify FILE --public-key KEY'
        throw new CliError('usage', 'argument_missing', '--public-key is for an export.', hint)
      }
      if (file === undefined) return live.run(session, input)
      const public_key = (input.options.publicKey as string | undefined) ?? null
      const reader = createEvidenceReader({ sha256Hex, isSigned }, public_key)
      for await (const text of linesOf(resolve(session.host.cwd, file))) reader.add(text)
      const verification = reader.finish()
      session.out.data(verification, (style) => [
        ...chainTable(verification, style),
        ...verification.public_keys.map((key) => style.dim(`signed by ${key}`)),
      ])
      return exitCode(verification)
    },
  }
}

function sha256Hex(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function isSigned(text: string, signature: string, public_key: string): boolean {
  try {
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: public_key }, format: 'jwk' })
    return verifySignature(null, Buffer.from(text), key, Buffer.from(signature, 'base64url'))
  } catch {
    return false
  }
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
  return tableLines(chainColumns, rows, style)
}
