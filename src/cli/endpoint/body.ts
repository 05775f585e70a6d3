/** The body of a request from the command line: defaults, then `--data`, then flags, then `--set`. */
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Option } from 'commander'
import { z } from 'zod'
import type { Endpoint } from '../../contract/endpoint.ts'
import { explainIssues } from '../../contract/field-errors.ts'
import { isObject, parseJson } from '../../foundation/json.ts'
import { setValue } from '../../foundation/json-path.ts'
import { CliError } from '../run/errors.ts'
import { type Host, readStdin } from '../run/host.ts'
import { settingsTable } from '../settings/table.ts'
import { kindOf, unwrap } from './flags.ts'

export type Body = Record<string, unknown>

export interface BodyParts {
  defaults: Body
  /** By dotted path: `slot_hint.max_width`. */
  flags: Readonly<Record<string, unknown>>
  data: string | undefined
  set: readonly string[]
}

/** Returns `--set` and `--data`, for every command that sends a body. */
export function bodyOptions(): Option[] {
  return [
    new Option('--set <path=value>', 'set any field of the body, dotted: overrides.bidfloor=2 (repeatable)').argParser(
      (value, before: string[] | undefined) => [...(before ?? []), value],
    ),
    new Option('--data <json>', 'the body: JSON, @file, or - for stdin; flags and --set win over it'),
  ]
}

/** Returns the body of a request. Only `--data` can make it something other than an object. Throws CliError. */
export async function buildBody(host: Host, endpoint: Endpoint, parts: BodyParts): Promise<unknown> {
  const data = parts.data === undefined ? {} : parseData(await readData(host, parts.data))
  if (!isObject(data)) {
    if (Object.keys(parts.flags).length === 0 && parts.set.length === 0) return data
    throw new CliError('usage', 'data_not_object', '--data is not a JSON object, so flags and --set cannot go into it.')
  }
  const names = parts.set.map((assignment) => [assignment.split(/[.=]/)[0], null])
  const schema = endpoint.branch?.({ ...data, ...Object.fromEntries(names) }) ?? endpoint.body
  const body: Body = { ...defaultsIn(schema, parts.defaults), ...data }
  for (const [path, value] of Object.entries(parts.flags)) setValue(body, path.split('.'), value)
  for (const assignment of parts.set) assign(body, assignment, schema)
  return body
}

/**
 * Throws CliError for required fields that the command line leaves out, by the names of their flags. A body of --data is
 * sent as it is, so that every request can be tried.
 */
export function checkRequired(endpoint: Endpoint, body: unknown, flags: Iterable<string | undefined>): void {
  const schema = isObject(body) ? (endpoint.branch?.(body) ?? endpoint.body) : undefined
  const missing = explainIssues(schema?.safeParse(body).error?.issues ?? []).fields.flatMap(({ path, message }) =>
    message === 'is missing' ? path : [],
  )
  if (missing.length === 0) return
  const known = new Set([...flags, ...Object.values(settingsTable).map(({ flag }) => flag?.split(' ', 1)[0])])
  const names = missing.map((path) => {
    const flag = `--${path.replaceAll('_', '-')}`
    return known.has(flag) ? flag : `--set ${path}=...`
  })
  const message = `${names.join(' and ')} ${names.length === 1 ? 'is' : 'are'} missing.`
  throw new CliError('usage', 'option_missing', message, 'Nothing was sent. Add --help to see what it takes.')
}

/** Returns the defaults whose field this shape of the body has. */
function defaultsIn(schema: z.ZodType | undefined, defaults: Body): Body {
  return Object.fromEntries(
    Object.entries(defaults).filter(([name]) => schema instanceof z.ZodObject && name in schema.shape),
  )
}

async function readData(host: Host, source: string): Promise<string> {
  if (source === '-') return (await readStdin(host)).toString('utf8')
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

/** Applies `path=value` to a body. Paths are dotted, numbers index arrays: `overrides.allowed_formats.0=clip`. */
export function assign(body: Body, assignment: string, schema: z.ZodType | undefined): void {
  const { path, value } = readAssignment(assignment, schema)
  if (!setValue(body, path, value)) {
    const hint = 'An array takes the index of an item, or the next one.'
    throw new CliError('usage', 'set_malformed', `--set ${assignment}: there is no such place in the array.`, hint)
  }
}

/** Returns the path and the value of `path=value`. Throws CliError for anything else. */
export function readAssignment(assignment: string, schema: z.ZodType | undefined): { path: string[]; value: unknown } {
  const equals = assignment.indexOf('=')
  const path = assignment.slice(0, equals).split('.')
  if (equals < 1 || path.some((name) => name === '' || name === '__proto__')) {
    throw new CliError(
      'usage',
      'set_malformed',
      `--set ${assignment} is not path=value.`,
      'For example: --set slot_hint.max_width=300',
    )
  }
  return { path, value: valueAt(schema, path, assignment.slice(equals + 1)) }
}

/** Returns the value that a text means at a path of a schema. */
export function valueAt(schema: z.ZodType | undefined, path: readonly string[], text: string): unknown {
  return typedValue(text, schemaAt(schema, path))
}

/** Returns the value that a text means to a schema. Without a schema it is JSON if it parses, else the text itself. */
function typedValue(text: string, schema: z.ZodType | undefined): unknown {
  const json = parseJson(text)
  const value = json === undefined ? text : json
  if (schema === undefined) return value
  const kinds = alternatives(schema).map(kindOf)
  if (kinds.includes('array') && !Array.isArray(json)) {
    const element = elementOf(alternatives(schema).find((each) => kindOf(each) === 'array'))
    return text === '' ? [] : text.split(',').map((item) => typedValue(item, element))
  }
  const isText = kinds.some((kind) => kind === 'string' || kind === 'enum' || kind === 'literal')
  if (!isText || typeof json === 'string') return value
  return kinds.includes('object') && typeof json === 'object' && json !== null ? json : text
}

/** Returns the schema at a path, or undefined where the contract has no such field. */
function schemaAt(schema: z.ZodType | undefined, path: readonly string[]): z.ZodType | undefined {
  const [name, ...rest] = path
  if (schema === undefined || name === undefined) return schema
  for (const alternative of alternatives(schema)) {
    const field = alternative instanceof z.ZodObject ? alternative.shape[name] : elementOf(alternative)
    if (field !== undefined) return schemaAt(field, rest)
  }
  return undefined
}

function elementOf(schema: z.ZodType | undefined): z.ZodType | undefined {
  return schema instanceof z.ZodArray ? (schema.element as z.ZodType) : undefined
}

/** Returns the schemas of a union, or the schema itself. */
function alternatives(schema: z.ZodType): z.ZodType[] {
  const inner = unwrap(schema)
  return inner instanceof z.ZodUnion ? (inner.options as z.ZodType[]).flatMap(alternatives) : [inner]
}
