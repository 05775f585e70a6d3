/** Evidence as a file: exported with signed checkpoints, verified offline, and tampered with to see that fail. */
import { createHash, createPublicKey, verify as verifyWith } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { Argument, InvalidArgumentError, Option } from 'commander'
import { callEndpoint } from '../../cli/endpoint/endpoint-command.ts'
import type { Command } from '../../cli/run/command.ts'
import { CliError } from '../../cli/run/errors.ts'
import type { Session } from '../../cli/run/session.ts'
import type { EvidenceExport } from '../../contract/control/evidence.ts'
import { contract } from '../../contract/index.ts'
import { createEvidenceReader, type EvidenceLine, parseEvidenceLine, tamperedLine } from './export-format.ts'

export const exportEvidence: Command = {
  name: 'export',
  summary: contract['evidence.export'].summary,
  details:
    'JSON lines, of every project unless --client-id names one: its entries, oldest first, then the checkpoint; the last line tells how many projects there are. A file is written aside and then renamed.',
  options: [new Option('--file <file>', 'write to this file; default: stdout')],
  examples: ['evidence export', 'evidence export --file evidence.jsonl'],
  async run(session, { options }) {
    if (options.file === undefined) {
      for await (const lines of exportedLines(session)) session.out.raw(lines)
      return 0
    }
    const path = resolve(session.host.cwd, options.file as string)
    const count = await writeAside(path, exportedLines(session))
    session.out.note(`${count} lines in ${path}`)
    return 0
  },
}

export const tamperEvidence: Command = {
  name: 'tamper',
  summary: 'Copy an export with one entry changed, to see verify fail',
  details: 'A test aid. It reads an export and writes another file; the chain of the sandbox is never touched.',
  arguments: [
    new Argument('<export>', 'file that svc evidence export has written'),
    new Argument('<copy>', 'file to write'),
  ],
  options: [new Option('--seq <n>', 'position of the entry to change; default: the first').argParser(position)],
  examples: ['evidence tamper evidence.jsonl tampered.jsonl', 'evidence tamper evidence.jsonl tampered.jsonl --seq 1'],
  async run({ host, out, settings }, { args, options }) {
    const [from, to] = args.map((path) => resolve(host.cwd, path as string)) as [string, string]
    if (from === to) throw new CliError('usage', 'argument_invalid', 'The copy must be another file than the export.')
    const seq = (options.seq as number | undefined) ?? 1
    const client_id = settings.source.client_id === 'flag' ? settings.client_id : null
    let changed: string | null = null
    const lines = (async function* () {
      for await (const text of linesOf(from)) {
        const line: EvidenceLine | null = changed === null ? parseEvidenceLine(text) : null
        if (line?.line === 'entry' && line.seq === seq && (client_id ?? line.client_id) === line.client_id) {
          changed = line.client_id
          yield `${tamperedLine(line)}\n`
        } else yield `${text}\n`
      }
      if (changed === null) throw new CliError('usage', 'entry_missing', `${from} has no entry ${seq} to change.`)
    })()
    await writeAside(to, lines)
    out.note(`entry ${seq} of ${changed} is changed in ${to}`)
    return 0
  },
}

/** Verifies an export with nothing but itself. */
export async function verifyFile({ host }: Session, file: string, public_key: string | null) {
  const reader = createEvidenceReader({ sha256Hex, isSigned }, public_key)
  for await (const text of linesOf(resolve(host.cwd, file))) reader.add(text)
  return reader.finish()
}

/** The lines of an export, a piece at a time. */
async function* exportedLines(session: Session): AsyncGenerator<string> {
  const projects = await projectsOf(session)
  for (const client_id of projects) {
    for (let after_seq: number | null = 0; after_seq !== null; ) {
      const input = { params: { client_id }, query: { after_seq } }
      const { entries, checkpoint, next_seq } = (await callEndpoint(session, 'evidence.export', input))
        .data as EvidenceExport
      const lines = entries.map((entry) => JSON.stringify({ line: 'entry', client_id, ...entry }))
      if (checkpoint !== null) lines.push(JSON.stringify({ line: 'checkpoint', ...checkpoint }))
      if (lines.length > 0) yield lines.map((line) => `${line}\n`).join('')
      after_seq = next_seq
    }
  }
  yield `${JSON.stringify({ line: 'end', chains: projects.length })}\n`
}

async function projectsOf(session: Session): Promise<string[]> {
  const { client_id, source } = session.settings
  if (source.client_id === 'flag' && client_id !== null) return [client_id]
  const found: string[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query: object = { limit: 1000, ...(cursor === undefined ? {} : { cursor }) }
    const { data } = await callEndpoint(session, 'projects.list', { query })
    const page = data as { items: { client_id: string }[]; next_cursor: string | null }
    found.push(...page.items.map((item) => item.client_id))
    cursor = page.next_cursor
  }
  return found.toReversed()
}

/** Writes a file beside `path` and renames it when it is whole. Answers its lines. */
async function writeAside(path: string, chunks: AsyncIterable<string>): Promise<number> {
  const aside = `${path}.part`
  let lines = 0
  let file: FileHandle | undefined
  try {
    file = await open(aside, 'w')
    for await (const chunk of chunks) {
      lines += chunk.split('\n').length - 1
      await file.write(chunk)
    }
    await file.close()
    await rename(aside, path)
    return lines
  } catch (error) {
    await file?.close().catch(() => undefined)
    await rm(aside, { force: true }).catch(() => undefined)
    if (error instanceof Error && 'syscall' in error && 'path' in error && error.path === aside) {
      throw new CliError('usage', 'file_unwritable', `${path} cannot be written: ${error.message}.`)
    }
    throw error
  }
}

async function* linesOf(path: string): AsyncGenerator<string> {
  const input = createReadStream(path, 'utf8')
  try {
    yield* createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
  } catch (error) {
    if (!(error instanceof Error) || !('syscall' in error)) throw error
    throw new CliError('usage', 'file_unreadable', `${path} cannot be read: ${error.message}.`)
  }
}

function sha256Hex(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function isSigned(text: string, signature: string, public_key: string): boolean {
  try {
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: public_key }, format: 'jwk' })
    return verifyWith(null, Buffer.from(text), key, Buffer.from(signature, 'base64url'))
  } catch {
    return false
  }
}

function position(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a whole number from 1 on.')
}
