/**
 * Input from the command line: flags for the scalar fields of a request, `--data` and `--set` for all of them, and the values
 * of flags that several commands take.
 */
import { Option } from 'commander'
import type { EndpointId } from '#contract/index.ts'
import { isObject, parseJson, setValue } from '#foundation/json.ts'
import { CliError } from '#text/cli-error.ts'
import type { System } from '../run/system.ts'
import { settingsTable } from '../settings/table.ts'
import { endpoints, type Field } from './facts.ts'
import { alternatives, chooseVariant, fieldKind, schemaAt } from './flags.ts'

export type Body = Record<string, unknown>

interface BodyParts {
  defaults: Body
  /** By dotted path: `slot_hint.max_width`. */
  flags: Readonly<Record<string, unknown>>
  data: string | undefined
  set: readonly string[]
}

/** Returns `--set` and `--data`, for every command that sends a body. */
export function bodyOptions(): Option[] {
  return [
    new Option('--set <path=value>', 'set any field of the body by its path, such as a.b=2 (repeatable)').argParser(
      (value, before: string[] | undefined) => [...(before ?? []), value],
    ),
    new Option('--data <json>', 'the body: JSON, @file, or - for stdin; flags and --set override it'),
  ]
}

/** Returns the body of a request. Only `--data` can make it something other than an object. Throws CliError. */
export async function buildBody(system: System, id: EndpointId, parts: BodyParts): Promise<unknown> {
  const data = parts.data === undefined ? {} : await readData(system, parts.data)
  if (!isObject(data)) {
    if (Object.keys(parts.flags).length === 0 && parts.set.length === 0) return data
    throw new CliError('usage', 'data_not_object', '--data is not a JSON object, so flags and --set cannot go into it.')
  }
  const names = parts.set.map((assignment) => assignment.split(/[.=]/, 1)[0]!)
  const variant = chooseVariant(endpoints[id].body, [...Object.keys(data), ...names])
  const defaults = Object.entries(parts.defaults).filter(([name]) => Object.hasOwn(variant?.properties ?? {}, name))
  const body: Body = { ...Object.fromEntries(defaults), ...data }
  for (const [path, value] of Object.entries(parts.flags)) setValue(body, path.split('.'), value)
  for (const assignment of parts.set) assign(body, assignment, variant)
  return body
}

/**
 * Throws CliError for required fields that the command line leaves out, by the names of their flags. A body from --data
 * is sent unchanged, so that any request can be tried.
 */
export function checkRequired(id: EndpointId, body: unknown, flags: Iterable<string | undefined>): void {
  const given = isObject(body) ? Object.keys(body) : []
  const missing = missingFields(chooseVariant(endpoints[id].body, given), body)
  if (missing.length === 0) return
  const known = new Set([...flags, ...Object.values(settingsTable).map(({ flag }) => flag?.split(' ', 1)[0])])
  const names = missing.map((path) => {
    const flag = `--${path.replaceAll('_', '-')}`
    return known.has(flag) ? flag : `--set ${path}=...`
  })
  const message = `${names.join(' and ')} ${names.length === 1 ? 'is' : 'are'} missing.`
  throw new CliError('usage', 'option_missing', message, 'Nothing was sent. Add --help to see what it takes.')
}

/** Returns the dotted paths of the required fields that an object, or an object in it, lacks. */
function missingFields(schema: Field | undefined, value: unknown, before = ''): string[] {
  if (!isObject(value)) return []
  return Object.entries(schema?.properties ?? {}).flatMap(([name, field]) => {
    const path = before + name
    if (value[name] !== undefined) return missingFields(alternatives(field)[0], value[name], `${path}.`)
    return schema?.required?.includes(name) ? [path] : []
  })
}

async function readData(system: System, source: string): Promise<unknown> {
  const { displayName, parseUserJson, readUserText } = await import('../run/user-file.ts')
  const isText = source !== '-' && !source.startsWith('@')
  const file = source.replace(/^@/, '')
  const text = isText ? source : await readUserText(system, file, `--data: ${displayName(file)}`)
  return parseUserJson(text, isText ? '--data' : `--data: ${displayName(file)}`, {
    code: 'data_malformed',
    hint: isText
      ? 'Quote it for the shell, as in --data \'{"name":"value"}\', or name a file: --data @body.json'
      : 'Correct the file there.',
  })
}

/** Applies `path=value` to a body. Paths are dotted, numbers index arrays: `overrides.allowed_formats.0=clip`. */
export function assign(body: Body, assignment: string, schema: Field | undefined): void {
  const { path, value } = readAssignment(assignment, schema)
  if (!setValue(body, path, value)) {
    const hint = 'Use the index of an item, or the next one.'
    throw new CliError('usage', 'set_malformed', `--set ${assignment}: the array has no such index.`, hint)
  }
}

/** Returns the path and the value of `path=value`. Throws CliError for anything else. */
export function readAssignment(assignment: string, schema: Field | undefined): { path: string[]; value: unknown } {
  const equals = assignment.indexOf('=')
  const path = assignment.slice(0, equals).split('.')
  if (equals < 1 || path.some((name) => name === '' || name === '__proto__')) {
    throw new CliError(
      'usage',
      'set_malformed',
      `--set ${assignment} is not path=value.`,
      'Write a field and its value, such as a.b=2.',
    )
  }
  return { path, value: valueAt(schema, path, assignment.slice(equals + 1)) }
}

/** Returns the value that a text stands for at a path of a schema. */
export function valueAt(schema: Field | undefined, path: readonly string[], text: string): unknown {
  return typedValue(text, schemaAt(schema, path))
}

/**
 * Returns the value that a text stands for in a schema. Without a schema, it is JSON if it parses, else the text
 * itself.
 */
function typedValue(text: string, schema: Field | undefined): unknown {
  const json = parseJson(text)
  const value = json === undefined ? text : json
  if (schema === undefined) return value
  const kinds = alternatives(schema).map(fieldKind)
  if (kinds.includes('array') && !Array.isArray(json)) {
    const item = alternatives(schema).find((each) => each.items !== undefined)?.items
    return text === '' ? [] : text.split(',').map((element) => typedValue(element, item))
  }
  if (!kinds.some((kind) => kind === 'string' || kind === 'choice') || typeof json === 'string') return value
  return kinds.includes('object') && typeof json === 'object' && json !== null ? json : text
}
