/** Schema -> command-line options: every scalar member of a schema is a flag, with its description and provenance. */
import { InvalidArgumentError, Option } from 'commander'
import type { z } from 'zod'
import { sourceOf } from '../../contract/provenance.ts'
import { suggestValues } from '../run/command.ts'

/** More choices than this are not listed in the help. */
const mostChoices = 14

/** The options of an object schema, by member name. Members that are not scalars have none: `--set` reaches them. */
export function schemaOptions(schema: z.ZodObject): Map<string, Option> {
  const options = new Map<string, Option>()
  for (const [name, member] of Object.entries(schema.shape)) {
    const option = memberOption(name, member as z.ZodType)
    if (option !== null) options.set(name, option)
  }
  return options
}

/** The values of a schema's flags, by member name. */
export function flagValues(
  options: Map<string, Option>,
  given: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  for (const [name, option] of options) {
    const value = given[option.attributeName()]
    if (value !== undefined) values[name] = value
  }
  return values
}

/** The schema inside optional, nullable and coerced ones. */
export function unwrap(schema: z.ZodType): z.ZodType {
  const { def } = schema as unknown as { def: { type: string; innerType?: z.ZodType; out?: z.ZodType } }
  if (def.innerType !== undefined) return unwrap(def.innerType)
  return def.type === 'pipe' && def.out !== undefined ? unwrap(def.out) : schema
}

/** What kind of value a schema takes: `string`, `number`, `boolean`, `enum`, `literal`, `object`, `array`, ... */
export function kindOf(schema: z.ZodType): string {
  return unwrap(schema).def.type
}

/** The values of an enum or literal, else none. */
function choicesOf(schema: z.ZodType): string[] {
  const { def } = unwrap(schema) as unknown as { def: { entries?: Record<string, string>; values?: unknown[] } }
  return (def.entries === undefined ? (def.values ?? []) : Object.values(def.entries)).map(String)
}

function memberOption(name: string, member: z.ZodType): Option | null {
  const flag = `--${name.replaceAll('_', '-')}`
  const kind = kindOf(member)
  const placeholder = {
    string: ' <text>',
    number: ' <n>',
    boolean: ' [true|false]',
    enum: ' <choice>',
    literal: ' <choice>',
  }[kind]
  if (placeholder === undefined) return null
  const option = new Option(flag + placeholder, describe(member))
    .preset(kind === 'boolean' ? 'true' : undefined)
    .argParser((text) => parseFlag(member, text))
  return suggestValues(option, choicesOf(member))
}

/** Checks a flag against its schema, so that a slip of the hand is told before anything is sent. */
function parseFlag(member: z.ZodType, text: string): unknown {
  const parsed = member.safeParse(scalar(kindOf(member), text))
  if (!parsed.success) throw new InvalidArgumentError(`${parsed.error.issues[0]?.message ?? 'Not valid'}.`)
  return parsed.data
}

function scalar(kind: string, text: string): unknown {
  if (kind === 'number') return text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text)
  if (kind === 'boolean') return text === 'true' ? true : text === 'false' ? false : text
  return text
}

/** `Maximum width of the creative, CSS pixels. [documented A38] (banner, clip)` */
function describe(member: z.ZodType): string {
  const source = sourceOf(member)
  const choices = choicesOf(member)
  return [
    source?.description,
    choices.length > 0 && choices.length <= mostChoices ? `(${choices.join(', ')})` : undefined,
    source === null
      ? undefined
      : `[${[source.provenance, source.decision].filter((part) => part !== undefined).join(' ')}]`,
  ]
    .filter((part) => part !== undefined)
    .join(' ')
}
