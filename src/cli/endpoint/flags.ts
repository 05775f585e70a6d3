import { InvalidArgumentError, Option } from 'commander'
import type { EndpointId } from '#contract/index.ts'
import { parseSpan } from '#foundation/duration.ts'
import { findEntry } from '#foundation/table-entry.ts'
import { instantText } from '#text/instants.ts'
import { suggestValues, withProvenance } from '../run/command.ts'
import { settingNames } from '../settings/table.ts'
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
  const isSwitch = listChoices(scalar).join() === 'true'
  const shown = isSwitch ? '[true]' : placeholder
  const option = new Option(
    `--${name.replaceAll('_', '-')} ${shown}`,
    describe(field, isSwitch ? [] : listChoices(scalar)),
  )
    .preset(scalar.type === 'boolean' || isSwitch ? 'true' : undefined)
    .argParser((text) => parseFlag(scalar, inWords(name, scalar, text)))
  const provenance = [field.provenance, field.decision].filter(Boolean).join(' ')
  const suggested = scalar.keywords?.examples ?? (isSwitch ? [] : listChoices(scalar))
  return withProvenance(suggestValues(option, suggested), provenance === '' ? undefined : provenance)
}

/** Names of fields that hold a time; those of other milliseconds hold a span. */
const times = /(?:^|_)(?:at|to|from|now|since|until)_ms$/

/**
 * Returns a value in the form of its field, so that every flag takes what is printed: a span as `2s` or milliseconds, a
 * time as RFC 3339 or epoch milliseconds, the start of a filter as all of these. Any other text is returned unchanged.
 */
function inWords(name: string, field: Field, text: string): string {
  if (name === 'since' || name === 'until') return instantText(text)
  if (!name.endsWith('_ms') || fieldKind(field) !== 'number') return text
  return times.test(name) ? instantText(text) : String(parseSpan(text) ?? text)
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
export function alternatives(field: Field): Field[] {
  if (field.anyOf !== undefined) return field.anyOf.flatMap(alternatives)
  return field.type === 'null' ? [] : [field]
}

export function fieldKind({ type, enum: choices, const: only }: Field): string {
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

/** Returns the schema at a path, or undefined where the contract has no such field. */
export function schemaAt(schema: Field | undefined, path: readonly string[]): Field | undefined {
  const [name, ...rest] = path
  if (schema === undefined || name === undefined) return schema
  for (const { properties = {}, items } of alternatives(schema)) {
    const field = Object.hasOwn(properties, name) ? properties[name] : items
    if (field !== undefined) return schemaAt(field, rest)
  }
  return undefined
}
