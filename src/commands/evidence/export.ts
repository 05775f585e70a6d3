/** `svc evidence export` and `tamper`: evidence as a file with signed checkpoints, and a copy of it that fails to verify. */

import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { Argument, Option } from 'commander'
import { callEndpoint, endpointCommand, namedProject, projectFilter } from '../../cli/endpoint/endpoint-command.ts'
import type { Command } from '../../cli/run/command.ts'
import { CliError, unreadable } from '../../cli/run/errors.ts'
import type { Session } from '../../cli/run/session.ts'
import { nextCursor } from '../../client/client.ts'
import type { CallInput } from '../../client/exchange.ts'
import { forceOption, writeAtomically } from '../files.ts'
import { countFromOne } from '../flag-values.ts'
import { parseEvidenceLine, tamperedLine } from './export-format.ts'

export const exportEvidence = endpointCommand('evidence.export', {
  details:
    'Writes JSON lines for every project, or for the one of --client-id: its entries, oldest first, then the checkpoint. The last line holds the number of projects. A file is complete or not written at all; an existing one is replaced only with --force.',
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
    out.note(`${count} lines in ${path}`)
    return 0
  },
})

export const tamperEvidence: Command = {
  name: 'tamper',
  summary: 'Copy an export with one entry changed, to see verify fail',
  details: 'A test aid. It reads an export and writes another file; the evidence of the sandbox does not change.',
  arguments: [
    new Argument('<export>', 'file that svc evidence export has written'),
    new Argument('<copy>', 'file to write'),
  ],
  options: [new Option('--seq <n>', 'position of the entry to change; default: the first').argParser(countFromOne)],
  examples: ['evidence tamper evidence.jsonl tampered.jsonl', 'evidence tamper evidence.jsonl tampered.jsonl --seq 1'],
  async run(session, { args, options }) {
    const [from, to] = args.map((path) => resolve(session.host.cwd, path as string)) as [string, string]
    if (from === to) throw new CliError('usage', 'argument_invalid', 'The copy must be another file than the export.')
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
    session.out.note(`entry ${seq} of ${changed} is changed in ${to}`)
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
export async function* linesOf(path: string): AsyncGenerator<string> {
  const input = createReadStream(path, 'utf8')
  try {
    yield* createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
  } catch (error) {
    if (!(error instanceof Error) || !('syscall' in error)) throw error
    throw unreadable(path, error)
  }
}
