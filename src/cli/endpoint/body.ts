/** The body of a request from the command line: defaults, then `--data`, then flags, then `--set`. */
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Option } from 'commander'
import { z } from 'zod'
import type { Endpoint } from '../../contract/endpoint.ts'
import { CliError } from '../run/cli-error.ts'
import type { Host } from '../run/host.ts'
import { assign, type Body, write } from './assign.ts'

/** `--set` and `--data`, for every command that sends a body. */
export function bodyOptions(): Option[] {
  return [
    new Option('--set <path=value>', 'set any member of the body, dotted: overrides.bidfloor=2 (repeatable)').argParser(
      (value, before: string[] | undefined) => [...(before ?? []), value],
    ),
    new Option('--data <json>', 'the body: JSON, @file, or - for stdin; flags and --set win over it'),
  ]
}

export interface BodyParts {
  defaults: Body
  /** By dotted path: `slot_hint.max_width`. */
  flags: Readonly<Record<string, unknown>>
  data: string | undefined
  set: readonly string[]
}

/** Puts a body together. Only --data may make it something else than an object. */
export async function buildBody(host: Host, endpoint: Endpoint, parts: BodyParts): Promise<unknown> {
  const data = parts.data === undefined ? {} : parseData(await readData(host, parts.data))
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    if (Object.keys(parts.flags).length === 0 && parts.set.length === 0) return data
    throw new CliError('usage', 'data_not_object', '--data is not a JSON object, so flags and --set cannot go into it.')
  }
  const names = parts.set.map((assignment) => [assignment.split(/[.=]/)[0], null])
  const schema = endpoint.branch?.({ ...data, ...Object.fromEntries(names) }) ?? endpoint.body
  const body: Body = { ...known(parts.defaults, schema), ...data }
  for (const [path, value] of Object.entries(parts.flags)) write(body, path.split('.'), value)
  for (const assignment of parts.set) assign(body, assignment, schema)
  return body
}

/** The defaults that this shape of the body has a member for. */
function known(defaults: Body, schema: z.ZodType | undefined): Body {
  return Object.fromEntries(
    Object.entries(defaults).filter(([name]) => schema instanceof z.ZodObject && name in schema.shape),
  )
}

async function readData(host: Host, source: string): Promise<string> {
  if (source === '-') {
    const chunks: Uint8Array[] = []
    for await (const chunk of host.stdin) chunks.push(chunk)
    return Buffer.concat(chunks).toString('utf8')
  }
  if (!source.startsWith('@')) return source
  const path = resolve(host.cwd, source.slice(1))
  return readFile(path, 'utf8').catch((error: Error) => {
    throw new CliError('usage', 'file_unreadable', `--data: ${path} cannot be read: ${error.message}.`)
  })
}

function parseData(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new CliError(
      'usage',
      'data_malformed',
      `--data is not JSON: ${(error as Error).message}.`,
      'For example: --data \'{"job_type":"chat"}\' or --data @body.json',
    )
  }
}
