/**
 * Input from the command line: flags for the scalar fields of a request, `--data` and `--set` for all of them, and the values
 * of flags that several commands take.
 */
import { InvalidArgumentError, Option } from 'commander'
import type { EndpointId } from '#contract/index.ts'
import { parseSince, parseSpan } from '#foundation/duration.ts'
import { isObject, parseJson, setValue } from '#foundation/json.ts'
import { findEntry } from '#foundation/table-entry.ts'
import { formatTime } from '../output/text.ts'
import { suggestValues, withProvenance } from '../run/command.ts'
import { CliError } from '../run/errors.ts'
import type { System } from '../run/system.ts'
import { settingNames, settingsTable } from '../settings/table.ts'
import { endpoints, type Field } from './facts.ts'

/** The maximum number of choices that the help lists for a flag. */
const maxListedChoices = 14

/**
 * Returns the flags of an endpoint's query and of its body, by field name. A name in both belongs to the query, and the
 * name of a setting to the setting. Fields that are not scalars have no flag: use `--set`.
 */
export function endpointOptions(id: EndpointId): Record<'query' | 'body', Map<string, Option>> {
  const { query, body } = endpoints[id]
  const taken = new Set<string>(settingNames)
  const queryFlags = fieldOptions(query?.properties, taken)
  return {
    query: queryFlags,
    body: fieldOptions(chooseVariant(body, [])?.properties, new Set([...taken, ...queryFlags.keys()])),
  }
}

/** Returns the flags of fields, except those whose name is taken. */
export function fieldOptions(
  fields: Readonly<Record<string, Field | undefined>> = {},
  taken: ReadonlySet<string> = new Set(),
): Map<string, Option> {
  const options = new Map<string, Option>()
  for (const [name, field] of Object.entries(fields)) {
    const option = taken.has(name) || field === undefined ? null : fieldOption(name, field)
    if (option !== null) options.set(name, option)
  }
  return options
}

/** Returns the values that the command line gives to flags, by field name. */
export function flagValues(
  flags: Map<string, Option>,
  options: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  for (const [name, flag] of flags) {
    const value = options[flag.attributeName()]
    if (value !== undefined) values[name] = value
  }
  return values
}

const placeholders: Readonly<Record<string, string>> = {
  string: '<text>',
  number: '<n>',
  boolean: '[true|false]',
  choice: '<choice>',
}

function fieldOption(name: string, field: Field): Option | null {
  const [scalar, ...others] = alternatives(field)
  const placeholder = scalar === undefined || others.length > 0 ? undefined : findEntry(placeholders, fieldKind(scalar))
  if (scalar === undefined || placeholder === undefined) return null
  const option = new Option(`--${name.replaceAll('_', '-')} ${placeholder}`, describe(field, listChoices(scalar)))
    .preset(scalar.type === 'boolean' ? 'true' : undefined)
    .argParser((text) => parseFlag(scalar, inWords(name, scalar, text)))
  const provenance = [field.provenance, field.decision].filter(Boolean).join(' ')
  const suggested = scalar.keywords?.examples ?? listChoices(scalar)
  return withProvenance(suggestValues(option, suggested), provenance === '' ? undefined : provenance)
}

/** Names of fields that hold a time; those of other milliseconds hold a span. */
const times = /(?:^|_)(?:at|to|from|now|since|until)_ms$/

/**
 * Returns a value in the form of its field, so that every flag takes what is printed: a span as `2s` or milliseconds, a
 * time as RFC 3339 or epoch milliseconds, the start of a filter as all of these. Any other text is returned unchanged.
 */
function inWords(name: string, field: Field, text: string): string {
  if (name === 'since' || name === 'until') return timeText(text)
  if (!name.endsWith('_ms') || fieldKind(field) !== 'number') return text
  return times.test(name) ? timeText(text) : String(parseSpan(text) ?? text)
}

/** Returns an RFC 3339 time, or a day, as epoch milliseconds; any other text unchanged. */
function timeText(text: string): string {
  return /^\d{4}-\d\d-\d\d/.test(text) ? String(parseTime(text)) : text
}

/** Returns the description of a flag: `Formats that may fill. (banner, clip)` */
function describe({ description }: Field, choices: readonly string[]): string {
  const parts = [
    description,
    choices.length > 0 && choices.length <= maxListedChoices ? `(${choices.join(', ')})` : undefined,
  ]
  return parts.filter((part) => part !== undefined).join(' ')
}

/**
 * Returns the value of a flag; choices match in any case. Throws an error for commander to report when the field does
 * not take it.
 */
function parseFlag(field: Field, text: string): unknown {
  const choices = field.type === 'boolean' ? ['true', 'false'] : listChoices(field)
  const choice = choices.find((each) => each.toLowerCase() === text.toLowerCase())
  if (choices.length > 0 && choice === undefined) throw notAllowed(choices)
  if (field.type === 'boolean') return choice === 'true'
  if (choice !== undefined) return choice
  const isNumber = fieldKind(field) === 'number'
  const problem = isNumber ? numberProblem(field, text) : textProblem(field, text)
  const { examples } = field.keywords ?? {}
  if (problem !== null) throw examples === undefined ? new InvalidArgumentError(`It ${problem}.`) : notAllowed(examples)
  return isNumber ? Number(text) : text
}

function notAllowed(choices: readonly string[]): InvalidArgumentError {
  return new InvalidArgumentError(`Allowed choices are ${choices.join(', ')}.`)
}

