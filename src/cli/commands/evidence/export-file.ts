/**
 * The file of an evidence export: JSON lines. For each project its entries from the first one, then a checkpoint that is
 * signed over their number and the hash of the last one; at the end a signed manifest of all chains (A77).
 *
 * Each byte follows from the manifest: the hashes fix the entries, the entries fix what stands beside them, checkpoints
 * have the time and key of the manifest, and a line has exactly one spelling. So a file is read up to its first wrong line.
 * The signatures prove who exported only when the expected key is given.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { z } from 'zod'
import { unreadable } from '#cli/run/file-errors.ts'
import {
  Checkpoint,
  checkpointText,
  EvidenceEntry,
  EvidenceManifest,
  type EvidenceVerification,
  manifestText,
  readEntry,
} from '#contract/resources/evidence.ts'
import { decodeText, EncodingError } from '#foundation/encoding.ts'
import { parseJson } from '#foundation/json.ts'
import { isSigned } from '#foundation/signatures.ts'
import { plainLine } from '#foundation/unsafe-text.ts'
import { CliError } from '#text/cli-error.ts'

const ExportLine = z.discriminatedUnion('line', [
  z.strictObject({ line: z.literal('entry'), client_id: z.string(), ...EvidenceEntry.shape }),
  z.strictObject({ line: z.literal('checkpoint'), ...Checkpoint.shape }),
  z.strictObject({ line: z.literal('manifest'), ...EvidenceManifest.shape }),
  // Ends the exports of the first format, which had no manifest.
  z.strictObject({ line: z.literal('end'), chains: z.int().min(0) }),
])
type ExportLine = z.infer<typeof ExportLine>
type Line<Name extends ExportLine['line']> = Extract<ExportLine, { line: Name }>

/**
 * Returns a line of an export in its only spelling, without its line break.
 * @throws CliError when what the service sent is none
 */
export function writeLine(line: Exclude<ExportLine, { line: 'end' }>): string {
  const { data, error } = ExportLine.safeParse(line)
  if (data !== undefined) return JSON.stringify(data)
  const field = error.issues[0]?.path.join('.') ?? ''
  const message = `The ${line.line} that the service sent is not as the contract says, at ${field}.`
  throw new CliError(
    'service',
    'contract_mismatch',
    message,
    'Is the base URL right, and is a service of this version there?',
  )
}

/** Returns a line of an export, or null when the text is not one, or is spelled differently. */
export function parseLine(text: string): ExportLine | null {
  const line = ExportLine.safeParse(parseJson(text)).data ?? null
  return line !== null && JSON.stringify(line) === text ? line : null
}

/** No line that svc writes is longer: a manifest of a hundred thousand projects. */
const maxLineBytes = 2 ** 24

/**
 * Yields the lines of a file as bytes, without their line breaks. A last line without a line break is yielded with
 * `isWhole: false`. Throws CliError when the file cannot be read.
 */
export async function* readLines(path: string): AsyncGenerator<{ bytes: Buffer; isWhole: boolean }> {
  let rest: Buffer[] = []
  let rest_bytes = 0
  try {
    const chunks: AsyncIterable<Buffer> = createReadStream(path)
    for await (const chunk of chunks) {
      let start = 0
      for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
        yield { bytes: Buffer.concat([...rest, chunk.subarray(start, end)]), isWhole: true }
        rest = []
        rest_bytes = 0
        start = end + 1
      }
      if (start < chunk.length) rest.push(chunk.subarray(start))
      rest_bytes += chunk.length - start
      if (rest_bytes > maxLineBytes) break
    }
  } catch (error) {
    if (!(error instanceof Error) || !('syscall' in error)) throw error
    throw unreadable(path, error)
  }
  if (rest.length > 0) yield { bytes: Buffer.concat(rest), isWhole: false }
}

type ExportVerification = EvidenceVerification & {
  /** The first wrong line, from 1; null when there is none. */
  line: number | null
  public_keys: string[]
}

