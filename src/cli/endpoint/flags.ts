/** The scalar fields of a schema as flags of a command, with their description and provenance. */
import { InvalidArgumentError, Option } from 'commander'
import type { z } from 'zod'
import { requirementOf } from '../../contract/field-errors.ts'
import { sourceOf } from '../../contract/provenance.ts'
import { suggestValues } from '../run/command.ts'

/** The help lists at most this many choices of a flag. */
const maxListedChoices = 14

/** Returns the flags of an object schema, by field name. Fields that are not scalars have none: `--set` reaches them. */
export function schemaOptions(schema: z.ZodObject): Map<string, Option> {
  const options = new Map<string, Option>()
  for (const [name, field] of Object.entries(schema.shape)) {
    const option = fieldOption(name, field as z.ZodType)
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

/** Returns the schema inside optional, nullable and coerced ones. */
export function unwrap(schema: z.ZodType): z.ZodType {
  const { def } = schema as unknown as { def: { type: string; innerType?: z.ZodType; out?: z.ZodType } }
  if (def.innerType !== undefined) return unwrap(def.innerType)
  return def.type === 'pipe' && def.out !== undefined ? unwrap(def.out) : schema
}

/** Returns the kind of value that a schema takes: `string`, `number`, `boolean`, `enum`, `literal`, `object`, `array`, ... */
export function kindOf(schema: z.ZodType): string {
  return unwrap(schema).def.type
}

/** Returns the values of an enum or literal; none for other schemas. */
function choicesOf(schema: z.ZodType): string[] {
  const { def } = unwrap(schema) as unknown as { def: { entries?: Record<string, string>; values?: unknown[] } }
  return (def.entries === undefined ? (def.values ?? []) : Object.values(def.entries)).map(String)
}

const placeholders: Readonly<Record<string, string>> = {
  string: '<text>',
  number: '<n>',
  boolean: '[true|false]',
  enum: '<choice>',
  literal: '<choice>',
}

function fieldOption(name: string, field: z.ZodType): Option | null {
  const kind = kindOf(field)
  const placeholder = placeholders[kind]
  if (placeholder === undefined) return null
  const option = new Option(`--${name.replaceAll('_', '-')} ${placeholder}`, describe(field))
    .preset(kind === 'boolean' ? 'true' : undefined)
    .argParser((text) => parseFlag(field, text))
  return suggestValues(option, choicesOf(field))
}

/** Returns the value of a flag. Throws what commander reports when the schema of its field rejects it. */
function parseFlag(field: z.ZodType, text: string): unknown {
  const parsed = field.safeParse(scalar(kindOf(field), text))
  if (parsed.success) return parsed.data
  const choices = choicesOf(field)
  throw new InvalidArgumentError(
    choices.length > 0 ? `Allowed choices are ${choices.join(', ')}.` : `It ${requirementOf(parsed.error.issues[0])}.`,
  )
}

function scalar(kind: string, text: string): unknown {
  if (kind === 'number') return text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text)
  if (kind === 'boolean') return text === 'true' ? true : text === 'false' ? false : text
  return text
}

/** Returns the description of a flag: `Maximum width of the creative, CSS pixels. (banner, clip) [documented A38]` */
function describe(field: z.ZodType): string {
  const source = sourceOf(field)
  const choices = choicesOf(field)
  const parts = [
    source?.description,
    choices.length > 0 && choices.length <= maxListedChoices ? `(${choices.join(', ')})` : undefined,
    source === null ? undefined : `[${[source.provenance, source.decision].filter(Boolean).join(' ')}]`,
  ]
  return parts.filter((part) => part !== undefined).join(' ')
}