function numberProblem({ type, minimum = -Infinity, maximum = Infinity }: Field, text: string): string | null {
  const value = text.trim() === '' ? Number.NaN : Number(text)
  const isKind = type === 'integer' ? Number.isSafeInteger(value) : Number.isFinite(value)
  if (isKind && value >= minimum && value <= maximum) return null
  return `must be a ${type === 'integer' ? 'whole number' : 'number'}${rangeText(minimum, maximum)}`
}

/** Returns the range of a number, in words that follow it. The limits of safe integers are not worth naming. */
function rangeText(minimum: number, maximum: number): string {
  const hasLeast = minimum > Number.MIN_SAFE_INTEGER
  if (maximum < Number.MAX_SAFE_INTEGER) return hasLeast ? ` from ${minimum} to ${maximum}` : `, at most ${maximum}`
  return hasLeast ? `, at least ${minimum}` : ''
}

function textProblem({ minLength = 0, maxLength = Infinity, pattern, problem }: Field, text: string): string | null {
  if (text === '' && minLength === 1) return 'cannot be empty'
  if (text.length < minLength) return `must be at least ${minLength} characters`
  if (text.length > maxLength) return `must be at most ${maxLength} characters`
  if (pattern === undefined || new RegExp(pattern).test(text)) return null
  return problem === undefined || /^(must|cannot|is) /.test(problem)
    ? (problem ?? 'is malformed')
    : `must be ${problem}`
}

/** Returns the shapes of a nullable field, or one of several types, without null. */
function alternatives(field: Field): Field[] {
  if (field.anyOf !== undefined) return field.anyOf.flatMap(alternatives)
  return field.type === 'null' ? [] : [field]
}

function fieldKind({ type, enum: choices, const: only }: Field): string {
  if (choices !== undefined || only !== undefined) return 'choice'
  return type === 'integer' ? 'number' : (type ?? 'any')
}

/** Returns the values that a field of a body takes, or each item of it. */
export function choicesAt(id: EndpointId, path: readonly string[]): readonly string[] {
  const field = schemaAt(chooseVariant(endpoints[id].body, []), path)
  return field === undefined ? [] : listChoices(field.items ?? field)
}

function listChoices({ enum: choices, const: only }: Field): readonly string[] {
  return choices ?? (only === undefined ? [] : [only])
}

/** Returns the variant of a body that has these fields; the first one on a tie, because the flags come from it. */
export function chooseVariant(body: Field | null, names: readonly string[]): Field | undefined {
  const [first, ...others] = body === null ? [] : alternatives(body)
  const has = ({ properties = {} }: Field, name: string) => Object.hasOwn(properties, name)
  return (
    others.find((other) => first !== undefined && names.some((name) => has(other, name) && !has(first, name))) ?? first
  )
}

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

/** Returns the schema at a path, or undefined where the contract has no such field. */
function schemaAt(schema: Field | undefined, path: readonly string[]): Field | undefined {
  const [name, ...rest] = path
  if (schema === undefined || name === undefined) return schema
  for (const { properties = {}, items } of alternatives(schema)) {
    const field = Object.hasOwn(properties, name) ? properties[name] : items
    if (field !== undefined) return schemaAt(field, rest)
  }
  return undefined
}

/** A flag that can be repeated. Its value is the list of all given values. */
export function repeatable(flags: string, description: string): Option {
  return new Option(flags, `${description} (repeatable)`).argParser(append)
}

/** Returns a list with one more value, for flags that collect their values. */
export function append(value: string, before: readonly string[] | undefined): string[] {
  return [...(before ?? []), value]
}

/** Reads a whole number of at most nine digits. */
export function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}

/** Reads a span as milliseconds: `1500`, `2s`. */
export function spanMs(text: string): number {
  const span_ms = parseSpan(text)
  if (span_ms === null) throw new InvalidArgumentError('It must be milliseconds or a span such as 2s.')
  return span_ms
}

/** Reads a port; 0 stands for any free one. */
export function portNumber(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
    throw new InvalidArgumentError('It must be a port from 0 to 65535.')
  return Number(text)
}

/** Reads a whole number that is not zero. */
export function countFromOne(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It must be a whole number, at least 1.')
  return Number(text)
}

/** Reads a duration such as `20s` or `2m`, in milliseconds; never zero. */
export function durationMs(text: string): number {
  const duration_ms = parseSpan(text)
  if (duration_ms === null || duration_ms === 0)
    throw new InvalidArgumentError('It must be a duration such as 20s or 2m, or milliseconds.')
  return duration_ms
}

/** Reads the start of a filter, which the sandbox counts from its own clock. */
export function sinceText(text: string): string {
  const since = timeText(text)
  if (parseSince(since) === null)
    throw new InvalidArgumentError('It must be a span such as 10m, a time such as 2027-01-31, or epoch milliseconds.')
  return since
}

/**
 * Returns the epoch milliseconds of an RFC 3339 time, or of a day (its first moment, UTC), or themselves; null for `now`. Throws CliError
 * for anything else.
 */
export function parseTime(text: string): number | null {
  if (text === 'now') return null
  if (/^\d{12,15}$/.test(text)) return Number(text)
  const isTimestamp = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/i.test(text)
  const at_ms = isTimestamp && isDay(text.slice(0, 10)) ? Date.parse(text) : Number.NaN
  if (at_ms >= 0) return at_ms
  throw new CliError(
    'usage',
    'instant_invalid',
    `'${text}' is not a time since 1970.`,
    'Write a day or a time with its zone: 2027-01-01, 2027-01-01T00:00:00Z or 2027-01-01T01:00:00+01:00.',
  )
}

/** Whether the calendar has this day: Date.parse takes 2027-02-30 for the second of March. */
function isDay(text: string): boolean {
  const day_ms = Date.parse(text)
  return !Number.isNaN(day_ms) && formatTime(day_ms).startsWith(text)
}