type Chain = EvidenceVerification['chains'][number]

/** Checks an export line by line. */
interface ExportReader {
  /** Adds a line. Returns false when it is wrong: the lines after it are not checked. */
  add(bytes: Buffer, isWhole: boolean): boolean
  /** Returns the result, after the last line. */
  finish(): ExportVerification
}

/** Creates a reader of an export. `public_key` is the key that must have signed it; null accepts any. */
export function createExportReader(public_key: string | null): ExportReader {
  const read: ReadExport = { public_key, chains: [], checkpoints: [], manifest: null }
  let lines = 0
  let wrong_line: number | null = null
  return {
    add(bytes, isWhole) {
      if (wrong_line !== null) return false
      lines++
      const problem = findLineProblem(read, bytes, isWhole)
      if (problem !== null) fail(problem)
      return problem === null
    },
    finish() {
      if (wrong_line === null && read.manifest === null) {
        lines++
        fail(lines === 1 ? 'It is empty.' : 'The end is cut off: the manifest is missing.')
      }
      const { chains, checkpoints, manifest } = read
      const keys = new Set(checkpoints.map((checkpoint) => checkpoint.public_key))
      if (manifest !== null) keys.add(manifest.public_key)
      return { ok: wrong_line === null, line: wrong_line, chains, public_keys: [...keys] }
    },
  }

  function fail(problem: string): void {
    wrong_line = lines
    const chain = findOpenChain(read) ?? startChain(read, '-')
    Object.assign(chain, { broken_at: chain.entries + 1, problem: plainLine(`Line ${lines}: ${problem}`) })
  }
}

/** What the valid lines of an export have said. */
interface ReadExport {
  /** The key that must have signed it; null for any. */
  public_key: string | null
  chains: Chain[]
  checkpoints: Checkpoint[]
  manifest: EvidenceManifest | null
}

function findLineProblem(read: ReadExport, bytes: Buffer, isWhole: boolean): string | null {
  if (read.manifest !== null) return 'It is after the manifest, with which an export ends.'
  const line = spelledLine(bytes, isWhole)
  if (typeof line === 'string') return line
  if (line.line === 'entry') return addEntry(read, line)
  if (line.line === 'checkpoint') return addCheckpoint(read, line)
  if (line.line === 'manifest') return addManifest(read, line)
  return earlierFormat
}

/** Adds an entry to its chain, or returns its problem. */
function addEntry(read: ReadExport, line: Line<'entry'>): string | null {
  const chain = openChain(read, line.client_id)
  if (typeof chain === 'string') return chain
  const { problem } = readEntry(line, chain, sha256Hex)
  if (problem === null) Object.assign(chain, { entries: line.seq, head: line.hash })
  return problem
}

/** Ends a chain with its checkpoint, or returns the problem of it. */
function addCheckpoint(read: ReadExport, line: Line<'checkpoint'>): string | null {
  const chain = openChain(read, line.client_id)
  if (typeof chain === 'string') return chain
  const next = chain.entries + 1
  const problem = signatureProblem(read, 'checkpoint', checkpointText(line), line)
  if (problem !== null) return problem
  if (chain.entries < line.entries)
    return `Entry ${next} is missing: the checkpoint was signed over ${line.entries} entries.`
  if (chain.entries > line.entries || chain.head !== line.head)
    return 'The chain is not the one that the checkpoint was signed over.'
  const first = read.checkpoints[0] ?? line
  if (line.at_ms !== first.at_ms) return 'The checkpoint was signed at another time than the first one.'
  read.checkpoints.push(line)
  return null
}

/** Ends the export with its manifest, or returns the problem of it. */
function addManifest(read: ReadExport, line: Line<'manifest'>): string | null {
  const { chains, checkpoints } = read
  const open = findOpenChain(read)
  if (open !== null) return `The checkpoint of ${open.client_id} is missing before it.`
  const problem = signatureProblem(read, 'manifest', manifestText(line), line)
  if (problem !== null) return problem
  for (const [index, { client_id, entries, head }] of line.chains.entries()) {
    const chain = chains[index]
    if (chain?.client_id !== client_id)
      return `The manifest lists ${client_id} as chain ${index + 1}, the file has ${chain?.client_id ?? 'none'}.`
    if (chain.entries !== entries || chain.head !== head)
      return `The manifest lists another chain of ${client_id}, with ${entries} entries.`
  }
  const extra = chains[line.chains.length]
  if (extra !== undefined) return `The manifest does not list ${extra.client_id}, which the file has.`
  if (checkpoints.some(({ at_ms }) => at_ms !== line.at_ms))
    return 'The manifest was signed at another time than the checkpoints.'
  read.manifest = line
  return null
}

/** Returns the chain of a line, or why the line is not where it belongs. */
function openChain(read: ReadExport, client_id: string): Chain | string {
  const open = findOpenChain(read)
  if (open !== null && open.client_id !== client_id) return `The checkpoint of ${open.client_id} is missing before it.`
  if (open !== null) return open
  if (read.chains.some((chain) => chain.client_id === client_id)) return `The chain of ${client_id} has already ended.`
  return startChain(read, client_id)
}

/** Returns the chain whose checkpoint has not been read yet, or null. */
function findOpenChain({ chains, checkpoints }: ReadExport): Chain | null {
  return chains.length > checkpoints.length ? chains.at(-1)! : null
}

function startChain({ chains }: ReadExport, client_id: string): Chain {
  const chain: Chain = { client_id, entries: 0, head: null, broken_at: null, problem: null }
  chains.push(chain)
  return chain
}

function signatureProblem(
  { public_key, checkpoints }: ReadExport,
  name: string,
  text: string,
  signed: Pick<Checkpoint, 'public_key' | 'signature'>,
): string | null {
  const expected = public_key ?? checkpoints[0]?.public_key ?? signed.public_key
  if (signed.public_key !== expected) return `The ${name} was signed by another key: ${signed.public_key}.`
  return isSigned(text, signed) ? null : `The signature of the ${name} is not valid.`
}

const earlierFormat =
  'This is an export in the earlier format, which has no signed manifest. Export it again: svc evidence export FILE'

/** Returns the line, or what is wrong with its text. */
function spelledLine(bytes: Buffer, isWhole: boolean): ExportLine | string {
  if (bytes.length === 0) return 'It is blank.'
  const mark = /^(\xef\xbb\xbf|\xff\xfe|\xfe\xff)/.exec(bytes.toString('latin1', 0, 3))?.[0]
  if (mark !== undefined) {
    const what = mark.length === 3 ? 'It starts with a byte order mark.' : 'It is UTF-16.'
    return `${what} A program changed the file: export it again with its name, svc evidence export FILE`
  }
  const text = textOfLine(bytes)
  if (text instanceof EncodingError) return `${text.what}, at byte ${text.offset + 1} of the line.`
  if (text.endsWith('\r')) return 'It ends with CR LF: a program changed the line breaks. An export has LF.'
  const line = ExportLine.safeParse(parseJson(text)).data
  if (line === undefined) return 'It is not a line of an evidence export.'
  const canonical = JSON.stringify(line)
  if (canonical !== text) {
    const at = [...text].findIndex((character, index) => character !== [...canonical][index])
    return `It is spelled differently from column ${at === -1 ? canonical.length + 1 : at + 1} on: each field once and in order, no spaces, numbers as svc writes them.`
  }
  return isWhole ? line : 'It has no line break at its end: the file is cut off.'
}

function textOfLine(bytes: Buffer): string | EncodingError {
  try {
    return decodeText(bytes)
  } catch (error) {
    if (error instanceof EncodingError) return error
    throw error
  }
}

/** SHA-256 of UTF-8 text, hexadecimal. */
export function sha256Hex(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
